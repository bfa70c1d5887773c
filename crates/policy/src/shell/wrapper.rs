//! Programs that start other programs: finds the inner program after the flags of the outer one. An unknown
//! flag leaves a doubt, and every word that could be the program is followed.

use super::{
    executor::{family, name},
    harmless,
    reader::ShellReader,
    shape::{ARCHITECTURES, WrapperShape, find_inner_program, program_flags, wrapper_shape},
    variable,
};
use crate::word_table::WordTable;

/// Follows a program into those that it starts.
pub(super) fn follow_program(reader: &mut ShellReader, argv: &[String]) {
    let Some((program, args)) = argv.split_first() else {
        return;
    };
    let name = name(program);
    match &*name {
        "env" => return follow_env(reader, args),
        "eval" => return reader.read_line(&args.join(" ")),
        "find" | "gfind" => {
            return follow_exec_flags(reader, args, &["-exec", "-execdir", "-ok", "-okdir"]);
        }
        "fd" | "fdfind" => {
            return follow_exec_flags(reader, args, &["-x", "-X", "--exec", "--exec-batch"]);
        }
        "git" => return follow_git(reader, args),
        "su" | "runuser" | "script" | "newgrp" => return follow_command_flag(reader, args),
        // A second negation, which only some shells accept.
        "!" => return reader.add_inner_program(args),
        "sg" => return follow_sg(reader, args),
        "hyperfine" => {
            let lines = args.iter().filter(|arg| !arg.starts_with('-'));
            return lines.for_each(|line| reader.read_line_unless_empty(line));
        }
        "docker" | "podman" | "nerdctl" | "kubectl" | "ip" | "tmux" | "screen" => {
            return follow_subcommand(reader, args);
        }
        "cd" => return check_cd(reader, args),
        "." | "source" => return reader.doubt_dynamic(program),
        "alias" | "bind" | "complete" | "compgen" | "compopt" | "declare" | "enable" | "export"
        | "fc" | "getopts" | "hash" | "let" | "local" | "mapfile" | "popd" | "pushd" | "read"
        | "readarray" | "readonly" | "set" | "shopt" | "trap" | "typeset" | "ulimit" | "umask"
        | "unalias" | "unset" | "unsetenv" => {
            if name == "trap"
                && let Some(action) = args.iter().find(|arg| !arg.starts_with('-'))
            {
                reader.read_line(action);
            }
            return reader.doubt_environment(&format!("{name} changes the shell"));
        }
        "coproc" | "function" | "select" => {
            reader.doubt_dynamic(program);
            return reader.add_inner_program(args);
        }
        "test" | "[" | "printf" if super::executor::exec_form(argv).is_some() => {
            return reader.doubt_environment(&format!("{name} may evaluate its words"));
        }
        _ => {}
    }
    if let Some(flags) = program_flags(&name) {
        return follow_flag_values(reader, args, flags);
    }
    if SHELLS.has(&name) {
        return follow_shell(reader, &name, args);
    }
    if INTERPRETERS.has(family(&name)) && reads_input(args) {
        reader.doubt_dynamic(&format!("the input of {name}"));
    }
    if name.starts_with("ld-linux") || name == "ld.so" {
        return follow_guesses(reader, args, &name);
    }
    if let Some(shape) = wrapper_shape(&name) {
        follow_wrapped(reader, &name, args, &shape);
    }
}

fn follow_flag_values(reader: &mut ShellReader, args: &[String], flags: WordTable) {
    for (at, arg) in args.iter().enumerate() {
        let (flag, value) = match arg.split_once('=') {
            Some((flag, value)) => (flag, Some(value)),
            None => (arg.as_str(), args.get(at + 1).map(String::as_str)),
        };
        let means = |known: &str| {
            known == flag || (flag.len() > 3 && flag.starts_with("--") && known.starts_with(flag))
        };
        if let Some(value) = value.filter(|_| flags.words().any(means)) {
            reader.read_line_unless_empty(value.strip_prefix("exec=").unwrap_or(value));
        }
    }
}

const SHELLS: WordTable = WordTable("sh bash dash ash zsh ksh mksh rbash yash fish csh tcsh");

const INTERPRETERS: WordTable = WordTable(
    "python pypy perl ruby irb node nodejs php lua luajit deno bun tclsh ed ex sqlite psql mysql \
     gdb at batch crontab julia r",
);

/// Whether an interpreter is given neither a program nor a file.
fn reads_input(args: &[String]) -> bool {
    let told = WordTable("-c -e -m -r -E -p -l -h --eval --print --version --help");
    args.iter()
        .all(|arg| arg.starts_with('-') && !told.words().any(|told| arg.starts_with(told)))
}

