//! The file of grants.

use std::path::Path;

use harn_model::{Grant, Timestamp};
use harn_policy::{GrantFile, PolicyError};

use super::kept::{StateFile, StateFileFormat};

/// Its name in the state directory.
const FILE: &str = "grants.toml";

#[derive(Debug)]
pub(crate) struct GrantStore(StateFile<GrantFile>);

impl StateFileFormat for GrantFile {
    const FULL: &'static str = "it is full; forget some with `harn-serve grants revoke`";

    fn parse(origin: &str, text: &str) -> Result<Self, PolicyError> {
        Self::parse(origin, text)
    }

    fn text(&self) -> String {
        self.text()
    }
}

impl GrantStore {
    /// Those in a state directory. Touches nothing.
    pub(crate) fn new(state_dir: &Path) -> Self {
        Self(StateFile::new(state_dir.join(FILE)))
    }

    /// Where they are kept.
    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// All of them, with when they were given, the oldest first.
    pub(crate) fn all(&self) -> Result<Vec<(Grant, Timestamp)>, PolicyError> {
        self.0.look(|file| file.grants.clone())
    }

    /// Those of a workspace.
    pub(super) fn of(&self, workspace: &Path) -> Result<Vec<Grant>, PolicyError> {
        let workspace = workspace.to_string_lossy();
        self.0.look(|file| {
            let here = file.grants.iter().filter(|(g, _)| g.workspace == workspace);
            here.map(|(grant, _)| grant.clone()).collect()
        })
    }

    /// Keeps one; one that is there already stays as it is.
    pub(super) fn remember(&self, grant: &Grant, at: Timestamp) -> Result<(), PolicyError> {
        self.0.change(|file| {
            // An id is short: two grants may have the same.
            if !file.grants.iter().any(|(other, _)| other == grant) {
                file.grants.push((grant.clone(), at));
            }
        })
    }

    /// Forgets those that are not to stay, and returns them.
    pub(crate) fn forget(&self, gone: impl Fn(&Grant) -> bool) -> Result<Vec<Grant>, PolicyError> {
        // What is not there need not be locked, nor its folder made.
        if !self
            .0
            .look(|file| file.grants.iter().any(|(grant, _)| gone(grant)))?
        {
            return Ok(Vec::new());
        }
        self.0.change(|file| {
            let (going, staying) = std::mem::take(&mut file.grants)
                .into_iter()
                .partition(|(grant, _)| gone(grant));
            file.grants = staying;
            let going: Vec<(Grant, Timestamp)> = going;
            going.into_iter().map(|(grant, _)| grant).collect()
        })
    }
}
