//! Stores sessions in the state directory, or in a separate directory such as a workspace. Others may have
//! written to a separate directory, so there the store touches only plain files and folders.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Result, anyhow};
use harn_journal::{
    JournalError, JsonlStore, LogCheck, LogRepair, OpenedLog, SessionLog, SessionMeta,
    SessionPaths, Store, StoreListing,
};
use harn_model::{Envelope, SessionId};

use crate::{ServeOptions, private};

/// The folder of a workspace that has its threads.
#[cfg(feature = "threads")]
pub(crate) const OF_WORKSPACE: &str = ".harness";

const THREADS: &str = "threads";

/// A session store, and whether the grants and modes stored in its sessions are trusted.
pub(crate) struct SessionStorage {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) believed: bool,
}

/// Returns the store that the options select. Creates nothing.
pub(crate) fn select_storage(options: &ServeOptions) -> SessionStorage {
    match separate_sessions_dir(options) {
        None => SessionStorage {
            store: Arc::new(JsonlStore::new(&options.state_dir)),
            believed: true,
        },
        Some(root) => SessionStorage {
            store: Arc::new(UntrustedStore::new(root)),
            believed: false,
        },
    }
}

/// Checks that sessions can be stored: a separate directory must be a plain folder, or not exist yet.
pub(crate) fn check(options: &ServeOptions) -> Result<()> {
    match separate_sessions_dir(options) {
        // The error already names the path.
        Some(root) => UntrustedStore::new(root)
            .check()
            .map_err(|error| anyhow!("{error}")),
        None => Ok(()),
    }
}

/// Returns the sessions directory, if it is not the state directory.
fn separate_sessions_dir(options: &ServeOptions) -> Option<PathBuf> {
    // Remove a slash at the end: it would make a lookup follow a link.
    let root: PathBuf = options.sessions_dir.as_deref()?.components().collect();
    let state = &options.state_dir;
    // A link may lead to the state directory now and elsewhere later.
    let same = || !root.is_symlink() && root.canonicalize().ok() == state.canonicalize().ok();
    let is_state = root == *state || (root.exists() && same());
    (!is_state).then_some(root)
}

/// Sessions in a folder that others may have created.
///
/// A link there could lead anywhere: an append, a cut or a replacement behind it would change a foreign file.
/// So each operation checks that the folder, the folder of the session and the files in it are no links.
struct UntrustedStore {
    root: PathBuf,
    inner: JsonlStore,
}

impl UntrustedStore {
    fn new(root: PathBuf) -> Self {
        Self {
            inner: JsonlStore::without_index(&root),
            root,
        }
    }

    fn threads_dir(&self) -> PathBuf {
        self.root.join(THREADS)
    }

    fn check(&self) -> Result<(), JournalError> {
        check_plain(&self.root, ExpectedPathKind::Folder)?;
        check_plain(&self.threads_dir(), ExpectedPathKind::Folder)
    }

    /// Checks that a session's folder and its entries are no links. A missing folder passes.
    fn check_session(&self, id: &SessionId) -> Result<(), JournalError> {
        self.check()?;
        // The inner store rejects an id that is no folder name.
        let Some(folder) = self.inner.files_folder(id) else {
            return Ok(());
        };
        let Some(folder) = folder.parent() else {
            return Ok(());
        };
        check_all_in(folder)
    }

    /// Creates the folder, readable only by its owner and ignored by git, so that sessions are not published by
    /// accident. Changes nothing if the folder exists.
    fn create_root(&self) -> Result<(), JournalError> {
        if self.root.exists() {
            return Ok(());
        }
        let failed = |error| io_error_at(&self.root, error);
        if let Some(parent) = self.root.parent() {
            fs::create_dir_all(parent).map_err(failed)?;
        }
        match private::folder_builder().create(&self.root) {
            Ok(()) => {}
            // Another process created it and does the rest.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(()),
            Err(error) => return Err(failed(error)),
        }
        let ignore = self.root.join(".gitignore");
        let file = private::file_options()
            .write(true)
            .create_new(true)
            .open(&ignore);
        let written = file.and_then(|mut file| io::Write::write_all(&mut file, b"*\n"));
        written.map_err(|error| {
            // Clean up for the next attempt, and return the first error.
            let _ = fs::remove_file(&ignore);
            let _ = fs::remove_dir(&self.root);
            io_error_at(&ignore, error)
        })
    }
}

