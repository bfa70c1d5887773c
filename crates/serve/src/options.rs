//! What may be chosen about a server, and where its state goes when nobody chose.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use harn_acp::ProfileChoice;

/// What may be chosen about a server.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where sessions are kept; need not exist yet.
    pub state_dir: PathBuf,
    /// Which dialect of ACP clients get.
    pub profile: ProfileChoice,
}

impl Options {
    /// Sessions in `state_dir`, and each client gets the dialect it can take.
    pub fn new(state_dir: impl Into<PathBuf>) -> Self {
        Self {
            state_dir: state_dir.into(),
            profile: ProfileChoice::Auto,
        }
    }
}

/// Where sessions are kept unless somebody says otherwise: `$XDG_STATE_HOME/harn`, else
/// `~/.local/state/harn`, on macOS `~/Library/Application Support/harn`.
pub fn default_state_dir() -> Result<PathBuf> {
    #[allow(
        clippy::disallowed_methods,
        reason = "the environment enters the project here"
    )]
    state_dir_from(|name| std::env::var_os(name))
        .context("there is no home directory to keep sessions in; name one with --state-dir")
}

fn state_dir_from(env: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    // A relative path would mean another place in every directory.
    let dir = |name| env(name).map(PathBuf::from).filter(|p| p.is_absolute());
    let home = || dir("HOME");
    let base = if let Some(chosen) = dir("XDG_STATE_HOME") {
        chosen
    } else if cfg!(target_os = "macos") {
        home()?.join("Library/Application Support")
    } else {
        home()?.join(Path::new(".local/state"))
    };
    Some(base.join("harn"))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn chosen(vars: &[(&str, &str)]) -> Option<PathBuf> {
        state_dir_from(|name| {
            let found = vars.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| OsString::from(value))
        })
    }

    #[test]
    fn the_state_dir_follows_the_environment() {
        let usual = if cfg!(target_os = "macos") {
            "/home/ada/Library/Application Support/harn"
        } else {
            "/home/ada/.local/state/harn"
        };
        let home = ("HOME", "/home/ada");
        assert_eq!(chosen(&[home]), Some(usual.into()));
        assert_eq!(
            chosen(&[home, ("XDG_STATE_HOME", "/var/state")]),
            Some("/var/state/harn".into())
        );
        assert_eq!(
            chosen(&[home, ("XDG_STATE_HOME", "relative")]),
            Some(usual.into())
        );
        assert_eq!(chosen(&[]), None);
    }
}
