//! The input: passes lines from the transport to the SDK, and an error for each line that is not a message.

use agent_client_protocol::{Error, RawJsonRpcId, TransportFrame};
use futures::channel::mpsc::UnboundedSender;
use serde_json::Value;
use tokio::sync::mpsc;

use super::{
    ConnectionOrder,
    unsolicited_answers::{UnsolicitedAnswers, is_answer},
};
use crate::transport::{ConnectionInput, RefollowRequest};

impl ConnectionOrder {
    /// Reads until the input or the SDK ends; returns whether it was the input. The SDK answers an invalid line
    /// with our error text, in its position: nothing of the line is echoed.
    pub(crate) async fn read(
        &self,
        mut incoming: mpsc::Receiver<ConnectionInput>,
        to_sdk: &UnboundedSender<TransportFrame>,
        refollow: impl Fn(RefollowRequest),
    ) -> bool {
        let mut unsolicited = UnsolicitedAnswers::default();
        while let Some(line) = incoming.recv().await {
            let frame = match line {
                ConnectionInput::Line(line) => {
                    self.backlog.wait_and_count(line.len()).await;
                    self.parse_frame(&line, &mut unsolicited)
                }
                ConnectionInput::TooLong { limit } => {
                    self.backlog.wait_and_count(0).await;
                    let message = format!("the line is longer than the limit of {limit} bytes");
                    Some(error_frame(-32600, message))
                }
                ConnectionInput::NotUtf8 => {
                    self.backlog.wait_and_count(0).await;
                    Some(error_frame(-32700, "the line is not UTF-8"))
                }
                ConnectionInput::Refollow(wanted) => {
                    refollow(wanted);
                    None
                }
            };
            if frame.is_some_and(|frame| to_sdk.unbounded_send(frame).is_err()) {
                return false;
            }
        }
        true
    }

    fn parse_frame(
        &self,
        line: &str,
        unsolicited: &mut UnsolicitedAnswers,
    ) -> Option<TransportFrame> {
        match TransportFrame::parse_json(line) {
            TransportFrame::Malformed { raw, .. } if is_answer(&raw) => {
                unsolicited.log_first(&raw);
                None
            }
            TransportFrame::Malformed { raw, .. } => Some(malformed_frame(&raw)),
            TransportFrame::Single(message)
                if message.response_id() == Some(&RawJsonRpcId::Null) =>
            {
                unsolicited.log_first(line);
                None
            }
            frame => {
                if let TransportFrame::Single(message) = &frame {
                    self.routes.record(message);
                }
                Some(frame)
            }
        }
    }
}

fn error_frame(code: i32, message: impl Into<String>) -> TransportFrame {
    TransportFrame::Malformed {
        raw: String::new(),
        error: Error::new(code, message),
    }
}

/// Returns the error for a line that is not a message.
fn malformed_frame(raw: &str) -> TransportFrame {
    match serde_json::from_str(raw) {
        Err(_) => error_frame(
            -32700,
            "the line is not JSON; send one JSON-RPC 2.0 message per line",
        ),
        Ok(Value::Array(_)) => error_frame(
            -32600,
            "batches are not supported; send one message per line",
        ),
        Ok(_) => error_frame(-32600, "the line is not a JSON-RPC 2.0 message"),
    }
}
