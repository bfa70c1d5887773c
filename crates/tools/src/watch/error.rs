//! The errors of a watch: what was wrong, and what would be right.

use std::{io, path::PathBuf};

use notify::ErrorKind;

/// The reason why a watch cannot begin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WatchError {
    /// The glob is empty.
    #[error("which files? write a glob from the workspace's folder, such as `src/**/*.rs`")]
    Empty,
    /// The glob is an absolute path.
    #[error(
        "`{glob}` is an absolute path; write it from the workspace's folder, such as `{right}`"
    )]
    Absolute {
        /// The given glob.
        glob: String,
        /// A correct glob.
        right: String,
    },
    /// The glob points outside the workspace.
    #[error("`{glob}` leads out of the workspace; write it without `..`, such as `src/**/*.rs`")]
    Outside {
        /// The given glob.
        glob: String,
    },
    /// The glob has a syntax error.
    #[error("`{glob}` is not a glob: {problem}; `src/**/*.{{rs,toml}}` would be one")]
    Syntax {
        /// The given glob.
        glob: String,
        /// The syntax error.
        problem: String,
    },
    /// The glob names a folder instead of files.
    #[error("`{glob}` is a folder; for the files in it write `{right}`")]
    Folder {
        /// The given glob.
        glob: String,
        /// A correct glob.
        right: String,
    },
    /// The workspace cannot be read.
    #[error("{} cannot be watched: {problem}; name a folder that can be read", root.display())]
    Root {
        /// The root of the workspace.
        root: PathBuf,
        /// The error of the system.
        problem: String,
    },
    /// The system's limit for watched folders is reached.
    #[error(
        "there are {folders} folders to watch, but the system can watch only {watched}; name fewer in \
         the glob, exclude some with `.gitignore`, or raise the limit (on Linux: `sysctl \
         fs.inotify.max_user_watches`)"
    )]
    TooManyFolders {
        /// The number of folders to watch.
        folders: usize,
        /// The number of folders that are watched.
        watched: usize,
    },
    /// The glob matches too many files.
    #[error("the glob matches more than {limit} files; name fewer, such as `src/**/*.rs`")]
    TooManyFiles {
        /// The most files that a watch tracks.
        limit: usize,
    },
    /// The system's watcher failed.
    #[error(
        "the system's file watcher failed: {0}; if it is out of handles, end other watches or raise its limits (on \
         Linux: `sysctl fs.inotify`)"
    )]
    System(String),
}

/// Describes an error without the system's message, which may name files that must not be disclosed.
pub(super) fn describe(error: &notify::Error) -> String {
    match &error.kind {
        ErrorKind::Io(error) => match error.raw_os_error() {
            Some(code) => io::Error::from_raw_os_error(code).to_string(),
            None => error.kind().to_string(),
        },
        ErrorKind::Generic(_) => "it gave no reason that can be shown".to_owned(),
        ErrorKind::PathNotFound => "a path does not exist".to_owned(),
        ErrorKind::WatchNotFound => "a path is not watched".to_owned(),
        ErrorKind::InvalidConfig(_) => "its configuration is invalid".to_owned(),
        ErrorKind::MaxFilesWatch => "it cannot watch more folders".to_owned(),
    }
}
