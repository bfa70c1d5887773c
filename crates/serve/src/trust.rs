//! The workspaces that the user trusts. Only a trusted workspace's files may cause programs to run, such as the
//! hooks of its skills and the servers in its `harn.toml`.

use std::path::{Path, PathBuf};

use harn_model::{Timestamp, format_rfc3339};
use harn_policy::PolicyError;
use harn_tools::TrustLookup;
use serde::{Deserialize, Serialize};

use crate::rules::state_file::{StateFile, StateFileFormat};

/// The file's name in the state directory.
const FILE: &str = "trusted.toml";

#[derive(Debug)]
pub(crate) struct WorkspaceTrustStore(StateFile<TrustFile>);

/// A trusted workspace, with everything in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TrustedWorkspace {
    /// The canonical path of its folder.
    pub(crate) path: PathBuf,
    /// The time of the decision, for display.
    pub(crate) since: String,
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
    #[error(transparent)]
    File(#[from] PolicyError),
}

impl WorkspaceTrustStore {
    /// Uses the file in a state directory. Touches nothing.
    pub(crate) fn new(state_dir: &Path) -> Self {
        Self(StateFile::new(state_dir.join(FILE)))
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn all(&self) -> Result<Vec<TrustedWorkspace>, PolicyError> {
        self.0.read_with(|file| file.workspace.clone())
    }

    /// Trusts a workspace and everything in it; returns its canonical path. Rejects `home` and its parents.
    pub(crate) fn trust(
        &self,
        workspace: &Path,
        home: Option<&Path>,
        at: Timestamp,
    ) -> Result<PathBuf, TrustError> {
        let path = canonicalize_folder(workspace)?;
        let home = home.and_then(|home| home.canonicalize().ok());
        if path.parent().is_none() || home.is_some_and(|home| home.starts_with(&path)) {
            return Err(TrustError::TooWide(path));
        }
        self.0.change(|file| {
            if !file.workspace.iter().any(|known| known.path == path) {
                file.workspace.push(TrustedWorkspace {
                    path: path.clone(),
                    since: format_rfc3339(at),
                });
            }
        })?;
        Ok(path)
    }

    /// Revokes the trust in a workspace; returns whether that path was trusted.
    pub(crate) fn revoke(&self, workspace: &Path) -> Result<bool, TrustError> {
        // A deleted workspace can be named by its old path.
        let path = canonicalize_folder(workspace).unwrap_or_else(|_| workspace.to_owned());
        let gone = |known: &TrustedWorkspace| known.path == path;
        if !self.0.read_with(|file| file.workspace.iter().any(gone))? {
            return Ok(false);
        }
        self.0
            .change(|file| file.workspace.retain(|it| !gone(it)))?;
        Ok(true)
    }

    /// Returns the trusted workspace that contains the canonical path of a directory.
    pub(crate) fn find_covering(&self, directory: &Path) -> Result<Option<PathBuf>, PolicyError> {
        let Ok(real) = directory.canonicalize() else {
            return Ok(None);
        };
        self.0.read_with(|file| {
            let mut known = file.workspace.iter();
            let found = known.find(|known| real.starts_with(&known.path));
            found.map(|known| known.path.clone())
        })
    }
}

impl TrustLookup for WorkspaceTrustStore {
    /// An unreadable file means that no workspace is trusted.
    fn is_trusted(&self, workspace: &Path) -> bool {
        match self.find_covering(workspace) {
            Ok(found) => found.is_some(),
            Err(error) => {
                tracing::warn!(%error, "cannot read the trusted workspaces; trusting none");
                false
            }
        }
    }
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
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn trust_covers_a_workspace_and_its_subfolders_only() {
        let dir = tempfile::tempdir().unwrap();
        for folder in ["w/sub", "w-else"] {
            fs::create_dir_all(dir.path().join(folder)).unwrap();
        }
        let (w, state) = (dir.path().join("w"), dir.path().join("state"));
        let trusted = WorkspaceTrustStore::new(&state);
        assert_eq!(trusted.find_covering(&w).unwrap(), None);
        assert!(!state.exists(), "looking makes nothing");
        let real = trusted.trust(&w, Some(dir.path()), 0).unwrap();
        // Another process sees it.
        let trusted = WorkspaceTrustStore::new(&state);
        assert_eq!(trusted.find_covering(&w).unwrap(), Some(real.clone()));
        assert_eq!(trusted.find_covering(&w.join("sub")).unwrap(), Some(real));
        assert_eq!(
            trusted.find_covering(&dir.path().join("w-else")).unwrap(),
            None
        );
        assert_eq!(
            trusted
                .find_covering(&dir.path().join("w/../w-else"))
                .unwrap(),
            None
        );
        assert!(trusted.revoke(&w).unwrap());
        assert!(!trusted.revoke(&w).unwrap());
        assert_eq!(trusted.find_covering(&w).unwrap(), None);
    }

    #[cfg(unix)]
    #[test]
    fn link_in_a_trusted_workspace_is_resolved_before_the_check() {
        let dir = tempfile::tempdir().unwrap();
        for folder in ["good", "bad"] {
            fs::create_dir_all(dir.path().join(folder)).unwrap();
        }
        let link = dir.path().join("good/inside");
        std::os::unix::fs::symlink(dir.path().join("bad"), &link).unwrap();
        let trusted = WorkspaceTrustStore::new(&dir.path().join("state"));
        trusted.trust(&dir.path().join("good"), None, 0).unwrap();
        assert_eq!(trusted.find_covering(&link).unwrap(), None);
    }

    #[test]
    fn trust_rejects_the_root_and_home_folders() {
        let dir = tempfile::tempdir().unwrap();
        let trusted = WorkspaceTrustStore::new(&dir.path().join("state"));
        let home = dir.path().join("home/ada");
        fs::create_dir_all(&home).unwrap();
        for wide in [Path::new("/"), &home, &dir.path().join("home")] {
            let refused = trusted.trust(wide, Some(&home), 0);
            assert!(matches!(refused, Err(TrustError::TooWide(_))), "{wide:?}");
        }
        let nowhere = trusted.trust(&dir.path().join("nowhere"), None, 0);
        assert!(matches!(nowhere, Err(TrustError::NoFolder { .. })));
    }

    #[test]
    fn unreadable_file_trusts_nothing() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(FILE), "workspace = 3").unwrap();
        let trusted = WorkspaceTrustStore::new(dir.path());
        let error = trusted.find_covering(dir.path()).unwrap_err().to_string();
        assert!(error.contains(FILE), "{error}");
    }
}
