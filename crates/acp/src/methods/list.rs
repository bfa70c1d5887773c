//! `session/list`: the sessions that can be opened, in pages.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use agent_client_protocol::{
    Error,
    v1::schema::{ListSessionsRequest, ListSessionsResponse, SessionArchiveFilter, SessionInfo},
};
use harn_runtime::{ArchiveFilter, ListedSession, SessionFilter};

use super::wire_id;
use crate::{Dialect, Profile, connection::Peer, error, ext};

/// A request, and whether it wants only live or only closed sessions.
pub(crate) type FilteredListRequest = (ListSessionsRequest, Option<bool>);

pub(crate) async fn handle(
    peer: Arc<Peer>,
    (request, live): FilteredListRequest,
) -> Result<ListSessionsResponse, Error> {
    let filter = SessionFilter {
        cwd: request.cwd,
        live,
        prompted: true,
        archived: archive_filter(request.archived)?,
    };
    let page = peer.hub.list(filter, request.cursor).await;
    let page = page.map_err(|e| error::session(&e))?;
    let dialect = peer.facts().dialect;
    let sessions = page.sessions.into_iter();
    let sessions = sessions
        .map(|session| session_info(session, dialect))
        .collect();
    Ok(ListSessionsResponse::new(sessions).next_cursor(page.next))
}

fn archive_filter(wanted: Option<SessionArchiveFilter>) -> Result<ArchiveFilter, Error> {
    match wanted.unwrap_or_default() {
        SessionArchiveFilter::Exclude => Ok(ArchiveFilter::Exclude),
        SessionArchiveFilter::Include => Ok(ArchiveFilter::Include),
        SessionArchiveFilter::Only => Ok(ArchiveFilter::Only),
        _ => Err(error::bad_params(
            "session/list: archived must be `exclude`, `include` or `only`",
        )),
    }
}

fn session_info(session: ListedSession, dialect: Dialect) -> SessionInfo {
    // Plain clients print unknown data.
    let plain = dialect.profile == Profile::Acp;
    let extension = (!plain)
        .then(|| ext::live::listed_session_meta(&session))
        .flatten();
    let summary = session.summary;
    let meta = summary.meta;
    let updated = SystemTime::UNIX_EPOCH + Duration::from_millis(summary.updated);
    SessionInfo::new(wire_id(&meta.thread_id), meta.directory)
        .additional_directories(meta.additional_directories)
        .title((!meta.title.is_empty()).then_some(meta.title))
        .updated_at(humantime::format_rfc3339_millis(updated).to_string())
        .archived(dialect.newer.members.then_some(meta.archived))
        .meta(extension)
}
