//! The workspaces that the user trusts, by the content of their files. Only trusted files may cause programs to run,
//! such as the hooks of skills and the servers in `harn.toml`. A changed file is no longer trusted.

mod contents;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use harn_model::{Timestamp, format_rfc3339};
use harn_policy::PolicyError;
use harn_tools::{ContentHash, FileHashes, TrustLookup, WorkspaceTrust};
use serde::{Deserialize, Serialize};

use crate::rules::state_file::{StateFile, StateFileFormat};

use contents::TrustedContents;

/// The file's name in the state directory.
const FILE: &str = "trusted.toml";

#[derive(Debug)]
pub(crate) struct WorkspaceTrustStore {
    file: StateFile<TrustFile>,
    contents: TrustedContents,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TrustedWorkspace {
    /// The canonical path of its folder.
    pub(crate) path: PathBuf,
    /// The time of the decision, for display.
    pub(crate) since: String,
    /// Its trusted files. An earlier version wrote none and trusted every file.
    #[serde(default)]
    pub(crate) files: BTreeMap<String, String>,
}

impl TrustedWorkspace {
    /// Returns the trusted files, by their paths relative to the workspace. A hash that is none is left out, so that
    /// its file is not trusted.
    pub(crate) fn hashes(&self) -> FileHashes {
        let files = self.files.iter();
        let hashes = files
            .filter_map(|(path, hash)| Some((PathBuf::from(path), ContentHash::from_hex(hash)?)));
        hashes.collect()
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TrustFile {
    #[serde(default)]
    workspace: Vec<TrustedWorkspace>,
}

impl StateFileFormat for TrustFile {
    const FULL: &'static str = "it is full; revoke some with `harn-serve trust --revoke`";

    fn parse(origin: &str, text: &str) -> Result<Self, PolicyError> {
        toml::from_str(text).map_err(|error| PolicyError::Syntax {
            origin: origin.to_owned(),
            message: error.to_string(),
        })
    }

    fn text(&self) -> String {
        let about =
            "# Workspaces whose own files may run programs; see `harn-serve trust --help`.\n\n";
        // Paths and times always serialise. If they did not, an empty file would trust nothing.
        format!("{about}{}", toml::to_string(self).unwrap_or_default())
    }
}

/// The reasons to reject a workspace.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TrustError {
    #[error("{}: {why}; give the folder of a project", .path.display())]
    NoFolder { path: PathBuf, why: String },
    /// The folder contains far more than one project.
    #[error("{} contains more than a project; trust the folder of one project", .0.display())]
    TooWide(PathBuf),
    #[error("the name of {} is not UTF-8; rename it", .0.display())]
    NotText(PathBuf),
    #[error(transparent)]
    File(#[from] PolicyError),
}

impl WorkspaceTrustStore {
    /// Uses the file in a state directory. Touches nothing.
    pub(crate) fn new(state_dir: &Path) -> Self {
        Self {
            file: StateFile::new(state_dir.join(FILE)),
            contents: TrustedContents::new(state_dir),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.file.path()
    }

    pub(crate) fn all(&self) -> Result<Vec<TrustedWorkspace>, PolicyError> {
        self.file.read_with(|file| file.workspace.clone())
    }

    /// Returns the record of a workspace with this canonical path.
    pub(crate) fn find(&self, path: &Path) -> Result<Option<TrustedWorkspace>, PolicyError> {
        self.file.read_with(|file| {
            let mut known = file.workspace.iter();
            known.find(|known| known.path == path).cloned()
        })
    }

    /// Returns the canonical path of a workspace that may be trusted. Rejects `home` and its parents.
    pub(crate) fn check_folder(
        workspace: &Path,
        home: Option<&Path>,
    ) -> Result<PathBuf, TrustError> {
        let path = canonicalize_folder(workspace)?;
        let home = home.and_then(|home| home.canonicalize().ok());
        if path.parent().is_none() || home.is_some_and(|home| home.starts_with(&path)) {
            return Err(TrustError::TooWide(path));
        }
        Ok(path)
    }

    /// Trusts these files of a workspace, by their paths relative to it, in addition to those that were trusted and
    /// still exist. `path` is from [`Self::check_folder`].
    pub(crate) fn trust_files(
        &self,
        path: &Path,
        files: &FileHashes,
        at: Timestamp,
    ) -> Result<(), TrustError> {
        let mut named = BTreeMap::new();
        for (file, hash) in files {
            let name = file
                .to_str()
                .ok_or_else(|| TrustError::NotText(path.join(file)))?;
            named.insert(name.to_owned(), hash.to_string());
        }
        let in_use = self.file.change(|file| {
            let known = file.workspace.iter().position(|known| known.path == path);
            let since = format_rfc3339(at);
            let at = known.unwrap_or_else(|| {
                file.workspace.push(TrustedWorkspace {
                    path: path.to_owned(),
                    since: since.clone(),
                    files: BTreeMap::new(),
                });
                file.workspace.len() - 1
            });
            let record = &mut file.workspace[at];
            record
                .files
                .retain(|name, _| path.join(name).symlink_metadata().is_ok());
            record.files.extend(named);
            record.since = since;
            used_hashes(file)
        })?;
        // Copies only help to show differences, so an error does not matter.
        for (file, hash) in files {
            self.contents.save(&path.join(file), *hash);
        }
        self.contents.retain(&in_use);
        Ok(())
    }

    /// Returns the trusted text with this hash, if a copy exists.
    pub(crate) fn trusted_text(&self, hash: ContentHash) -> Option<String> {
        self.contents.load(hash)
    }

    /// Revokes the trust in a workspace; returns whether that path was trusted.
    pub(crate) fn revoke(&self, workspace: &Path) -> Result<bool, TrustError> {
        // A deleted workspace can be named by its old path.
        let path = canonicalize_folder(workspace).unwrap_or_else(|_| workspace.to_owned());
        let gone = |known: &TrustedWorkspace| known.path == path;
        if !self
            .file
            .read_with(|file| file.workspace.iter().any(gone))?
        {
            return Ok(false);
        }
        let in_use = self.file.change(|file| {
            file.workspace.retain(|it| !gone(it));
            used_hashes(file)
        })?;
        self.contents.retain(&in_use);
        Ok(true)
    }

    /// Returns the trusted workspace that contains the canonical path of a directory.
    pub(crate) fn find_covering(&self, directory: &Path) -> Result<Option<PathBuf>, PolicyError> {
        let Ok(real) = directory.canonicalize() else {
            return Ok(None);
        };
        self.file.read_with(|file| {
            let mut known = file.workspace.iter();
            let found = known.find(|known| real.starts_with(&known.path));
            found.map(|known| known.path.clone())
        })
    }

    fn find_trust(&self, workspace: &Path) -> Result<WorkspaceTrust, PolicyError> {
        let Ok(real) = workspace.canonicalize() else {
            return Ok(WorkspaceTrust::Nothing);
        };
        self.file.read_with(|file| {
            let covering = file
                .workspace
                .iter()
                .filter(|known| real.starts_with(&known.path));
            let mut trust = WorkspaceTrust::Nothing;
            for known in covering {
                let inside = known.hashes().into_iter().filter_map(|(path, hash)| {
                    let path = known.path.join(path);
                    Some((path.strip_prefix(&real).ok()?.to_owned(), hash))
                });
                match &mut trust {
                    WorkspaceTrust::Files(files) => files.extend(inside),
                    WorkspaceTrust::Nothing | WorkspaceTrust::Everything => {
                        trust = WorkspaceTrust::Files(inside.collect());
                    }
                }
            }
            trust
        })
    }
}

impl TrustLookup for WorkspaceTrustStore {
    /// An unreadable file means that no workspace is trusted.
    fn trust(&self, workspace: &Path) -> WorkspaceTrust {
        self.find_trust(workspace).unwrap_or_else(|error| {
            tracing::warn!(%error, "cannot read the trusted workspaces; trusting none");
            WorkspaceTrust::Nothing
        })
    }
}

fn used_hashes(file: &TrustFile) -> BTreeSet<ContentHash> {
    let hashes = file
        .workspace
        .iter()
        .flat_map(|known| known.hashes().into_values());
    hashes.collect()
}

fn canonicalize_folder(workspace: &Path) -> Result<PathBuf, TrustError> {
    let no_folder = |why: String| TrustError::NoFolder {
        path: workspace.to_owned(),
        why,
    };
    let path = workspace
        .canonicalize()
        .map_err(|e| no_folder(e.to_string()))?;
    match (path.is_dir(), path.to_str()) {
        (false, _) => Err(no_folder("it is not a folder".to_owned())),
        // The file that stores the path is text.
        (true, None) => Err(no_folder("its name is not UTF-8".to_owned())),
        (true, Some(_)) => Ok(path),
    }
}

#[cfg(test)]
mod tests;
