//! Programs without any flag that runs another, and scripts of `sed` that only print: these may follow `xargs`
//! and `find -exec`, where some arguments are known only at run time.

use crate::word_table::WordTable;

/// Programs that run no other and write no file, with any arguments.
pub(super) const NEVER_RUN: WordTable = WordTable(
    "basename cat cksum cmp cut dirname du echo egrep fgrep grep head ls md5sum nl od readlink \
     realpath sha1sum sha256sum sha512sum stat tac tail tr wc",
);

/// Whether `uniq` has a second file, which it writes. A `-` is a file too, and so is everything after `--`.
pub(super) fn has_second_file(args: &[String]) -> bool {
    let ended = args.iter().position(|arg| arg == "--");
    let ended = ended.unwrap_or(args.len());
    let files = args
        .iter()
        .enumerate()
        .filter(|(at, arg)| *at > ended || *arg == "-" || !arg.starts_with('-'));
    files.count() > 1
}

/// Whether a shell's own `test` or `printf` does more with its words than compare or print them. Some shells
/// evaluate what looks like an index, with the substitutions in it; some evaluate compared numbers as
/// arithmetic, with assignments; and `%n` sets the variable in its argument.
pub(super) fn evaluates_words(name: &str, args: &[String]) -> bool {
    if args
        .iter()
        .any(|arg| arg.contains("$(") || arg.contains('`'))
    {
        return true;
    }
    if name == "printf" {
        return args.iter().any(|arg| may_contain_percent_n(arg));
    }
    let number = |at: usize| {
        args.get(at).is_none_or(|arg| {
            let digits = arg.strip_prefix(['-', '+']).unwrap_or(arg);
            digits.bytes().all(|byte| byte.is_ascii_digit())
        })
    };
    let compares = |arg: &str| matches!(arg, "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge");
    args.iter()
        .enumerate()
        .any(|(at, arg)| compares(arg) && !(at.checked_sub(1).is_none_or(number) && number(at + 1)))
}

/// Whether a format contains `%n`, or something that may become it.
fn may_contain_percent_n(format: &str) -> bool {
    let mut pieces = format.split('%');
    pieces.next();
    pieces.any(|piece| {
        let rest = piece.trim_start_matches(|sign: char| {
            sign.is_ascii_digit() || "-+ #'.*$hlLjztq".contains(sign)
        });
        rest.starts_with(['n', '\\'])
    })
}

/// Whether these arguments of `sed` neither change a file nor run anything: plain flags, and one script that
/// prints, deletes or substitutes.
pub(super) fn is_harmless_sed(args: &[String]) -> bool {
    let mut script = None;
    let mut next_is_script = false;
    for arg in args {
        if next_is_script {
            if script.replace(arg).is_some() {
                return false;
            }
            next_is_script = false;
            continue;
        }
        match arg.as_str() {
            "-n" | "-E" | "-r" | "-s" | "-u" | "-z" | "-nE" | "-En" | "-nr" | "-rn" | "--quiet"
            | "--silent" | "--regexp-extended" | "--sandbox" => {}
            "-e" if script.is_none() => next_is_script = true,
            flag if flag.starts_with('-') => return false,
            _ if script.is_none() => script = Some(arg),
            _ => {}
        }
    }
    script.is_some_and(|script| is_harmless_sed_script(script))
}

fn is_harmless_sed_script(script: &str) -> bool {
    if let Some(rest) = script.strip_prefix('s') {
        return is_harmless_substitution(rest);
    }
    let mut rest = script;
    while let Some(after) = rest.strip_prefix('/') {
        let Some(end) = find_unescaped(after, '/') else {
            return false;
        };
        rest = after.get(end + 1..).unwrap_or_default();
        rest = rest.strip_prefix(',').unwrap_or(rest);
    }
    !rest.is_empty()
        && rest
            .bytes()
            .all(|byte| byte.is_ascii_digit() || b",$;pdq=! ".contains(&byte))
}

fn is_harmless_substitution(rest: &str) -> bool {
    let Some(mark) = rest.chars().next().filter(|mark| "/|#,:@".contains(*mark)) else {
        return false;
    };
    let rest = rest.get(1..).unwrap_or_default();
    let Some(first) = find_unescaped(rest, mark) else {
        return false;
    };
    let rest = rest.get(first + 1..).unwrap_or_default();
    let Some(second) = find_unescaped(rest, mark) else {
        return false;
    };
    rest.get(second + 1..)
        .unwrap_or_default()
        .bytes()
        .all(|byte| byte.is_ascii_digit() || b"gpiI".contains(&byte))
}

/// Returns the position of the mark without a backslash before it. None if a bracket, in which the mark has no
/// meaning, or a newline precedes it.
fn find_unescaped(text: &str, mark: char) -> Option<usize> {
    let mut escaped = false;
    for (at, sign) in text.char_indices() {
        match sign {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '[' | '\n' => return None,
            _ if sign == mark => return Some(at),
            _ => {}
        }
    }
    None
}