impl Store for UntrustedStore {
    fn create(&self, meta: SessionMeta) -> Result<Box<dyn SessionLog>, JournalError> {
        self.check()?;
        self.create_root()?;
        self.inner.create(meta)
    }

    fn open(&self, id: &SessionId) -> Result<OpenedLog, JournalError> {
        self.check_session(id)?;
        self.inner.open(id)
    }

    fn read(&self, id: &SessionId) -> Result<(SessionMeta, Vec<Envelope>), JournalError> {
        self.check_session(id)?;
        self.inner.read(id)
    }

    fn meta(&self, id: &SessionId) -> Result<SessionMeta, JournalError> {
        self.check_session(id)?;
        self.inner.meta(id)
    }

    /// Fails as a whole when one session contains a link, because the inner store reads every session to list any.
    fn list(&self) -> Result<StoreListing, JournalError> {
        self.check()?;
        let threads = self.threads_dir();
        let folders = match fs::read_dir(&threads) {
            Ok(folders) => folders,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(StoreListing::default());
            }
            Err(error) => return Err(io_error_at(&threads, error)),
        };
        for folder in folders {
            check_all_in(&folder.map_err(|error| io_error_at(&threads, error))?.path())?;
        }
        self.inner.list()
    }

    fn ids(&self) -> Result<Vec<SessionId>, JournalError> {
        self.check()?;
        self.inner.ids()
    }

    fn check_log(&self, id: &SessionId) -> Result<LogCheck, JournalError> {
        self.check_session(id)?;
        self.inner.check_log(id)
    }

    fn repair_log(&self, id: &SessionId) -> Result<Option<LogRepair>, JournalError> {
        self.check_session(id)?;
        self.inner.repair_log(id)
    }

    fn has_prompt(&self, id: &SessionId) -> Result<bool, JournalError> {
        self.check_session(id)?;
        self.inner.has_prompt(id)
    }

    fn delete(&self, id: &SessionId) -> Result<(), JournalError> {
        self.check_session(id)?;
        self.inner.delete(id)
    }

    fn session_paths(&self, id: &SessionId) -> Option<SessionPaths> {
        self.inner.session_paths(id)
    }

    fn root(&self) -> Option<PathBuf> {
        self.inner.root()
    }

    fn files_folder(&self, id: &SessionId) -> Option<PathBuf> {
        self.inner.files_folder(id)
    }
}

/// Checks that a session's folder and its entries are no links. A path that is no folder is no session, and passes.
fn check_all_in(folder: &Path) -> Result<(), JournalError> {
    check_plain(folder, ExpectedPathKind::Either)?;
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if is_no_folder(&error) => return Ok(()),
        Err(error) => return Err(io_error_at(folder, error)),
    };
    for entry in entries {
        let path = entry.map_err(|error| io_error_at(folder, error))?.path();
        check_plain(&path, ExpectedPathKind::Either)?;
    }
    Ok(())
}

fn is_no_folder(error: &io::Error) -> bool {
    use io::ErrorKind::{NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ExpectedPathKind {
    Folder,
    /// A folder or a file.
    Either,
}

/// Checks that the path has the expected kind, or that nothing exists there.
fn check_plain(path: &Path, kind: ExpectedPathKind) -> Result<(), JournalError> {
    let found = match path.symlink_metadata() {
        Ok(found) => found.file_type(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(io_error_at(path, error)),
    };
    let wrong = if found.is_symlink() {
        "it is a link; sessions are stored only in folders without links"
    } else if found.is_dir() || (kind == ExpectedPathKind::Either && found.is_file()) {
        return Ok(());
    } else {
        match kind {
            ExpectedPathKind::Folder => "it is not a folder; sessions are stored in folders",
            ExpectedPathKind::Either => "it is neither a file nor a folder",
        }
    };
    Err(io_error_at(path, io::Error::other(wrong)))
}

fn io_error_at(path: &Path, source: io::Error) -> JournalError {
    let path = path.to_owned();
    JournalError::Io { path, source }
}

#[cfg(test)]
mod tests;
