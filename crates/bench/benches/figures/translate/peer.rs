//! The comparisons for our translation: copying the finished line, writing the SDK's own type directly, and
//! building and writing as the SDK does when an agent sends a notification.

use agent_client_protocol::{JsonRpcMessage, RawJsonRpcMessage, v1::schema::SessionNotification};
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

/// One line as an SDK value.
pub(crate) struct Peer {
    line: Vec<u8>,
    notification: SessionNotification,
}

#[derive(Deserialize)]
struct Line {
    params: SessionNotification,
}

#[derive(Serialize)]
struct Notification<'a> {
    jsonrpc: &'static str,
    method: &'static str,
    params: &'a SessionNotification,
}

impl Peer {
    /// Returns `None` when the SDK has no type for this line: it is an extension.
    pub(crate) fn parse(line: &[u8]) -> Option<Self> {
        let Line { params } = serde_json::from_slice(line).ok()?;
        Some(Self {
            line: line.to_vec(),
            notification: params,
        })
    }

    /// The cost of memory alone.
    pub(crate) fn copy(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.line);
    }

    /// Writes an existing notification directly to bytes.
    pub(crate) fn write_typed(&self, out: &mut Vec<u8>) -> Result<()> {
        let notification = Notification {
            jsonrpc: "2.0",
            method: "session/update",
            params: &self.notification,
        };
        serde_json::to_writer(&mut *out, &notification)?;
        out.push(b'\n');
        Ok(())
    }

    /// The steps of `send_notification`, without its queues. A clone represents the building: it allocates as
    /// much as an agent would.
    pub(crate) fn write_like_sdk(&self, out: &mut Vec<u8>) -> Result<()> {
        let notification = self.notification.clone();
        let (method, params) = notification
            .to_untyped_message()
            .context("the SDK's own value")?
            .into_parts();
        let message = RawJsonRpcMessage::notification(method, params)?;
        out.extend_from_slice(serde_json::to_string(&message)?.as_bytes());
        out.push(b'\n');
        Ok(())
    }
}
