//! Whether a line reads only below the directory it runs in, as far as words show. Meant for read-only
//! commands (`readonly`); looks up nothing, so it does not detect a link in the directory that leads out.

use super::{ShellLine, SimpleCommand};

/// Programs that use none of their words as a file.
const NO_FILES: &[&str] = &[
    ":", "basename", "command", "date", "dirname", "echo", "false", "printf", "tr", "true",
];

/// Whether no word of its commands, and no file that they read by redirection, may lead elsewhere: an absolute
/// path, one with `..`, a home directory.
pub fn reads_only_below(line: &ShellLine) -> bool {
    let mut read = line.redirects.iter().filter(|redirect| !redirect.write);
    line.commands.iter().all(stays_below) && read.all(|redirect| is_below(&redirect.path))
}

/// Whether a program uses none of its words as a file.
pub(crate) fn uses_no_files(command: &SimpleCommand) -> bool {
    command
        .argv
        .first()
        .is_some_and(|program| NO_FILES.contains(&program.as_str()))
}

fn stays_below(command: &SimpleCommand) -> bool {
    let Some((program, args)) = command.argv.split_first() else {
        return false;
    };
    if uses_no_files(command) {
        return true;
    }
    let pattern = pattern_index(program, args);
    let separates = |at: usize| {
        let flag = at.checked_sub(1).and_then(|at| args.get(at));
        matches!(
            (program.as_str(), flag.map(String::as_str)),
            ("cut", Some("-d")) | ("sort", Some("-t"))
        )
    };
    args.iter()
        .enumerate()
        .all(|(at, arg)| pattern == Some(at) || is_below(arg) || (arg == "/" && separates(at)))
}

/// Returns the index of the word that a program searches for, which is no file. No flag in the table takes a
/// file as its value but `-f`, so the first word without a dash is the pattern or precedes it.
fn pattern_index(program: &str, args: &[String]) -> Option<usize> {
    let told = |arg: &String| match arg.strip_prefix("--") {
        Some(long) => matches!(
            long.split('=').next(),
            Some("" | "regexp" | "files" | "type-list")
        ),
        None => arg.starts_with('-') && arg.contains(['e', 'f']),
    };
    match program {
        "grep" | "egrep" | "fgrep" | "rg" if args.iter().any(told) => None,
        "grep" | "egrep" | "fgrep" | "rg" | "sed" => {
            args.iter().position(|arg| !arg.starts_with('-'))
        }
        _ => None,
    }
}

/// Whether neither a word, nor the value of a flag or a revision in it, leads elsewhere.
fn is_below(word: &str) -> bool {
    let attached = word.starts_with('-') && !word.starts_with("--") && word.contains('/');
    word == "/dev/null"
        || (!attached
            && !word
                .split(['=', ':'])
                .any(|piece| piece.starts_with(['/', '~']))
            && word.split(['/', '=', ':']).all(|part| part != ".."))
}
