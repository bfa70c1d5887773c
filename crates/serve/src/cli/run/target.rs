//! Selects the session of a run: a new one, or a stored one.

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use harn_policy::SessionMode;
use harn_terminal::{console::as_command_line_error, run::RunTarget};

use crate::{
    ServeOptions,
    cli::{
        resolve_working_dir,
        session_ids::{find_last_of_directory, find_stored_session},
    },
    session_store,
};

/// Returns the directory and the session that the command line selects.
pub(super) fn select_session(
    options: &ServeOptions,
    cwd: Option<&Path>,
    go_on: bool,
    session: Option<&str>,
    mode: Option<SessionMode>,
) -> Result<(PathBuf, RunTarget)> {
    let store = session_store::select_storage(options).store;
    let id = match (session, go_on) {
        (Some(word), _) => find_stored_session(&*store, word)?,
        (None, true) => {
            let dir = resolve_working_dir(cwd).map_err(as_command_line_error)?;
            let last = find_last_of_directory(&*store, &dir)?;
            let none = || {
                let dir = dir.display();
                anyhow!("no session of {dir} to continue; omit --continue to begin one")
            };
            last.ok_or_else(none)?
        }
        (None, false) => {
            return Ok((
                resolve_working_dir(cwd).map_err(as_command_line_error)?,
                RunTarget::New,
            ));
        }
    };
    let meta = store.meta(&id)?;
    let cwd = match (cwd, session) {
        (Some(cwd), Some(_)) => resolve_working_dir(Some(cwd)).map_err(as_command_line_error)?,
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
