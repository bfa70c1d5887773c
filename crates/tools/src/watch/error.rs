//! Why a watch cannot begin: what was wrong, and what would be right.

use std::{io, path::PathBuf};

use notify::ErrorKind;

/// A watch that cannot begin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WatchError {
    /// Nothing was asked for.
    #[error("which files? write a glob from the workspace's folder, such as `src/**/*.rs`")]
    Empty,
    /// A path from the root of the machine.
    #[error(
        "`{glob}` is an absolute path; write it from the workspace's folder, such as `{right}`"
    )]
    Absolute {
        /// What was asked for.
        glob: String,
        /// What would be right.
        right: String,
    },
    /// A path that leads out of the workspace.
    #[error("`{glob}` leads out of the workspace; write it without `..`, such as `src/**/*.rs`")]
    Outside {
        /// What was asked for.
        glob: String,
    },
    /// Not a glob.
    #[error("`{glob}` is not a glob: {problem}; `src/**/*.{{rs,toml}}` would be one")]
    Syntax {
        /// What was asked for.
        glob: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A folder, where files are watched.
    #[error("`{glob}` is a folder; for the files in it write `{right}`")]
    Folder {
        /// What was asked for.
        glob: String,
        /// What would be right.
        right: String,
    },
    /// The workspace cannot be read.
    #[error("{} cannot be watched: {problem}; name a folder that can be read", root.display())]
    Root {
        /// The workspace.
        root: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// The system lets no more folders be watched.
    #[error(
        "there are {folders} folders to watch, and the system let only {watched} be watched; name fewer in the glob, \
         have `.gitignore` pass over some, or raise the limit (on Linux: `sysctl fs.inotify.max_user_watches`)"
    )]
    TooManyFolders {
        /// How many there are.
        folders: usize,
        /// How many of them are watched.
        watched: usize,
    },
    /// More files than are kept in mind.
    #[error("the glob matches more than {limit} files; name fewer, such as `src/**/*.rs`")]
    TooManyFiles {
        /// How many there may be.
        limit: usize,
    },
    /// The system's watcher failed.
    #[error(
        "the system's file watcher failed: {0}; if it is out of handles, end other watches or raise its limits (on \
         Linux: `sysctl fs.inotify`)"
    )]
    System(String),
}

/// What went wrong, without the system's own words: they may name files that nobody may be told of.
pub(super) fn words(error: &notify::Error) -> String {
    match &error.kind {
        ErrorKind::Io(error) => match error.raw_os_error() {
            Some(code) => io::Error::from_raw_os_error(code).to_string(),
            None => error.kind().to_string(),
        },
        ErrorKind::Generic(_) => "it gave no reason that can be told".to_owned(),
        ErrorKind::PathNotFound => "something is gone".to_owned(),
        ErrorKind::WatchNotFound => "something is no longer watched".to_owned(),
        ErrorKind::InvalidConfig(_) => "it cannot be set up like this".to_owned(),
        ErrorKind::MaxFilesWatch => "it can watch no more folders".to_owned(),
    }
}
