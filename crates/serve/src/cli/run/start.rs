//! Selects the session of a run: a new one, or a stored one.

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use harn_policy::SessionMode;
use harn_terminal::{console::wrong_use, run::RunTarget};

use crate::{
    ServeOptions,
    cli::{
        directory,
        session_ids::{last_of, stored},
    },
    session_store,
};

/// Returns the directory and the session that the command line selects.
pub(super) fn chosen(
    options: &ServeOptions,
    cwd: Option<&Path>,
    go_on: bool,
    session: Option<&str>,
    mode: Option<SessionMode>,
) -> Result<(PathBuf, RunTarget)> {
    let store = session_store::of(options).store;
    let id = match (session, go_on) {
        (Some(word), _) => stored(&*store, word)?,
        (None, true) => {
            let dir = directory(cwd).map_err(wrong_use)?;
            let last = last_of(&*store, &dir)?;
            let none = || {
                let dir = dir.display();
                anyhow!(
                    "there is no session of {dir} to continue; leave --continue out to begin one"
                )
            };
            last.ok_or_else(none)?
        }
        (None, false) => return Ok((directory(cwd).map_err(wrong_use)?, RunTarget::New)),
    };
    let meta = store.meta(&id)?;
    let cwd = match (cwd, session) {
        (Some(cwd), Some(_)) => directory(Some(cwd)).map_err(wrong_use)?,
        // The stored path may contain links.
        _ => meta.directory,
    };
    let start = RunTarget::Stored {
        id,
        roots: meta.additional_directories,
        mode,
    };
    Ok((cwd, start))
}
