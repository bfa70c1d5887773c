//! `meta.json`: what a listing shows without reading events.

use std::{fs, io, path::Path};

use harn_model::SessionId;

use super::{
    disk,
    line::{FORMAT_VERSION, other_version},
    lock,
};
use crate::{JournalError, SessionMeta};

/// The text of `meta.json`.
pub(super) fn encode(meta: &SessionMeta) -> io::Result<Vec<u8>> {
    // Fails for a path that is not Unicode: JSON could not give it back.
    let mut text = serde_json::to_vec_pretty(meta)?;
    text.push(b'\n');
    Ok(text)
}

/// Reads the `meta.json` of session `id`.
pub(super) fn load(path: &Path, id: &SessionId) -> Result<SessionMeta, JournalError> {
    let text = fs::read(path).map_err(|error| lock::not_found(error, path, id))?;
    let corrupt = |line: usize, reason: String| JournalError::Corrupt {
        path: path.to_owned(),
        line: line.max(1) as u64,
        reason,
    };
    let meta: SessionMeta = serde_json::from_slice(&text).map_err(|error| {
        corrupt(
            error.line(),
            format!(
                "it does not describe a session, at column {}",
                error.column()
            ),
        )
    })?;
    if meta.v != FORMAT_VERSION {
        return Err(corrupt(1, other_version(meta.v.into())));
    }
    if meta.thread_id != *id {
        return Err(corrupt(1, "it describes another session".to_owned()));
    }
    Ok(meta)
}

/// Replaces `meta.json`; see [`disk::replace`].
pub(super) fn save(path: &Path, meta: &SessionMeta, flush: bool) -> Result<(), JournalError> {
    encode(meta)
        .and_then(|text| disk::replace(path, &text, flush))
        .map_err(disk::at(path))
}