fn follow_wrapped(reader: &mut ShellReader, name: &str, args: &[String], shape: &WrapperShape) {
    if name == "command" && args.first().is_some_and(|arg| arg == "-v" || arg == "-V") {
        return;
    }
    let start = match find_inner_program(args, shape, name == "nice") {
        Ok(start) => start,
        Err(flag) => return follow_guesses(reader, args, flag),
    };
    let inner = args.get(start..).unwrap_or_default();
    match name {
        "sudo" | "doas" => {
            let named = inner.iter().take_while(|arg| variable::split_assignment(arg).is_some()).count();
            for (name, value) in inner.iter().take(named).filter_map(|arg| variable::split_assignment(arg)) {
                reader.add_assignment(name, value);
            }
            return reader.add_inner_program(inner.get(named..).unwrap_or_default());
        }
        // They join their words and parse them again.
        "ssh" | "mosh" | "watch" | "parallel" => return reader.read_line_unless_empty(&inner.join(" ")),
        // The name of an architecture may precede the flags, and not all of them are known.
        "setarch" => {
            let rest = inner.get(1..).unwrap_or_default();
            if inner.first().is_some_and(|first| !ARCHITECTURES.has(first)) {
                reader.add_inner_program(inner);
            }
            return follow_wrapped(reader, "linux64", rest, shape);
        }
        "flock" if inner.first().is_some_and(|arg| arg == "-c" || arg == "--command") => {
            return reader.read_line_unless_empty(&inner.get(1..).unwrap_or_default().join(" "));
        }
        "xargs" => {
            let Some(first) = inner.first() else {
                return;
            };
            if !harmless::NEVER_RUN.has(first) {
                reader.doubt_dynamic(&format!("the arguments that xargs passes to {first}"));
            }
        }
        "time" | "exec" | "command" | "builtin"
            // One shell takes the first word for an assignment, another for a program.
            if inner.first().is_some_and(|first| variable::split_assignment(first).is_some()) =>
        {
            reader.doubt_dynamic(inner.first().map_or("", String::as_str));
        }
        _ => {}
    }
    reader.add_inner_program(inner);
}

/// Records a doubt about an unknown flag, and follows each word that may be the program.
fn follow_guesses(reader: &mut ShellReader, args: &[String], why: &str) {
    reader.doubt_dynamic(why);
    let words = args
        .iter()
        .enumerate()
        .filter(|(_, arg)| !arg.starts_with('-'));
    for (at, _) in words.take(4) {
        reader.add_inner_program(args.get(at..).unwrap_or_default());
    }
}

fn follow_env(reader: &mut ShellReader, args: &[String]) {
    let mut at = 0;
    while let Some(arg) = args.get(at) {
        match arg.as_str() {
            "--" => {}
            "-0" | "--null" | "-v" | "--debug" => {}
            "-" | "-i" | "--ignore-environment" => reader.doubt_environment(&format!("env {arg}")),
            "-u" | "--unset" | "-C" | "--chdir" => {
                reader.doubt_environment(&format!("env {arg}"));
                at += 1;
            }
            "-S" | "--split-string" => {
                reader.doubt_dynamic(arg);
                return reader
                    .read_line_unless_empty(&args.get(at + 1..).unwrap_or_default().join(" "));
            }
            flag if flag.starts_with('-') => {
                if let Some(split) = flag
                    .strip_prefix("-S")
                    .or(flag.strip_prefix("--split-string="))
                {
                    reader.doubt_dynamic("-S");
                    let rest = args.get(at + 1..).unwrap_or_default().join(" ");
                    return reader.read_line_unless_empty(&format!("{split} {rest}"));
                }
                return follow_guesses(reader, args, flag);
            }
            word => match word.split_once('=') {
                Some((name, value)) => reader.add_assignment(name, value),
                None => break,
            },
        }
        at += 1;
    }
    reader.add_inner_program(args.get(at..).unwrap_or_default());
}

/// Follows `-exec program … ;` and similar flags. A name that is found begins with the start of the search, so
/// it is no flag; a program that runs its files is in doubt all the same.
fn follow_exec_flags(reader: &mut ShellReader, args: &[String], flags: &[&str]) {
    for (at, arg) in args.iter().enumerate() {
        if !flags.contains(&arg.as_str()) {
            continue;
        }
        let rest = args.get(at + 1..).unwrap_or_default();
        let closed = rest.iter().position(|arg| arg == ";");
        let gathered = rest
            .windows(2)
            .position(|pair| pair[0] == "{}" && pair[1] == "+");
        let length = closed.into_iter().chain(gathered.map(|at| at + 1)).min();
        let inner = rest.get(..length.unwrap_or(rest.len())).unwrap_or_default();
        if let Some(first) = inner.first()
            && (first.contains("{}") || super::executor::exec_form(inner).is_some())
        {
            reader.doubt_dynamic(&format!("the arguments that {arg} passes to {first}"));
        }
        reader.add_inner_program(inner);
    }
}

