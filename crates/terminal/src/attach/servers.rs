//! Lists the running servers and their sessions. Servers that do not answer within a short time are left
//! out.

use std::{borrow::Cow, path::Path, time::Duration};

use agent_client_protocol::v1::schema::{ListSessionsResponse, SessionInfo};
use futures::future::join_all;
use harn_acp::client::{ListedSessionMeta, Liveness, vendor_data};
use harn_lines::rpc::RpcMessage;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::{
    address::{ServerAddress, list_sockets},
    connection::{AttachConnection, NoConnection},
    protocol::initialize_params,
};

use crate::agent_messages::parse_timestamp;
pub(super) use crate::server_session::ServerSession;

#[derive(Debug)]
pub(super) struct RunningServer {
    pub(super) address: ServerAddress,
    pub(super) sessions: Vec<ServerSession>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ListScope {
    Live,
    /// Live and stored sessions.
    All,
}

/// The maximum time for a server's answer. A server on this machine takes a millisecond.
const PATIENCE: Duration = Duration::from_secs(2);
/// The maximum number of pages to read; a user does not look through more sessions.
const PAGES: usize = 100;

/// Returns the live sessions of the servers on this machine, found by the sockets in a state directory.
pub async fn live_sessions(state_dir: &Path) -> Vec<ServerSession> {
    let asked = query_servers(list_sockets(state_dir), ListScope::Live).await;
    let answered = asked.into_iter().flatten();
    answered.flat_map(|server| server.sessions).collect()
}

/// Queries all servers at once for their sessions. The results are in the order of the addresses.
pub(super) async fn query_servers(
    addresses: Vec<ServerAddress>,
    which: ListScope,
) -> Vec<Result<RunningServer, NoConnection>> {
    let asked = addresses.into_iter().map(async |address: ServerAddress| {
        let answered = timeout(PATIENCE, list_sessions(&address, which)).await;
        let late = |_| Err(NoConnection::Late(address.to_string()));
        let sessions = answered.unwrap_or_else(late)?;
        Ok(RunningServer { address, sessions })
    });
    join_all(asked).await
}

async fn list_sessions(
    address: &ServerAddress,
    which: ListScope,
) -> Result<Vec<ServerSession>, NoConnection> {
    let mut wire = AttachConnection::connect(address).await?;
    let name = address.to_string();
    request(&mut wire, 0, "initialize", initialize_params(false), &name).await?;
    let mut sessions = Vec::new();
    let mut cursor: Option<String> = None;
    for page in 1..=PAGES {
        let mut params = json!({});
        if which == ListScope::Live {
            params["filter"] = json!({"liveState": "live"});
        }
        if let Some(cursor) = cursor.take() {
            params["cursor"] = cursor.into();
        }
        let listed = request(&mut wire, page, "session/list", params, &name).await?;
        let Ok(listed) = ListSessionsResponse::deserialize(listed) else {
            break;
        };
        sessions.extend(listed.sessions.into_iter().map(session_from_item));
        cursor = listed.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    // A server that does not support the filter lists all sessions.
    sessions.retain(|session| session.live || which == ListScope::All);
    Ok(sessions)
}

async fn request(
    wire: &mut AttachConnection,
    id: usize,
    method: &str,
    params: Value,
    name: &str,
) -> Result<Value, NoConnection> {
    let gone = || NoConnection::Nobody(name.to_owned());
    if !wire.send(RpcMessage::request(id, method, params).to_text()) {
        return Err(gone());
    }
    loop {
        let line = wire.next().await.ok_or_else(gone)?;
        let Ok(mut answer) = serde_json::from_str::<Value>(&line) else {
            continue;
        };
        if answer["id"] != id || answer.get("method").is_some() {
            continue;
        }
        return match answer["error"]["message"].as_str() {
            Some(why) => Err(NoConnection::Refused(name.to_owned(), why.to_owned())),
            None => Ok(answer["result"].take()),
        };
    }
}

fn session_from_item(item: SessionInfo) -> ServerSession {
    let ours: Option<ListedSessionMeta<'_>> = vendor_data(item.meta.as_ref());
    let ours = ours.as_ref();
    ServerSession {
        id: item.session_id.0.to_string(),
        title: item.title.unwrap_or_default(),
        cwd: item.cwd,
        updated: item
            .updated_at
            .as_deref()
            .and_then(parse_timestamp)
            .unwrap_or(0),
        live: ours.is_some_and(|it| it.live_state == Liveness::Live),
        working: ours.is_some_and(|it| it.active_prompt),
        since: ours.and_then(|it| parse_timestamp(it.controlled_since.as_deref()?)),
        controller: ours.and_then(|it| it.controller_id.clone().map(Cow::into_owned)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_item_has_its_controller_and_times() {
        let ours = json!({"liveState": "live", "activePrompt": true, "controllerId": "desk",
                          "controlledSince": "1970-01-01T00:01:00Z", "clientCount": 2,
                          "attachableRoles": []});
        let item = |row: Value| serde_json::from_value(row).ok().map(session_from_item);
        let listed = item(json!({"sessionId": "s", "cwd": "/w", "title": "T",
                                 "updatedAt": "1970-01-01T00:00:01.5Z", "_meta": {"harn": ours}}));
        let listed = listed.unwrap();
        assert!(listed.live && listed.working);
        assert_eq!(listed.controller.as_deref(), Some("desk"));
        assert_eq!((listed.updated, listed.since), (1500, Some(60_000)));
        let plain = item(json!({"sessionId": "s", "cwd": "/w"})).unwrap();
        assert!(!plain.live && plain.controller.is_none());
        assert_eq!(item(json!({"cwd": "/w"})), None);
    }
}
