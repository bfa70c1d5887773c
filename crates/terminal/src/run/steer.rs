//! A line that is typed while the agent waits for more to do, handed over as a message for it.

use agent_client_protocol::{Error, UntypedMessage, v1::schema::SessionId};
use serde::Serialize;

/// What is said when an agent first waits.
pub(super) fn waiting(keyboard: bool) -> &'static str {
    match keyboard {
        true => "the agent waits; type a line to say something to it, Ctrl-C ends it",
        false => "the agent waits; Ctrl-C ends it",
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Inject<'a> {
    session_id: &'a SessionId,
    mode: &'static str,
    content: &'a str,
}

/// The request that hands a line over, where it says something.
pub(super) fn inject(session: &SessionId, line: &str) -> Option<Result<UntypedMessage, Error>> {
    let content = line.trim();
    if content.is_empty() {
        return None;
    }
    let params = Inject {
        session_id: session,
        mode: "steer",
        content,
    };
    Some(UntypedMessage::new("session/inject", params))
}
