//! The forms of `git` that run or write something that their words do not show, and those that only read.

use super::SimpleCommand;
use crate::word_table::WordTable;

/// Flags before the subcommand that do not change its effect.
const HARMLESS: WordTable = WordTable("--no-pager --version --help --no-optional-locks -P");

/// Subcommands that run a program from their arguments or from a repository's configuration.
const RUNNERS: WordTable = WordTable(
    "archimport bisect citool config credential cvsexportcommit cvsimport cvsserver daemon difftool \
     fast-import filter-branch for-each-repo fsmonitor--daemon gui help hook http-backend imap-send \
     instaweb interpret-trailers maintenance merge-index merge-octopus merge-one-file mergetool p4 \
     quiltimport receive-pack remote-ext remote-fd request-pull send-email shell submodule svn \
     upload-archive upload-pack web--browse",
);

/// Flags after a subcommand. `-O`, `-u` and `-x` are found among other letters too.
const FLAGS: WordTable = WordTable(
    "--exec --upload-pack --receive-pack --ext-diff --textconv --output --open-files-in-pager \
     --template --separate-git-dir --config --extcmd --tool --strategy --output-directory",
);

/// Flags with which `branch` only lists.
const BRANCHES: WordTable =
    WordTable("-a -r -v -vv --list --all --remotes --show-current --no-color");

/// Returns the flag or form that runs or writes something else, if there is one.
pub(super) fn exec_form(args: &[String]) -> Option<String> {
    let mut at = 0;
    while let Some(arg) = args.get(at).filter(|arg| arg.starts_with('-')) {
        let name = arg.split('=').next().unwrap_or(arg);
        // Others change which programs `git` runs, or which configuration counts.
        if !HARMLESS.has(name) {
            return Some(arg.clone());
        }
        at += 1;
    }
    let subcommand = args.get(at)?;
    if RUNNERS.has(subcommand) {
        return Some(subcommand.clone());
    }
    args.iter()
        .skip(at + 1)
        .find(|arg| runs(subcommand, arg))
        .cloned()
}

fn runs(subcommand: &str, arg: &str) -> bool {
    if let Some(long) = arg.strip_prefix("--") {
        let given = long.split('=').next().unwrap_or(long);
        return !given.is_empty()
            && FLAGS
                .words()
                .any(|flag| flag.get(2..).is_some_and(|flag| flag.starts_with(given)));
    }
    if let Some(letters) = arg.strip_prefix('-') {
        return match subcommand {
            "grep" => letters.contains('O'),
            "rebase" => letters.contains('x') || letters.contains('s'),
            "clone" => letters.contains('u') || letters.contains('c'),
            "init" | "archive" | "format-patch" => letters.contains('o'),
            _ => false,
        };
    }
    // A transport that is a program: `ext::sh -c …`.
    arg.contains("::")
        && matches!(
            subcommand,
            "clone" | "fetch" | "pull" | "push" | "remote" | "ls-remote" | "archive"
        )
}

/// Whether a command is git.
pub(crate) fn is_git(command: &SimpleCommand) -> bool {
    command.argv.first().is_some_and(|program| program == "git")
}

/// Whether this only reads the repository.
///
/// `diff`, `log`, `show` and `blame` may run programs that attributes and configuration name (external
/// diffs, text conversions). The user's own configuration is not judged anywhere, so they pass only with
/// both `--no-ext-diff` and `--no-textconv` (`blame` with the latter). On a terminal they and `branch` run a
/// pager, so they pass only after `--no-pager`. `status` may refresh the index, which changes no content.
pub(super) fn only_reads(args: &[String]) -> bool {
    let (paged, args) = match args.first().map(String::as_str) {
        Some("--no-pager") => (false, args.get(1..).unwrap_or_default()),
        _ => (true, args),
    };
    let Some((subcommand, rest)) = args.split_first() else {
        return false;
    };
    let known = |flags: &'static str| {
        let flags = WordTable(flags);
        rest.iter()
            .filter(|arg| *arg != "--")
            .all(|arg| !arg.starts_with('-') || flags.has(arg) || is_count(arg, flags))
    };
    let given = |flag: &str| {
        rest.iter()
            .take_while(|arg| *arg != "--")
            .any(|arg| arg == flag)
    };
    match subcommand.as_str() {
        "branch" | "diff" | "log" | "show" | "blame" if paged => false,
        "--version" | "version" => rest.is_empty(),
        "status" => known(
            "-s -b -sb --short --branch --porcelain --porcelain=v1 --porcelain=v2 --long -z \
             --ignored -uno -uall -unormal --show-stash",
        ),
        "ls-files" => known(
            "-c -d -m -o -s -u -z --cached --deleted --modified --others --stage --unmerged \
             --exclude-standard --error-unmatch --full-name",
        ),
        "rev-parse" => known(
            "--show-toplevel --show-prefix --show-cdup --abbrev-ref --short --verify -q --quiet \
             --is-inside-work-tree --git-dir --symbolic-full-name --all",
        ),
        "branch" => rest.iter().all(|arg| BRANCHES.has(arg)),
        "diff" | "log" | "show" => {
            given("--no-ext-diff")
                && given("--no-textconv")
                && known(
                    "--no-ext-diff --no-textconv --stat --shortstat --numstat --name-only --name-status \
             --oneline --graph --decorate --all --cached --staged -p --patch -w -b --no-color \
             --no-patch -s --summary --merges --no-merges --first-parent --reverse \
             --abbrev-commit --no-renames -M -U -n",
                )
        }
        "blame" => given("--no-textconv") && known("--no-textconv -w -s -e --porcelain -l"),
        _ => false,
    }
}

/// Whether an argument is a count, also after a letter that may have one: `-5`, `-n5`, `-U3`.
fn is_count(arg: &str, flags: WordTable) -> bool {
    let Some(rest) = arg.strip_prefix('-') else {
        return false;
    };
    if rest.is_empty() || !flags.has("-n") {
        return false;
    }
    rest.trim_start_matches(['n', 'U'])
        .bytes()
        .all(|byte| byte.is_ascii_digit())
        && rest.bytes().any(|byte| byte.is_ascii_digit())
}
