//! The messages of the floor programs and the SDK agent, in one place so that both send the same.

use agent_client_protocol::v1::schema::{
    ContentBlock, ContentChunk, MessageId, PermissionOption, PermissionOptionKind,
    RequestPermissionRequest, SessionId, SessionNotification, SessionUpdate, TextContent,
    ToolCallUpdate, ToolCallUpdateFields, ToolKind,
};

/// The text of one update: forty characters.
pub const FORTY: &str = "the quick brown fox jumps over a lazydog";

const _: () = assert!(FORTY.len() == 40);

/// The id of the message that an update belongs to, as long as one of `harn-serve`.
const MESSAGE: &str = "msg_mubbs7i80";

/// Returns one `agent_message_chunk` of [`FORTY`], built as an agent on the SDK builds it.
pub fn text_update(session: &SessionId) -> SessionNotification {
    SessionNotification::new(
        session.clone(),
        SessionUpdate::AgentMessageChunk(
            ContentChunk::new(ContentBlock::Text(TextContent::new(FORTY)))
                .message_id(MessageId::new(MESSAGE)),
        ),
    )
}

/// Returns a request for permission to write a note, as an agent on the SDK sends it: the request of
/// `harn-serve` without its extensions.
pub fn permission_request(session: &SessionId, place: u64) -> RequestPermissionRequest {
    let fields = ToolCallUpdateFields::new()
        .title("Write notes.txt".to_owned())
        .kind(ToolKind::Edit)
        .raw_input(serde_json::json!({"path": "notes.txt"}));
    let option = |id: &'static str, name: &str, kind| PermissionOption::new(id, name, kind);
    RequestPermissionRequest::new(
        session.clone(),
        ToolCallUpdate::new(format!("call-{place}"), fields),
        vec![
            option(ALLOW, "Allow this once", PermissionOptionKind::AllowOnce),
            option(
                "reject_once",
                "Reject this once",
                PermissionOptionKind::RejectOnce,
            ),
        ],
    )
}

/// The option that allows a call once, in `harn-serve` and in the SDK agent.
pub const ALLOW: &str = "allow_once";
