//! The shapes of messages: what of them is read, and what is sent that is more than a line.

use std::borrow::Cow;

use agent_client_protocol::v1::schema::ContentBlock;
use harn_acp::client::{
    Changed, ExtensionUpdate, HarnMeta, LIVE_SESSION_CLIENT, LiveClientFields, vendor_meta,
};
use harn_model::LiveClientAction;
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use super::{HEARTBEAT, Joined, Waiting};

/// Whatever comes, cut into its parts.
#[derive(Deserialize)]
pub(super) struct Incoming<'a> {
    pub(super) id: Option<Value>,
    #[serde(borrow)]
    pub(super) method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) params: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) result: Option<&'a RawValue>,
    pub(super) error: Option<Problem>,
}

/// Why a request is refused.
#[derive(Debug, Deserialize)]
pub(in crate::attach) struct Problem {
    #[serde(default)]
    pub(in crate::attach) message: String,
    #[serde(default)]
    data: Option<ProblemData>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ProblemData {
    reason: Option<String>,
    controller: Option<String>,
}

impl Problem {
    /// The reason as a word.
    pub(super) fn reason(&self) -> Option<&'static str> {
        let known = [
            "controller_exists",
            "not_controller",
            "no_active_prompt",
            "unknown_session",
        ];
        let reason = self.data.as_ref()?.reason.as_deref()?;
        known.into_iter().find(|known| *known == reason)
    }

    /// Who is in the way.
    pub(super) fn controller(&self) -> Option<&str> {
        self.data.as_ref()?.controller.as_deref()
    }
}

/// The session of some params, and their place in its stream.
pub(in crate::attach) fn event_id(params: &RawValue) -> (Option<String>, Option<String>) {
    #[derive(Deserialize)]
    struct Head {
        #[serde(rename = "sessionId")]
        session: Option<String>,
        #[serde(rename = "_meta")]
        meta: Option<HarnMeta<Option<StreamPlace>>>,
    }
    #[derive(Deserialize)]
    struct StreamPlace {
        #[serde(rename = "eventId")]
        event: Option<String>,
    }
    let head: Option<Head> = serde_json::from_str(params.get()).ok();
    let Some(Head { session, meta }) = head else {
        return (None, None);
    };
    let event = meta.and_then(|meta| meta.harn?.event);
    (session, event)
}

/// Params of the first request: we take every extension, know where we are, and fill in forms.
pub(in crate::attach) fn hello(worker_calls: bool) -> Value {
    let ours = json!({"profile": "harn", "eventIds": true, "workerCalls": worker_calls});
    json!({
        "protocolVersion": 1,
        "clientInfo": {"name": "harn-serve-attach", "version": env!("CARGO_PKG_VERSION")},
        "clientCapabilities": {"elicitation": {"form": {}}, "_meta": vendor_meta(ours)},
    })
}

/// Params of an attach, as the controller or as an observer.
pub(super) fn attach(
    session: Option<&str>,
    client: &str,
    control: bool,
    after: Option<String>,
    promises: bool,
) -> Value {
    let mode = match control {
        true => "controller",
        false => "observer",
    };
    let mut params = json!({
        "sessionId": session,
        "clientId": client,
        "mode": mode,
        "metadata": {"surface": "terminal"},
    });
    if let Some(after) = after {
        params["lastEventId"] = after.into();
    }
    if promises {
        params["heartbeatSeconds"] = HEARTBEAT.into();
    }
    params
}

/// Who came, left or took over.
#[derive(Debug)]
pub(super) enum Change {
    /// The client of this name came, or took over.
    Came(String),
    /// The client of this name left; and whether it was in control.
    Left(String, bool),
    /// The client of this name came again over another connection.
    Replaced(String),
}

/// What an update says about the clients of the session.
pub(in crate::attach) fn live_client_change(
    params: &RawValue,
) -> Option<LiveClientFields<'static>> {
    #[derive(Deserialize)]
    struct Params<'a> {
        #[serde(borrow)]
        update: &'a RawValue,
    }
    // Most updates are about something else, and there are many.
    if !params.get().contains(LIVE_SESSION_CLIENT) {
        return None;
    }
    let params: Params<'_> = serde_json::from_str(params.get()).ok()?;
    match serde_json::from_str(params.update.get()).ok()? {
        ExtensionUpdate::LiveSessionClient { meta } => Some(meta.harn),
        _ => None,
    }
}

/// Who came, left or took over, by an update.
pub(super) fn change(params: &RawValue) -> Option<Change> {
    let change = live_client_change(params)?;
    let state = change.state.into_owned();
    match change.action {
        LiveClientAction::Attached | LiveClientAction::Takeover => {
            Some(Change::Came(state.client?.client_id))
        }
        LiveClientAction::Detached => {
            let left = change.left?.into_owned();
            if left.reason == "replaced" {
                return Some(Change::Replaced(left.client_id));
            }
            let drove = state.previous_controller_id.as_ref() == Some(&left.client_id);
            Some(Change::Left(left.client_id, drove))
        }
        LiveClientAction::Heartbeat => None,
    }
}

/// What the answer to an attach says.
pub(super) fn joined(result: Changed<'_>) -> Joined {
    let session = result.meta.map(|meta| meta.harn.session);
    let mode = session
        .as_ref()
        .and_then(|it| it.modes.get("currentModeId")?.as_str());
    Joined {
        mode: mode.map(str::to_owned),
        session: String::new(),
        controller: result.active_controller_id.map(Cow::into_owned),
        working: session
            .as_ref()
            .is_some_and(|session| session.active_prompt),
        instead: None,
        title: session.as_ref().and_then(|session| session.title.clone()),
        cwd: session.map(|session| session.cwd.into()),
    }
}

/// The answer to a question for what waits.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Pending {
    injections: Vec<PendingRow>,
}

/// A message or a reminder that waits.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct PendingRow {
    message_id: Option<String>,
    mode: String,
    content: PendingContent,
}

/// A text, or blocks.
#[derive(Deserialize)]
#[serde(untagged)]
enum PendingContent {
    Text(String),
    Blocks(Vec<ContentBlock>),
}

impl Default for PendingContent {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

/// The messages of a list of what waits.
pub(super) fn waiting(pending: Pending) -> Vec<Waiting> {
    let message = |row: PendingRow| {
        let text = |block: &ContentBlock| match block {
            ContentBlock::Text(text) => Some(text.text.clone()),
            _ => None,
        };
        let written = match row.content {
            PendingContent::Text(text) => text,
            PendingContent::Blocks(blocks) => {
                let texts: Vec<_> = blocks.iter().filter_map(text).collect();
                texts.join("\n")
            }
        };
        Some(Waiting {
            message: row.message_id?,
            steer: row.mode == "finish_step",
            text: written,
        })
    };
    pending.injections.into_iter().filter_map(message).collect()
}
