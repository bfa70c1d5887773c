//! Which session a message of ours is about, for transports that have a stream for each.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use agent_client_protocol::{RawJsonRpcId, RawJsonRpcMessage, RawJsonRpcParams};
use harn_model::SessionId;
use serde_json::{Map, Value};

/// The sessions that requests of the client named and that are not answered yet.
#[derive(Default)]
pub(crate) struct Routes(Mutex<HashMap<RawJsonRpcId, SessionId>>);

impl Routes {
    /// A message of the client came.
    pub(crate) fn note(&self, message: &RawJsonRpcMessage) {
        if let RawJsonRpcMessage::Request(request) = message
            && let Some(session) = named(request.params.as_ref())
        {
            self.lock().insert(request.id.clone(), session);
        }
    }

    /// The session a message to the client is about.
    pub(crate) fn session(&self, message: &RawJsonRpcMessage) -> Option<SessionId> {
        match message {
            RawJsonRpcMessage::Response(_) => self.lock().remove(message.response_id()?),
            RawJsonRpcMessage::Request(request) => named(request.params.as_ref()),
            RawJsonRpcMessage::Notification(notification) => named(notification.params.as_ref()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RawJsonRpcId, SessionId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The named params of a message, where it has some.
pub(crate) fn params(params: Option<&RawJsonRpcParams>) -> Option<&Map<String, Value>> {
    match params? {
        RawJsonRpcParams::Object(params) => Some(params),
        RawJsonRpcParams::Array(_) => None,
    }
}

/// The session that the params of a message name.
pub(crate) fn named(of: Option<&RawJsonRpcParams>) -> Option<SessionId> {
    Some(SessionId::from(params(of)?.get("sessionId")?.as_str()?))
}
