//! The client's open requests: the session that an answer is about, for transports with a stream for each, and
//! whether any request is unanswered when the input ends.

use std::{collections::HashMap, sync::Mutex};

use agent_client_protocol::{RawJsonRpcId, RawJsonRpcMessage, RawJsonRpcParams};
use harn_model::SessionId;
use serde_json::{Map, Value};
use tokio::sync::watch;

use crate::lock::lock;

#[derive(Default)]
pub(super) struct OpenRequests {
    open: Mutex<HashMap<RawJsonRpcId, OpenRequest>>,
    /// The number of open requests that are not prompts.
    unanswered: watch::Sender<usize>,
}

struct OpenRequest {
    /// The session that the request named.
    session: Option<SessionId>,
    /// Whether its answer waits for the end of a turn.
    is_prompt: bool,
}

impl OpenRequests {
    /// Records a request of the client.
    pub(super) fn record(&self, message: &RawJsonRpcMessage) {
        if let RawJsonRpcMessage::Request(request) = message {
            let opened = OpenRequest {
                session: named_session(request.params.as_ref()),
                is_prompt: &*request.method == "session/prompt",
            };
            let mut open = lock(&self.open);
            open.insert(request.id.clone(), opened);
            self.update_count(&open);
        }
    }

    /// Returns the session that a message to the client is about. An answer closes its request.
    pub(super) fn take_session(&self, message: &RawJsonRpcMessage) -> Option<SessionId> {
        match message {
            RawJsonRpcMessage::Response(_) => {
                let mut open = lock(&self.open);
                let answered = open.remove(message.response_id()?)?;
                self.update_count(&open);
                answered.session
            }
            RawJsonRpcMessage::Request(request) => named_session(request.params.as_ref()),
            RawJsonRpcMessage::Notification(notification) => {
                named_session(notification.params.as_ref())
            }
        }
    }

    /// Resolves when every request except prompts has its answer.
    pub(super) async fn wait_until_answered(&self) {
        // The sender is a field of `self`, so this cannot fail.
        let _ = self
            .unanswered
            .subscribe()
            .wait_for(|open| *open == 0)
            .await;
    }

    fn update_count(&self, open: &HashMap<RawJsonRpcId, OpenRequest>) {
        let unanswered = open.values().filter(|request| !request.is_prompt).count();
        self.unanswered.send_replace(unanswered);
    }
}

/// Returns the named params of a message, if it has any.
pub(super) fn named_params(params: Option<&RawJsonRpcParams>) -> Option<&Map<String, Value>> {
    match params? {
        RawJsonRpcParams::Object(params) => Some(params),
        RawJsonRpcParams::Array(_) => None,
    }
}

/// Returns the session that the params of a message name.
pub(super) fn named_session(of: Option<&RawJsonRpcParams>) -> Option<SessionId> {
    Some(SessionId::from(
        named_params(of)?.get("sessionId")?.as_str()?,
    ))
}
