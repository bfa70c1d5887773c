//! The folders in which the commands of a line may run, as far as its words show. Ask and deny rules about paths
//! have to hold in each of them. Never reads the disk.

use std::collections::HashSet;

use crate::{
    LocatedPath,
    command_paths::make_absolute,
    shell::{ShellLine, SimpleCommand},
};

/// The limit of folders. Each `cd` can double their number, because a command may fail or run in a subshell.
const MOST_FOLDERS: usize = 2048;

/// Returns the folders in which a line may start: the session's directory, and the declared paths, one of which may
/// be the folder in which it runs.
pub(crate) fn start_folders<'a>(
    workspace: &'a str,
    paths: &'a [LocatedPath],
    line: &ShellLine,
) -> Vec<&'a str> {
    let declared = paths
        .iter()
        .filter(|path| !line.redirects.iter().any(|it| it.path == path.info.input))
        .filter_map(|path| path.info.host_path.as_deref())
        .filter(|path| *path != workspace);
    [workspace].into_iter().chain(declared).collect()
}

/// Returns the folders that a line may enter from one of `starts`, without these. None if there are too many:
/// such a line may run anywhere.
pub(crate) fn entered_folders(line: &ShellLine, starts: &[&str]) -> Option<Vec<String>> {
    let mut folders: Vec<String> = Vec::new();
    let mut known: HashSet<String> = starts.iter().map(|&start| start.to_owned()).collect();
    for name in line.commands.iter().filter_map(entered_folder) {
        let here = starts
            .iter()
            .copied()
            .chain(folders.iter().map(String::as_str));
        let there: Vec<_> = here
            .map(|here| make_absolute(name, here).into_owned())
            .collect();
        for folder in there {
            if known.insert(folder.clone()) {
                folders.push(folder);
            }
        }
        if folders.len() > MOST_FOLDERS {
            return None;
        }
    }
    Some(folders)
}

/// Returns the folder that a command enters, or in which it works by a flag.
fn entered_folder(command: &SimpleCommand) -> Option<&str> {
    let (program, words) = command.argv.split_first()?;
    if matches!(program.as_str(), "cd" | "pushd") {
        return words.last().map(String::as_str);
    }
    words.iter().enumerate().find_map(|(at, word)| {
        let separate = matches!(word.as_str(), "-C" | "--directory" | "--chdir" | "--cwd");
        let next = || words.get(at + 1).map(String::as_str);
        let attached = || {
            let flags = ["--directory=", "--chdir=", "--cwd=", "-C"];
            flags.iter().find_map(|flag| word.strip_prefix(flag))
        };
        if separate { next() } else { attached() }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell;

    fn folders(line: &str) -> Vec<String> {
        entered_folders(&shell::read(line), &["/w"]).unwrap_or_default()
    }

    #[test]
    fn every_combination_of_entered_folders_counts() {
        for (line, expected) in [
            ("ls", &[][..]),
            ("cd a; ls", &["/w/a"]),
            ("cd -P a", &["/w/a"]),
            ("cd /x", &["/x"]),
            ("(cd a); cd b", &["/w/a", "/w/b", "/w/a/b"]),
            ("cd a; cd ..; cd ../w", &["/w/a", "/", "/w/w"]),
            ("cd a; cd a", &["/w/a", "/w/a/a"]),
            ("git -C sub status", &["/w/sub"]),
            ("tar -Csub -xf a", &["/w/sub"]),
            ("tar --directory sub -xf a", &["/w/sub"]),
            ("env --chdir=sub ls", &["/w/sub"]),
            ("pnpm --cwd=sub test", &["/w/sub"]),
            ("make -C", &[]),
        ] {
            assert_eq!(folders(line), expected, "{line}");
        }
    }

    #[test]
    fn limit_of_folders_is_reported() {
        let names = |most: usize| {
            (0..most)
                .map(|at| format!("cd d{at}; "))
                .collect::<String>()
        };
        let within = shell::read(&format!("{}ls", names(11)));
        assert_eq!(
            entered_folders(&within, &["/w"]).map(|it| it.len()),
            Some(2047)
        );
        let beyond = shell::read(&format!("{}ls", names(12)));
        assert_eq!(entered_folders(&beyond, &["/w"]), None);
        // Up and down again adds one or two folders at a time.
        let sideways: String = (0..60).map(|at| format!("cd ../d{at} && ls && ")).collect();
        let sideways = entered_folders(&shell::read(&format!("{sideways}ls")), &["/w/crates/a"]);
        assert!(sideways.is_some_and(|folders| folders.len() < 500));
    }
}
