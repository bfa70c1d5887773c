//! The shapes of messages: what of them is read, and what is sent that is more than a line.

use std::borrow::Cow;

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
    data: Value,
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
        let reason = self.data.get("reason")?.as_str()?;
        known.into_iter().find(|known| *known == reason)
    }

    /// Who is in the way.
    pub(super) fn controller(&self) -> Option<&str> {
        self.data.get("controller")?.as_str()
    }
}

/// The session of some params, and their place in its stream.
pub(in crate::attach) fn event_id(params: &RawValue) -> (Option<String>, Option<String>) {
    #[derive(Deserialize)]
    struct Head {
        #[serde(rename = "sessionId")]
        session: Option<String>,
        #[serde(rename = "_meta")]
        meta: Option<Meta>,
    }
    #[derive(Deserialize)]
    struct Meta {
        harn: Option<Harn>,
    }
    #[derive(Deserialize)]
    struct Harn {
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

/// What our vendor's part of something says.
pub(in crate::attach) fn harn(value: &Value) -> Option<&Value> {
    value.get("_meta")?.get("harn")
}

/// Params of the first request: we take every extension, know where we are, and fill in forms.
pub(in crate::attach) fn hello(worker_calls: bool) -> Value {
    let ours = json!({"profile": "harn", "eventIds": true, "workerCalls": worker_calls});
    json!({
        "protocolVersion": 1,
        "clientInfo": {"name": "harn-serve-attach", "version": env!("CARGO_PKG_VERSION")},
        "clientCapabilities": {"elicitation": {"form": {}}, "_meta": {"harn": ours}},
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

/// What an update says about who is on the session.
pub(super) fn change(params: &RawValue) -> Option<Change> {
    const NAME: &str = "live_session_client";
    // Most updates are about something else, and there are many.
    if !params.get().contains(NAME) {
        return None;
    }
    let params: Value = serde_json::from_str(params.get()).ok()?;
    let update = params.get("update")?;
    let harn = harn(update).filter(|_| update["sessionUpdate"] == NAME)?;
    let client = |of: &Value| Some(of.get("client_id")?.as_str()?.to_owned());
    let state = harn.get("state")?;
    match harn.get("action")?.as_str()? {
        "attached" | "takeover" => Some(Change::Came(client(state.get("client")?)?)),
        "detached" => {
            let left = harn.get("left")?;
            let who = client(left)?;
            if left["reason"] == "replaced" {
                return Some(Change::Replaced(who));
            }
            let before = state.get("previous_controller_id").and_then(Value::as_str);
            let drove = before == Some(who.as_str());
            Some(Change::Left(who, drove))
        }
        _ => None,
    }
}

/// What the answer to an attach says.
pub(super) fn joined(result: &Value) -> Joined {
    let session = harn(result).and_then(|harn| harn.get("session"));
    let word = |name: &str| Some(session?.get(name)?.as_str()?.to_owned());
    let mode = session.and_then(|session| session.get("modes")?.get("currentModeId")?.as_str());
    let working = session.and_then(|session| session.get("activePrompt")?.as_bool());
    let controller = result.get("active_controller_id").and_then(Value::as_str);
    Joined {
        session: String::new(),
        title: word("title"),
        cwd: word("cwd").map(Into::into),
        mode: mode.map(str::to_owned),
        controller: controller.map(str::to_owned),
        working: working.unwrap_or_default(),
        instead: None,
    }
}

/// The messages of a list of what waits.
pub(super) fn waiting(result: &Value) -> Vec<Waiting> {
    let rows = result.get("injections").and_then(Value::as_array);
    let message = |row: &Value| {
        let word = |name: &str| row.get(name)?.as_str();
        Some(Waiting {
            message: word("messageId")?.to_owned(),
            steer: word("mode") == Some("finish_step"),
            text: content(row.get("content")?),
        })
    };
    rows.into_iter().flatten().filter_map(message).collect()
}

/// The text of a message, which is a text or blocks.
fn content(content: &Value) -> String {
    let text = |block: &Value| Some(block.get("text")?.as_str()?.to_owned());
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts: Vec<_> = blocks.iter().filter_map(text).collect();
            texts.join("\n")
        }
        _ => String::new(),
    }
}
