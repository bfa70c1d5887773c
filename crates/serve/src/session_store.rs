//! Where sessions are kept: in the state directory, or apart from it, such as in a workspace, where whoever
//! made the workspace may have put things before us. There, nothing but plain files and folders is touched.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Result, anyhow};
use harn_journal::{
    JournalError, JsonlStore, OpenedLog, SessionLog, SessionMeta, SessionPaths, Store, StoreListing,
};
use harn_model::{Envelope, SessionId};

use crate::{ServeOptions, private};

/// The folder of a workspace in which its threads are.
#[cfg(feature = "threads")]
pub(crate) const OF_WORKSPACE: &str = ".harness";

const THREADS: &str = "threads";

/// Where sessions are kept, and whether what they say of grants and modes is ours.
pub(crate) struct SessionStorage {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) believed: bool,
}

/// Where options have sessions kept. Creates nothing.
pub(crate) fn of(options: &ServeOptions) -> SessionStorage {
    match apart(options) {
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

/// Whether sessions can be kept where options say: a folder apart must be one, or not exist yet.
pub(crate) fn check(options: &ServeOptions) -> Result<()> {
    match apart(options) {
        // The error is about a place, and says which.
        Some(root) => UntrustedStore::new(root)
            .check()
            .map_err(|error| anyhow!("{error}")),
        None => Ok(()),
    }
}

/// The sessions directory, where it is not the state directory.
fn apart(options: &ServeOptions) -> Option<PathBuf> {
    // A slash at the end would have a link looked through.
    let root: PathBuf = options.sessions_dir.as_deref()?.components().collect();
    let state = &options.state_dir;
    // A link may lead to the state directory today and elsewhere tomorrow.
    let same = || !root.is_symlink() && root.canonicalize().ok() == state.canonicalize().ok();
    let is_state = root == *state || (root.exists() && same());
    (!is_state).then_some(root)
}

/// Sessions in a folder that others may have made.
///
/// A link there could lead anywhere: what is appended, cut or replaced behind it would be somebody's file. So
/// the folder, the one of each session and the files in it have to be what they seem, each time they are
/// used.
struct UntrustedStore {
    root: PathBuf,
    inner: JsonlStore,
}

impl UntrustedStore {
    fn new(root: PathBuf) -> Self {
        Self {
            inner: JsonlStore::new(&root),
            root,
        }
    }

    fn threads(&self) -> PathBuf {
        self.root.join(THREADS)
    }

    fn check(&self) -> Result<(), JournalError> {
        plain(&self.root, ExpectedPathKind::Folder)?;
        plain(&self.threads(), ExpectedPathKind::Folder)
    }

    /// Whether a session's folder and all in it are what they seem. One that does not exist is.
    fn check_session(&self, id: &SessionId) -> Result<(), JournalError> {
        self.check()?;
        // An id that is no name of a folder is the inner store's to refuse.
        let Some(folder) = self.inner.files(id) else {
            return Ok(());
        };
        let Some(folder) = folder.parent() else {
            return Ok(());
        };
        check_all_in(folder)
    }

    /// Makes the folder, for its owner, and out of reach of version control: what is said in a session is
    /// not to be published by accident. Touches nothing where there is one.
    fn make(&self) -> Result<(), JournalError> {
        if self.root.exists() {
            return Ok(());
        }
        let failed = |error| at(&self.root, error);
        if let Some(parent) = self.root.parent() {
            fs::create_dir_all(parent).map_err(failed)?;
        }
        match private::folder().create(&self.root) {
            Ok(()) => {}
            // Somebody else was faster, and does the rest.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(()),
            Err(error) => return Err(failed(error)),
        }
        let ignore = self.root.join(".gitignore");
        let file = private::file().write(true).create_new(true).open(&ignore);
        let written = file.and_then(|mut file| io::Write::write_all(&mut file, b"*\n"));
        written.map_err(|error| {
            // The next attempt begins anew; the first error is the one to tell.
            let _ = fs::remove_file(&ignore);
            let _ = fs::remove_dir(&self.root);
            at(&ignore, error)
        })
    }
}

impl Store for UntrustedStore {
    fn create(&self, meta: SessionMeta) -> Result<Box<dyn SessionLog>, JournalError> {
        self.check()?;
        self.make()?;
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

    /// Fails as a whole where one session is not what it seems: the others cannot be told from it before it
    /// is read.
    fn list(&self) -> Result<StoreListing, JournalError> {
        self.check()?;
        let threads = self.threads();
        let folders = match fs::read_dir(&threads) {
            Ok(folders) => folders,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(StoreListing::default());
            }
            Err(error) => return Err(at(&threads, error)),
        };
        for folder in folders {
            check_all_in(&folder.map_err(|error| at(&threads, error))?.path())?;
        }
        self.inner.list()
    }

    fn has_prompt(&self, id: &SessionId) -> Result<bool, JournalError> {
        self.check_session(id)?;
        self.inner.has_prompt(id)
    }

    fn delete(&self, id: &SessionId) -> Result<(), JournalError> {
        self.check_session(id)?;
        self.inner.delete(id)
    }

    fn place(&self, id: &SessionId) -> Option<SessionPaths> {
        self.inner.place(id)
    }

    fn root(&self) -> Option<PathBuf> {
        self.inner.root()
    }

    fn files(&self, id: &SessionId) -> Option<PathBuf> {
        self.inner.files(id)
    }
}

/// Whether a session's folder and all in it are what they seem. What is no folder is no session.
fn check_all_in(folder: &Path) -> Result<(), JournalError> {
    plain(folder, ExpectedPathKind::Either)?;
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if is_no_folder(&error) => return Ok(()),
        Err(error) => return Err(at(folder, error)),
    };
    for entry in entries {
        let path = entry.map_err(|error| at(folder, error))?.path();
        plain(&path, ExpectedPathKind::Either)?;
    }
    Ok(())
}

fn is_no_folder(error: &io::Error) -> bool {
    use io::ErrorKind::{NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory)
}

/// What is expected at a path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ExpectedPathKind {
    Folder,
    /// A folder or a file.
    Either,
}

/// Whether there is what is expected, or nothing.
fn plain(path: &Path, kind: ExpectedPathKind) -> Result<(), JournalError> {
    let found = match path.symlink_metadata() {
        Ok(found) => found.file_type(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(at(path, error)),
    };
    let wrong = if found.is_symlink() {
        "it is a link, which could lead anywhere; sessions are kept in plain folders only"
    } else if found.is_dir() || (kind == ExpectedPathKind::Either && found.is_file()) {
        return Ok(());
    } else {
        match kind {
            ExpectedPathKind::Folder => "it is not a folder, and sessions are to be kept in it",
            ExpectedPathKind::Either => "it is neither a file nor a folder",
        }
    };
    Err(at(path, io::Error::other(wrong)))
}

fn at(path: &Path, source: io::Error) -> JournalError {
    let path = path.to_owned();
    JournalError::Io { path, source }
}

#[cfg(test)]
mod tests;
