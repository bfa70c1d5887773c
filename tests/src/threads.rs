//! A client of threads in this process: lines over channels, nothing read before it is asked for.

use std::{collections::VecDeque, path::PathBuf, time::Duration};

use harn_lines::outgoing;
use harn_runtime::Hub;
use harn_threads::{Disconnected, Line, OutgoingReceiver, ThreadsConfig, serve_connection};
use serde_json::{Value, json};
use tokio::{sync::mpsc, task::JoinHandle};

/// Speaks raw JSON-RPC lines.
///
/// # Panics
///
/// Every method does when something other than what it expects comes, or nothing within a minute.
pub struct ThreadsClient {
    to: mpsc::Sender<Line>,
    from: OutgoingReceiver,
    lines: VecDeque<Value>,
    last_id: u64,
    serving: JoinHandle<Result<(), Disconnected>>,
}

/// How many lines may wait for the server.
const QUEUE: usize = 64;

/// Only so that a hang fails instead of hanging.
const PATIENCE: Duration = Duration::from_secs(60);

impl ThreadsClient {
    /// A client of this hub, whose threads work here.
    #[must_use]
    pub fn in_memory(hub: Hub, directory: PathBuf) -> Self {
        let (to, incoming) = mpsc::channel(QUEUE);
        let (queue, from) = outgoing();
        let config = ThreadsConfig {
            directory,
            version: "0.0.0".to_owned(),
        };
        Self {
            to,
            from,
            lines: VecDeque::new(),
            last_id: 0,
            serving: tokio::spawn(serve_connection(hub, config, incoming, queue)),
        }
    }

    /// Sends a request and returns its id.
    pub async fn send(&mut self, method: &str, params: Value) -> u64 {
        self.last_id += 1;
        let id = self.last_id;
        let line = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let sent = self.to.send(Line::Text(line.to_string()));
        match tokio::time::timeout(PATIENCE, sent).await {
            Ok(Ok(())) => id,
            Ok(Err(_)) => panic!("the server does not listen any more"),
            Err(_) => panic!("the server takes no more lines"),
        }
    }

    /// The next line.
    pub async fn next(&mut self) -> Value {
        loop {
            if let Some(line) = self.lines.pop_front() {
                assert_eq!(line["jsonrpc"], "2.0", "{line}");
                return line;
            }
            match tokio::time::timeout(PATIENCE, self.from.recv()).await {
                Ok(Some(piece)) => self.lines.extend(split(&piece)),
                Ok(None) => panic!("the server closed the connection"),
                Err(_) => panic!("nothing came"),
            }
        }
    }

    /// Leaves: no more input, the rest of the output goes unread. The server's side must end.
    pub async fn leave(self) {
        let Self {
            to,
            mut from,
            serving,
            ..
        } = self;
        drop(to);
        let rest = async {
            while from.recv().await.is_some() {}
            serving.await
        };
        match tokio::time::timeout(PATIENCE, rest).await {
            Ok(Ok(Ok(()))) => {}
            other => panic!("the server's side did not end well: {other:?}"),
        }
    }
}

fn split(piece: &[u8]) -> Vec<Value> {
    let Some(lines) = piece.strip_suffix(b"\n") else {
        panic!("the server wrote part of a line");
    };
    let parse = |line: &[u8]| match serde_json::from_slice(line) {
        Ok(value) => value,
        Err(error) => panic!("{error}: {}", String::from_utf8_lossy(line)),
    };
    lines.split(|&byte| byte == b'\n').map(parse).collect()
}
