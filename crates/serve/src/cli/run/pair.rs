//! The in-process pair: lines of the client to the agent's side, and the agent's bytes back as lines.

use std::{collections::VecDeque, io};

use agent_client_protocol::{Client, ConnectTo, Lines};
use futures::{sink, stream};
use harn_acp::transport::{Incoming, OutgoingReceiver};
use tokio::sync::mpsc;

/// What the client speaks through.
pub(super) fn transport(
    lines: mpsc::Sender<Incoming>,
    queue: OutgoingReceiver,
) -> impl ConnectTo<Client> + 'static {
    let outgoing = sink::unfold(lines, async |lines, line: String| {
        let sent = lines.send(Incoming::Line(line)).await;
        let gone = |_| io::Error::from(io::ErrorKind::BrokenPipe);
        sent.map(|()| lines).map_err(gone)
    });
    let incoming = stream::unfold(
        (queue, VecDeque::<String>::new()),
        async |(mut queue, mut ready)| loop {
            if let Some(line) = ready.pop_front() {
                return Some((Ok::<_, io::Error>(line), (queue, ready)));
            }
            // A piece is one or more whole lines.
            let piece = queue.recv().await?;
            let text = String::from_utf8_lossy(&piece.bytes);
            ready.extend(text.lines().map(str::to_owned));
        },
    );
    Lines::new(outgoing, incoming)
}
