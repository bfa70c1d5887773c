//! Requests as they come, read into what is asked. Pure.

use serde_json::Value;

use crate::{
    asked::{Asked, ConversationName, Echo, Shell},
    error::Fault,
};

/// What a body asks for; else what is wrong with it, and the ids that were found.
pub(crate) fn read(body: &[u8]) -> Result<Asked, (Echo, Fault)> {
    let Ok(message) = serde_json::from_slice::<Value>(body) else {
        return Err((Echo::default(), Fault::NotJson));
    };
    let text = |path: &str| Some(message.pointer(path)?.as_str()?.to_owned());
    let echo = Echo {
        request_id: text("/request_id"),
        correlation_id: text("/correlation_id"),
    };
    let session = text("/request/context/session_id");
    let intent = text("/request/context/user_intent");
    Ok(Asked {
        digest: intent.clone().unwrap_or_default(),
        echo,
        shell: Shell::default(),
        line: session.map(|session| ConversationName {
            session,
            conversation: text("/request/context/conversation_id"),
        }),
        intent,
        attachments: Vec::new(),
        background: None,
        continuation: None,
        verdicts: Vec::new(),
        cancel: false,
    })
}
