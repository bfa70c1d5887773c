//! The input: passes lines from the transport to the SDK, and an error for each line that is not a message.

use agent_client_protocol::{Error, RawJsonRpcId, TransportFrame};
use futures::channel::mpsc::UnboundedSender;
use harn_lines::rpc_line::{RpcLine, RpcLineFault};
use tokio::sync::mpsc;

use super::{ConnectionOrder, unsolicited_answers::UnsolicitedAnswers};
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
        // The SDK builds every value of a line, and copies a line that is no message.
        match RpcLine::read(line) {
            Err(fault) => return Some(fault_frame(fault)),
            Ok(answer) if answer.is_answer() && !answer.is_message() => {
                unsolicited.log_first(&answer);
                return None;
            }
            Ok(other) if !other.is_message() => return Some(not_a_message_frame()),
            Ok(_) => {}
        }
        match TransportFrame::parse_json(line) {
            TransportFrame::Malformed { .. } => match RpcLine::read(line) {
                Ok(answer) if answer.is_answer() => {
                    unsolicited.log_first(&answer);
                    None
                }
                _ => Some(not_a_message_frame()),
            },
            TransportFrame::Single(message)
                if message.response_id() == Some(&RawJsonRpcId::Null) =>
            {
                if let Ok(answer) = RpcLine::read(line) {
                    unsolicited.log_first(&answer);
                }
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

/// Returns the error for a line that is not an object.
fn fault_frame(fault: RpcLineFault) -> TransportFrame {
    match fault {
        RpcLineFault::NotJson | RpcLineFault::TooDeep => error_frame(
            -32700,
            "the line is not JSON; send one JSON-RPC 2.0 message per line",
        ),
        RpcLineFault::TooManyValues => error_frame(-32600, fault.to_string()),
        RpcLineFault::Batch => error_frame(
            -32600,
            "batches are not supported; send one message per line",
        ),
        RpcLineFault::NotAnObject => not_a_message_frame(),
    }
}

fn not_a_message_frame() -> TransportFrame {
    error_frame(-32600, "the line is not a JSON-RPC 2.0 message")
}
