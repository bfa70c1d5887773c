//! Stores which session a `/ws` client that names none returns to, also after a restart.

use std::path::{Path, PathBuf};

use harn_model::{Principal, SessionId};
use harn_policy::PolicyError;
use harn_state::SessionMemory;
use serde::{Deserialize, Serialize};

use crate::rules::state_file::{StateFile, StateFileFormat};

/// The file's name in the state directory.
const FILE: &str = "last-sessions.toml";

/// The number of stored sessions, over all principals and directories. A new one replaces the oldest.
const MOST: usize = 128;

pub(super) struct LastSessionFile(StateFile<LastSessionTable>);

/// The last session of a principal in a directory, opened without naming it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct LastSessionRow {
    /// None for the owner of the process, as in the files of sessions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    principal: Option<String>,
    directory: PathBuf,
    session: SessionId,
}

/// The rows of the file, the newest at the end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct LastSessionTable {
    #[serde(default)]
    last: Vec<LastSessionRow>,
}

impl StateFileFormat for LastSessionTable {
    const FULL: &'static str = "its paths are too long; remove the file";

    /// The file only decides which session is shown, so a damaged one is replaced.
    fn parse(origin: &str, text: &str) -> Result<Self, PolicyError> {
        Ok(toml::from_str(text).unwrap_or_else(|error| {
            tracing::warn!(file = origin, %error, "cannot read the last sessions of clients; starting with none");
            Self::default()
        }))
    }

    fn text(&self) -> String {
        let about = "# The sessions that clients of /ws open if they name none.\n\n";
        // Names and paths always serialise; a session's directory is always text.
        format!("{about}{}", toml::to_string(self).unwrap_or_default())
    }
}

impl LastSessionFile {
    /// Uses the file in a state directory. Touches nothing.
    pub(super) fn new(state_dir: &Path) -> Self {
        Self(StateFile::new(state_dir.join(FILE)))
    }
}

impl SessionMemory for LastSessionFile {
    fn last_session(&self, principal: &Principal, directory: &Path) -> Option<SessionId> {
        let found = self.0.read_with(|table| {
            let mut rows = table.last.iter();
            let row = rows.find(|row| row.is_of(principal, directory))?;
            Some(row.session.clone())
        });
        found.unwrap_or_else(|error| {
            tracing::warn!(%error, "cannot read the last session");
            None
        })
    }

    fn remember(&self, principal: &Principal, directory: &Path, session: &SessionId) {
        let remembered = self.0.change(|table| {
            table.last.retain(|row| !row.is_of(principal, directory));
            table.last.push(LastSessionRow {
                principal: principal.recorded_name(),
                directory: directory.to_owned(),
                session: session.clone(),
            });
            let over = table.last.len().saturating_sub(MOST);
            table.last.drain(..over);
        });
        if let Err(error) = remembered {
            tracing::warn!(%error, "cannot store the last session");
        }
    }
}

impl LastSessionRow {
    fn is_of(&self, principal: &Principal, directory: &Path) -> bool {
        principal.owns(self.principal.as_deref()) && self.directory == directory
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn each_principal_has_a_session_in_each_directory() {
        let state = tempfile::tempdir().unwrap();
        let folder = state.path().join("not-yet");
        let file = LastSessionFile::new(&folder);
        let (owner, ann) = (Principal::owner(), Principal::new("ann"));
        let (here, there) = (Path::new("/here"), Path::new("/there"));
        assert_eq!(file.last_session(&owner, here), None);
        assert!(!folder.exists(), "looking makes nothing");
        file.remember(&owner, here, &"s1".into());
        file.remember(&owner, there, &"s2".into());
        file.remember(&ann, here, &"s3".into());
        file.remember(&owner, here, &"s4".into());
        // Another process sees it.
        let file = LastSessionFile::new(&folder);
        assert_eq!(file.last_session(&owner, here), Some("s4".into()));
        assert_eq!(file.last_session(&owner, there), Some("s2".into()));
        assert_eq!(file.last_session(&ann, here), Some("s3".into()));
        assert_eq!(file.last_session(&ann, there), None);
        // A slash at the end makes no other directory.
        assert_eq!(
            file.last_session(&ann, Path::new("/here/")),
            Some("s3".into())
        );
    }

    #[test]
    fn full_file_drops_the_oldest_session() {
        let state = tempfile::tempdir().unwrap();
        let file = LastSessionFile::new(state.path());
        let owner = Principal::owner();
        let directory = |n: usize| PathBuf::from(format!("/work/{n}"));
        for n in 0..=MOST {
            file.remember(&owner, &directory(n), &format!("s{n}").as_str().into());
        }
        assert_eq!(file.last_session(&owner, &directory(0)), None);
        assert_eq!(file.last_session(&owner, &directory(1)), Some("s1".into()));
        let last = SessionId::from(format!("s{MOST}").as_str());
        assert_eq!(file.last_session(&owner, &directory(MOST)), Some(last));
    }

    #[test]
    fn damaged_file_is_replaced() {
        let state = tempfile::tempdir().unwrap();
        fs::write(state.path().join(FILE), "last = 3").unwrap();
        let file = LastSessionFile::new(state.path());
        let (owner, here) = (Principal::owner(), Path::new("/here"));
        assert_eq!(file.last_session(&owner, here), None);
        file.remember(&owner, here, &"s1".into());
        assert_eq!(file.last_session(&owner, here), Some("s1".into()));
    }

    /// A failed write only loses the entry.
    #[test]
    fn failed_write_is_no_error() {
        let state = tempfile::tempdir().unwrap();
        fs::create_dir(state.path().join("last-sessions.tmp")).unwrap();
        let file = LastSessionFile::new(state.path());
        let (owner, here) = (Principal::owner(), Path::new("/here"));
        file.remember(&owner, here, &"s1".into());
        assert_eq!(file.last_session(&owner, here), None);
    }
}
