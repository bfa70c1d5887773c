//! The in-process connection: lines from the client to the agent, and the agent's bytes as lines to the client.

use std::{borrow::Cow, collections::VecDeque, io};

use agent_client_protocol::{Client, ConnectTo, Lines};
use futures::{sink, stream};
use harn_acp::client::{AGENT_EVENT, AGENT_IDLE};
use harn_acp::transport::{ConnectionInput, PieceReceiver};
use serde::{Deserialize, de::IgnoredAny};
use serde_json::value::RawValue;
use tokio::sync::mpsc;

use super::conversation::ConversationEvent;
use crate::agent_messages::activity::AgentActivity;

/// Returns the client's transport. With `stream_lines`, the notifications of a session's stream are sent there
/// unparsed: the SDK would reject updates that it does not know.
pub(super) fn build_transport(
    lines: mpsc::Sender<ConnectionInput>,
    queue: PieceReceiver,
    stream_lines: Option<mpsc::Sender<ConversationEvent>>,
) -> impl ConnectTo<Client> + 'static {
    let outgoing = sink::unfold(lines, async |lines, line: String| {
        let sent = lines.send(ConnectionInput::Line(line)).await;
        let gone = |_| io::Error::from(io::ErrorKind::BrokenPipe);
        sent.map(|()| lines).map_err(gone)
    });
    let incoming = stream::unfold(
        (queue, VecDeque::<String>::new(), stream_lines),
        async |(mut queue, mut ready, stream_lines)| loop {
            while let Some(line) = ready.pop_front() {
                let aside = stream_lines.as_ref().zip(parse_stream_line(&line));
                let Some((stream_lines, heard)) = aside else {
                    return Some((Ok::<_, io::Error>(line), (queue, ready, stream_lines)));
                };
                // The receiver is closed while the program exits.
                let _ = stream_lines.send(heard).await;
            }
            // A piece is one or more whole lines.
            let piece = queue.recv().await?;
            let text = String::from_utf8_lossy(&piece.bytes);
            ready.extend(text.lines().map(str::to_owned));
        },
    );
    Lines::new(outgoing, incoming)
}

/// Parses a notification of a session's stream; none for requests, responses and other notifications.
fn parse_stream_line(line: &str) -> Option<ConversationEvent> {
    #[derive(Deserialize)]
    struct StreamNotification<'a> {
        id: Option<IgnoredAny>,
        #[serde(borrow)]
        method: Option<Cow<'a, str>>,
        #[serde(borrow)]
        params: Option<&'a RawValue>,
    }
    let line: StreamNotification<'_> = serde_json::from_str(line).ok()?;
    if line.id.is_some() {
        return None;
    }
    match line.method.as_deref()? {
        "session/update" | AGENT_EVENT => Some(ConversationEvent::Line(line.params?.to_owned())),
        AGENT_IDLE => Some(ConversationEvent::Activity(AgentActivity::Idle)),
        _ => None,
    }
}
