//! The output: moves every message of the SDK into the writer's queue.

use agent_client_protocol::{RawJsonRpcMessage, RawJsonRpcResponse, TransportFrame};
use futures::{Stream, StreamExt};

use super::ConnectionOrder;
use crate::{
    error,
    transport::{ClientDisconnected, OutgoingPiece},
};

impl ConnectionOrder {
    /// Queues messages in order, except answers that overtake updates; then opens the gates behind each.
    pub(crate) async fn write(
        &self,
        mut from_sdk: impl Stream<Item = TransportFrame> + Unpin,
    ) -> Result<(), ClientDisconnected> {
        while let Some(frame) = from_sdk.next().await {
            if let TransportFrame::Single(message) = frame {
                self.queue(message).await?;
            }
        }
        Ok(())
    }

    async fn queue(&self, mut message: RawJsonRpcMessage) -> Result<(), ClientDisconnected> {
        if let RawJsonRpcMessage::Response(RawJsonRpcResponse::Error { error, .. }) = &mut message {
            error::add_details(error);
        }
        let question = self.gates.take_question(&message);
        // A message of JSON values always serializes.
        let mut line = serde_json::to_vec(&message).unwrap_or_default();
        line.push(b'\n');
        let piece = OutgoingPiece {
            bytes: line.into(),
            session: self.routes.take_session(&message),
            stream: question.as_ref().and_then(|question| question.stream),
        };
        let answers = message.response_id();
        // The client waits for each of these, so the writer must not pause.
        self.outgoing.hurry();
        let queued = async {
            match answers.is_some_and(|id| self.gates.is_ahead(id)) {
                true => self.outgoing.send_ahead(piece).await,
                false => self.outgoing.send(piece).await,
            }
        };
        self.backlog.queue_answer(queued).await?;
        if let Some(id) = answers {
            self.gates.open(id);
        }
        // Dropped here and not before: this opens the gate behind it.
        drop(question);
        Ok(())
    }
}
