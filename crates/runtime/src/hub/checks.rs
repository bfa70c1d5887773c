//! Checks before a session is created or opened: its directory and its principal.

use std::path::Path;

use harn_journal::{JournalError, SessionMeta};
use harn_model::{Principal, SessionId};

use crate::SessionError;

pub(super) fn check_cwd(cwd: &Path) -> Result<(), SessionError> {
    if cwd.is_absolute() && cwd.is_dir() {
        Ok(())
    } else {
        Err(SessionError::BadCwd)
    }
}

/// Reports a session of another principal as not found.
pub(super) fn check_own(principal: &Principal, meta: &SessionMeta) -> Result<(), JournalError> {
    match principal.owns(meta.principal.as_deref()) {
        true => Ok(()),
        false => Err(JournalError::NotFound(meta.thread_id.clone())),
    }
}

/// Refuses a session that is opened from a directory other than its own.
pub(super) fn check_own_cwd(
    id: &SessionId,
    cwd: Option<&Path>,
    own: &Path,
) -> Result<(), SessionError> {
    match cwd {
        Some(cwd) if !is_same_dir(cwd, own) => Err(SessionError::WrongCwd {
            id: id.clone(),
            expected: own.to_owned(),
        }),
        _ => Ok(()),
    }
}

/// Whether two paths name one directory, literally or after resolving links.
pub(super) fn is_same_dir(a: &Path, b: &Path) -> bool {
    a == b || matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}
