//! The messages of the protocol: the parts that we read, and the larger ones that we send.

use std::borrow::Cow;

use agent_client_protocol::v1::schema::{ContentBlock, Meta, SessionUpdate};
use harn_acp::client::{
    AttachmentResult, ExtensionUpdate, HarnMeta, LIVE_SESSION_CLIENT, LiveClientFields, vendor_meta,
};
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use super::{JoinedSession, QueuedMessage};

/// Any received message, split into its parts.
#[derive(Deserialize)]
pub(super) struct ReceivedMessage<'a> {
    pub(super) id: Option<Value>,
    #[serde(borrow)]
    pub(super) method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) params: Option<&'a RawValue>,
    pub(super) result: Option<Value>,
    pub(super) error: Option<RequestRefusal>,
}

/// The error of a rejected request.
#[derive(Deserialize)]
pub(super) struct RequestRefusal {
    #[serde(default)]
    pub(super) message: String,
    pub(super) data: Option<RefusalDetails>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct RefusalDetails {
    /// The reason as a word for programs.
    pub(super) reason: Option<String>,
    /// The name of the current controller.
    pub(super) controller: Option<String>,
}

/// The params of a `session/update` that we understand.
#[derive(Deserialize)]
pub(in crate::attach) struct UpdateParams {
    pub(in crate::attach) update: ReceivedUpdate,
}

/// An update: our `user_message`, one of ACP, or an extension.
#[derive(Deserialize)]
#[serde(tag = "sessionUpdate", rename_all = "snake_case")]
pub(in crate::attach) enum ReceivedUpdate {
    #[serde(rename_all = "camelCase")]
    UserMessage {
        message_id: Option<String>,
        #[serde(default)]
        content: Vec<ContentBlock>,
        #[serde(rename = "_meta")]
        meta: Option<Meta>,
    },
    #[serde(untagged)]
    Standard(Box<SessionUpdate>),
    #[serde(untagged)]
    Extension(Box<ExtensionUpdate<'static>>),
}

/// Returns the session id and the event id of some params.
pub(in crate::attach) fn session_and_event_id(
    params: &RawValue,
) -> (Option<String>, Option<String>) {
    #[derive(Deserialize)]
    struct ParamsHead {
        #[serde(rename = "sessionId")]
        session: Option<String>,
        #[serde(rename = "_meta")]
        meta: Option<HarnMeta<Option<StreamPosition>>>,
    }
    #[derive(Deserialize)]
    struct StreamPosition {
        #[serde(rename = "eventId")]
        event: Option<String>,
    }
    match serde_json::from_str(params.get()) {
        Ok(ParamsHead { session, meta }) => (session, meta.and_then(|meta| meta.harn?.event)),
        Err(_) => (None, None),
    }
}

/// Returns the params of `initialize`: all extensions, event ids and forms.
pub(in crate::attach) fn initialize_params(worker_calls: bool) -> Value {
    let ours = json!({"profile": "harn", "eventIds": true, "workerCalls": worker_calls});
    json!({
        "protocolVersion": 1,
        "clientInfo": {"name": "harn-serve-attach", "version": env!("CARGO_PKG_VERSION")},
        "clientCapabilities": {"elicitation": {"form": {}}, "_meta": vendor_meta(ours)},
    })
}

/// Parses a change of the session's clients from an update.
pub(in crate::attach) fn parse_client_change(
    params: &RawValue,
) -> Option<LiveClientFields<'static>> {
    // A fast check: most of the many updates concern something else.
    if !params.get().contains(LIVE_SESSION_CLIENT) {
        return None;
    }
    let params: UpdateParams = serde_json::from_str(params.get()).ok()?;
    match params.update {
        ReceivedUpdate::Extension(update) => match *update {
            ExtensionUpdate::LiveSessionClient { meta } => Some(meta.harn),
            _ => None,
        },
        _ => None,
    }
}

/// Translates the response to `session/attach`.
pub(super) fn joined_session(result: AttachmentResult<'_>) -> JoinedSession {
    let session = result.meta.map(|meta| meta.harn.session);
    let mode = session
        .as_ref()
        .and_then(|it| it.modes.get("currentModeId")?.as_str());
    JoinedSession {
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

/// The response to `session/pending_injections`.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct PendingInjectionsReply {
    injections: Vec<PendingInjectionRow>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct PendingInjectionRow {
    message_id: Option<String>,
    mode: String,
    content: Option<InjectionContent>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum InjectionContent {
    Text(String),
    Blocks(Vec<ContentBlock>),
}

/// Returns the pending messages; reminders have no message id and are left out.
pub(super) fn queued_messages(pending: PendingInjectionsReply) -> Vec<QueuedMessage> {
    let message = |row: PendingInjectionRow| {
        let text = |block| match block {
            ContentBlock::Text(text) => Some(text.text),
            _ => None,
        };
        let text = match row.content {
            Some(InjectionContent::Text(text)) => text,
            Some(InjectionContent::Blocks(blocks)) => {
                let texts: Vec<_> = blocks.into_iter().filter_map(text).collect();
                texts.join("\n")
            }
            None => String::new(),
        };
        Some(QueuedMessage {
            message: row.message_id?,
            steer: row.mode == "finish_step",
            text,
        })
    };
    pending.injections.into_iter().filter_map(message).collect()
}
