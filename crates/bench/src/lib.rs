//! The update that the floor and the SDK agent send, in one place so that both send the same.

use agent_client_protocol::v1::schema::{
    ContentBlock, ContentChunk, MessageId, SessionId, SessionNotification, SessionUpdate,
    TextContent,
};

/// What one update says: forty characters.
pub const FORTY: &str = "the quick brown fox jumps over a lazydog";

const _: () = assert!(FORTY.len() == 40);

/// The message it belongs to, as long as one of ours.
const MESSAGE: &str = "msg_mubbs7i80";

/// One `agent_message_chunk` of [`FORTY`], built as an agent on the SDK builds it.
#[must_use]
pub fn update(session: &SessionId) -> SessionNotification {
    SessionNotification::new(
        session.clone(),
        SessionUpdate::AgentMessageChunk(
            ContentChunk::new(ContentBlock::Text(TextContent::new(FORTY)))
                .message_id(MessageId::new(MESSAGE)),
        ),
    )
}
