//! The file with the permanent grants of all workspaces.

use std::path::Path;

use harn_model::{Grant, Timestamp};
use harn_policy::{GrantFile, PolicyError};

use super::state_file::{StateFile, StateFileFormat};

/// The file's name in the state directory.
const FILE: &str = "grants.toml";

#[derive(Debug)]
pub(crate) struct GrantStore(StateFile<GrantFile>);

impl StateFileFormat for GrantFile {
    const FULL: &'static str = "it is full; revoke some with `harn-serve grants revoke`";

    fn parse(origin: &str, text: &str) -> Result<Self, PolicyError> {
        Self::parse(origin, text)
    }

    fn text(&self) -> String {
        self.to_text()
    }
}

impl GrantStore {
    /// Uses the file in a state directory. Touches nothing.
    pub(crate) fn new(state_dir: &Path) -> Self {
        Self(StateFile::new(state_dir.join(FILE)))
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Returns all grants with their times, the oldest first.
    pub(crate) fn all(&self) -> Result<Vec<(Grant, Timestamp)>, PolicyError> {
        self.0.read_with(|file| file.grants.clone())
    }

    /// Returns the grants of a workspace.
    pub(super) fn for_workspace(&self, workspace: &Path) -> Result<Vec<Grant>, PolicyError> {
        let workspace = workspace.to_string_lossy();
        self.0.read_with(|file| {
            let here = file.grants.iter().filter(|(g, _)| g.workspace == workspace);
            here.map(|(grant, _)| grant.clone()).collect()
        })
    }

    /// Stores a grant; an existing equal one stays as it is.
    pub(super) fn remember(&self, grant: &Grant, at: Timestamp) -> Result<(), PolicyError> {
        self.0.change(|file| {
            // Compare whole grants: ids are short, and two grants may have the same.
            if !file.grants.iter().any(|(other, _)| other == grant) {
                file.grants.push((grant.clone(), at));
            }
        })
    }

    /// Deletes the grants that match `gone`, and returns them.
    pub(crate) fn forget(&self, gone: impl Fn(&Grant) -> bool) -> Result<Vec<Grant>, PolicyError> {
        // Without a match, neither lock the file nor create its folder.
        if !self
            .0
            .read_with(|file| file.grants.iter().any(|(grant, _)| gone(grant)))?
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
