//! `meta.json`: the facts that a listing shows without reading events.

use std::{fs, io, path::Path};

use harn_model::{SessionId, Timestamp};
use serde::Serialize;

use super::{disk, lock};
use crate::{JournalError, SessionMeta};

/// The format version of `meta.json`. The lines of the log have their own.
pub const META_VERSION: u32 = 1;

/// The content of the file: the session, and its times in the form of the threads protocol. They are for people
/// and other programs; nothing here reads `time`, because the log is more accurate.
#[derive(Serialize)]
struct MetaFile<'a> {
    #[serde(flatten)]
    meta: &'a SessionMeta,
    time: MetaTime,
}

#[derive(Serialize)]
struct MetaTime {
    created: Timestamp,
    updated: Timestamp,
}

/// Returns the text of `meta.json`.
fn encode(meta: &SessionMeta, updated: Timestamp) -> io::Result<Vec<u8>> {
    let time = MetaTime {
        created: meta.created,
        updated: updated.max(meta.created),
    };
    // Fails for a path that is not Unicode: JSON could not represent it.
    let mut text = serde_json::to_vec_pretty(&MetaFile { meta, time })?;
    text.push(b'\n');
    Ok(text)
}

/// Reads the `meta.json` of session `id`.
pub(super) fn load(path: &Path, id: &SessionId) -> Result<SessionMeta, JournalError> {
    let text = fs::read(path).map_err(|error| lock::map_not_found(error, path, id))?;
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
    if meta.v != META_VERSION {
        let reason = format!(
            "it has format version {}, and this program reads version {META_VERSION} only; a newer program wrote it",
            meta.v
        );
        return Err(corrupt(1, reason));
    }
    if meta.thread_id != *id {
        return Err(corrupt(1, "it describes another session".to_owned()));
    }
    Ok(meta)
}

/// Replaces `meta.json`; see [`disk::replace`].
pub(super) fn save(
    path: &Path,
    meta: &SessionMeta,
    updated: Timestamp,
    flush: bool,
) -> Result<(), JournalError> {
    encode(meta, updated)
        .and_then(|text| disk::replace(path, &*text, flush))
        .map_err(disk::error_at(path))
}