/// Flags of `git` whose value is a line; others are read with the words after them.
const FILTERS: WordTable = WordTable(
    "--tree-filter --index-filter --env-filter --msg-filter --commit-filter --parent-filter \
     --tag-name-filter --setup --extcmd --sendmail-cmd --to-cmd --cc-cmd",
);

fn follow_git(reader: &mut ShellReader, args: &[String]) {
    for arg in args {
        // An alias or a setting that is a shell line.
        if let Some((_, line)) = arg.split_once("=!") {
            reader.doubt_dynamic(arg);
            reader.read_line(line);
        }
    }
    let told = |flag: &str| args.iter().position(|arg| arg == flag);
    if let Some(at) = told("foreach").or(told("-x")).or(told("--exec")) {
        reader.read_line_unless_empty(&args.get(at + 1..).unwrap_or_default().join(" "));
    }
    if let Some(at) = told("merge-index") {
        let flags = |arg: &&String| matches!(arg.as_str(), "-o" | "-q");
        let rest = args.get(at + 1..).unwrap_or_default();
        let skipped = rest.iter().take_while(flags).count();
        reader.add_inner_program(rest.get(skipped..).unwrap_or_default());
    }
    follow_flag_values(reader, args, FILTERS);
    if let (Some(_), Some(at)) = (told("bisect"), told("run")) {
        reader.add_inner_program(args.get(at + 1..).unwrap_or_default());
    }
}

/// Reads the `-c 'line'` of programs that pass it to a shell.
fn follow_command_flag(reader: &mut ShellReader, args: &[String]) {
    let line = args
        .iter()
        .enumerate()
        .find_map(|(at, arg)| match arg.as_str() {
            "-c" | "--command" | "-qc" => args.get(at + 1).map(String::as_str),
            other => other
                .strip_prefix("--command=")
                .or(other.strip_prefix("-c")),
        });
    match line {
        Some(line) => reader.read_line(line),
        None => reader.doubt_dynamic("a shell that reads its input"),
    }
}

/// Reads the line of `sg - group -c 'line'`. It passes one word to a shell; all of them are read, so that nothing
/// is missed.
fn follow_sg(reader: &mut ShellReader, args: &[String]) {
    let words = args.iter().map(String::as_str);
    let words: Vec<_> = words
        .filter(|word| !matches!(*word, "-" | "-c"))
        .skip(1)
        .collect();
    reader.read_line_unless_empty(&words.join(" "));
}

fn follow_shell(reader: &mut ShellReader, name: &str, args: &[String]) {
    let mut at = 0;
    let mut line = false;
    while let Some(flag) = args.get(at).filter(|arg| arg.starts_with(['-', '+'])) {
        at += 1;
        if flag == "--" || flag == "-" {
            break;
        }
        let letters = flag.get(1..).unwrap_or_default();
        line |= !flag.starts_with("--") && letters.contains('c');
        if letters.contains('i') || letters.contains('l') || flag.starts_with("--") {
            // It first reads a file of the user.
            reader.doubt_environment(&format!("{name} {flag}"));
        }
        if letters.ends_with('o') || letters.ends_with('O') || flag.ends_with("file") {
            at += 1;
        }
    }
    if matches!(name, "zsh" | "fish" | "csh" | "tcsh") {
        reader.doubt_dynamic(&format!("a line in the syntax of {name}"));
    }
    match (line, args.get(at)) {
        (true, Some(text)) => reader.read_line(text),
        (false, Some(_)) if !args.iter().any(|arg| arg == "-s") => {}
        _ => reader.doubt_dynamic(&format!("the input of {name}")),
    }
}

/// Follows a program after a subcommand, a location or a name: each word may be the program.
fn follow_subcommand(reader: &mut ShellReader, args: &[String]) {
    let at = args.iter().position(|arg| {
        matches!(
            arg.as_str(),
            "run" | "exec" | "new-session" | "new-window" | "new" | "-dm" | "-dmS" | "run-shell"
        )
    });
    if let Some(at) = at {
        follow_guesses(reader, args.get(at + 1..).unwrap_or_default(), &args[at]);
    }
}

/// Records a doubt about a directory that is not plainly below this one.
fn check_cd(reader: &mut ShellReader, args: &[String]) {
    let below = match args {
        [place] => {
            !place.is_empty()
                && !place.starts_with(['/', '-', '~'])
                && place.split('/').all(|part| part != "..")
        }
        _ => false,
    };
    if !below {
        reader.doubt_environment("cd may leave the directory");
    }
}
