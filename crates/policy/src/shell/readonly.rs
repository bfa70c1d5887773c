//! The built-in table of commands that only read: programs by their bare names, with their known flags. A
//! flag outside the table, or a program with a path, is not read-only.

use super::{SimpleCommand, git, harmless};
use crate::word_table::WordTable;

/// Returns the flags of a program that only reads: letters in one word, then long flags. A letter that takes a
/// value may have it attached; digits pass after any flag.
fn flags(program: &str) -> Option<WordTable> {
    Some(WordTable(match program {
        "basename" => "-asz --multiple --suffix --zero",
        "cat" => {
            "-AbeEnstTuv --show-all --number --number-nonblank --show-ends --show-tabs \
             --squeeze-blank"
        }
        "cksum" | "false" | "groups" | "true" | "whoami" => "",
        "cmp" => "-bils --silent --quiet --verbose --print-bytes",
        "comm" => "-123z --nocheck-order --check-order",
        "cut" => {
            "-bcdfsz --bytes --characters --delimiter --fields --only-delimited --complement \
             --output-delimiter"
        }
        "df" => "-ahHiklTP --human-readable --all",
        "diff" => {
            "-abBcdeiNnpqrstTuUwyEZ --unified --brief --recursive --side-by-side \
             --ignore-all-space --ignore-case --ignore-blank-lines --new-file --color"
        }
        "dirname" => "-z --zero",
        "du" => {
            "-abcdhHkmsSx --human-readable --summarize --max-depth --all --total --apparent-size"
        }
        "egrep" | "fgrep" | "grep" => {
            "-ABCEFGHILPTUZabcefhilmnoqrRsvwxyz --color --colour --include --exclude \
             --exclude-dir --recursive --ignore-case --line-number --files-with-matches \
             --files-without-match --count --fixed-strings --extended-regexp --perl-regexp \
             --word-regexp --invert-match --only-matching --max-count --context --after-context \
             --before-context --no-filename --with-filename --quiet --silent --regexp --null \
             --text --no-messages"
        }
        "file" => "-bhikLNr0 --brief --mime --mime-type --mime-encoding",
        "head" | "tail" => "-cnqvz --lines --bytes --quiet --verbose",
        "id" => "-Ggnruz --user --group --groups --name",
        "ls" => {
            "-1aAbBcCdfFgGhHiIklLmnNopqQrRsStTuUvwxXZ --all --almost-all --color --human-readable \
             --group-directories-first --recursive --reverse --size --sort --time --time-style \
             --full-time --inode --directory --classify --file-type --ignore --hide"
        }
        "md5sum" | "sha1sum" | "sha256sum" | "sha512sum" => "-btz",
        "nl" => "-abdfhilnpsvw",
        "nproc" => "--all",
        "od" => "-AjNtvwabcdfiloxs",
        "pwd" => "-LP --logical --physical",
        "readlink" => {
            "-efmnqsvz --canonicalize --canonicalize-existing --canonicalize-missing --no-newline"
        }
        "realpath" => {
            "-eLmPqsz --relative-to --relative-base --no-symlinks --canonicalize-existing"
        }
        "rg" => {
            "-ABCEFHILMNPSTUacegilmnopqrstuvwx --files --type --type-not --glob --hidden \
             --no-ignore --count --count-matches --files-with-matches --files-without-match \
             --line-number --ignore-case --smart-case --fixed-strings --word-regexp --context \
             --max-count --max-depth --json --no-heading --color --sort --multiline \
             --only-matching --invert-match --regexp --no-config --type-list --stats"
        }
        "sort" => {
            "-bcCdfghikMnrRstuVz --unique --reverse --numeric-sort --human-numeric-sort \
             --version-sort --key --field-separator --ignore-case --stable --check \
             --zero-terminated"
        }
        "stat" => "-cfLt --format --printf --terse --dereference --file-system",
        "tac" => "-brs",
        "tr" => "-cCdst --complement --delete --squeeze-repeats",
        "tree" => "-adfghiILnpPsuDCFtrv --dirsfirst --gitignore --noreport --prune --du",
        "uname" => "-amnoprsv --all --machine",
        "uptime" => "-ps",
        "wc" => "-cLlmw --lines --words --bytes --chars",
        "which" => "-a --all",
        _ => return None,
    }))
}

const UNIQ: WordTable = WordTable("-cdfiDswuz --count --repeated --unique --ignore-case");

const FIND_TESTS: WordTable = WordTable(
    "-name -iname -path -ipath -type -maxdepth -mindepth -not -print -print0 -size -empty -newer \
     -mtime -mmin -prune -o -or -a -and -xdev -regex -iregex -user -group -perm -links -L -P -H",
);

/// Whether a command only reads: it starts no other program, writes nothing, changes no setting.
///
/// Conservative: a command outside the table is not read-only.
pub fn is_read_only(command: &SimpleCommand) -> bool {
    let Some((program, args)) = command.argv.split_first() else {
        return false;
    };
    if command.exec_capable.is_some() {
        return false;
    }
    match program.as_str() {
        "git" => git::only_reads(args),
        "sed" => harmless::is_harmless_sed(args),
        "echo" | ":" => true,
        "printf" => args.first().is_some_and(|first| !first.starts_with('-')),
        // In one shell, these evaluate arguments that look like an index.
        "test" | "[" => !args
            .iter()
            .any(|arg| arg.contains(['(', '`']) || arg == "-v" || arg == "-R"),
        "command" => matches!(args, [flag, _] if flag == "-v" || flag == "-V"),
        "date" => args.iter().all(|arg| {
            arg.starts_with('+')
                || matches!(arg.as_str(), "-u" | "--utc" | "-R" | "-I" | "-Iseconds")
        }),
        "uniq" => {
            has_only_known_flags(args, UNIQ)
                // A second file would be written. A separate value looks like one and does not pass.
                && !harmless::has_second_file(args)
        }
        "find" => has_only_find_tests(args),
        _ => flags(program).is_some_and(|flags| has_only_known_flags(args, flags)),
    }
}

/// Whether all flags are among these, letters in the first word. After `--` there are none, but a `--` may be the
/// value of a flag (`-e --`), so words that look like flags count as flags there too.
fn has_only_known_flags(args: &[String], flags: WordTable) -> bool {
    let letters = flags.words().find(|word| !word.starts_with("--"));
    let letters = letters.map_or("", |word| word.trim_start_matches('-'));
    args.iter().filter(|arg| *arg != "--").all(|arg| {
        if arg.starts_with("--") {
            return flags.has(arg.split('=').next().unwrap_or(arg));
        }
        match arg.strip_prefix('-') {
            // The text after a letter may be a value or more letters: all have to be known.
            Some(flags) => flags.chars().all(|letter| {
                letters.contains(letter) || letter.is_ascii_digit() || ",.:".contains(letter)
            }),
            None => true,
        }
    })
}

/// Whether `find` has tests only.
fn has_only_find_tests(args: &[String]) -> bool {
    args.iter().filter(|arg| arg.starts_with('-')).all(|arg| {
        FIND_TESTS.has(arg)
            || arg
                .get(1..)
                .is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
    })
}
