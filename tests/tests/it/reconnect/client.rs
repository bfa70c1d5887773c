//! A client whose connection breaks at a random byte, and which continues after the last line it has: over
//! another connection, or over another stream of the same one. It opens the session or attaches to it, and
//! takes control at random moments.

use std::{collections::VecDeque, path::PathBuf, sync::Arc, time::Duration};

use harn_acp::{
    AcpConfig, EventId, ProfileChoice,
    ext::event_id,
    serve_connection,
    transport::{
        ConnectionInput, FollowId, OutgoingLimits, OutgoingPiece, PieceReceiver, RefollowRequest,
        outgoing_with_limits,
    },
};
use harn_model::SessionId;
use harn_runtime::Hub;
use serde_json::{Value, json};
use tokio::{
    sync::{Mutex, mpsc},
    time::{sleep, timeout},
};

use crate::support_stress::Dice;

/// Random numbers, shared by all clients of a run.
pub(crate) type Chance = Arc<Mutex<Dice>>;

pub(crate) async fn random_below(chance: &Chance, end: usize) -> usize {
    chance.lock().await.below(end)
}

/// What a client received over all its connections.
#[derive(Default)]
pub(crate) struct Got {
    /// The lines with an event id, without questions.
    pub(crate) lines: Vec<(EventId, String)>,
    /// The last event id, of a question too.
    pub(crate) last: Option<EventId>,
    /// How often a question was sent at its position in the log, and how often again.
    pub(crate) asked: usize,
    pub(crate) asked_again: usize,
    pub(crate) connections: usize,
    pub(crate) streams: usize,
    pub(crate) takeovers: usize,
}

pub(crate) struct Client {
    hub: Hub,
    session: SessionId,
    cwd: PathBuf,
    profile: ProfileChoice,
    /// The client id for requests that need one.
    name: String,
    chance: Chance,
    pub(crate) got: Got,
}

struct Line {
    to: mpsc::Sender<ConnectionInput>,
    from: PieceReceiver,
    /// Lines that were received and not processed.
    come: VecDeque<String>,
    /// Output of an earlier stream is stale.
    stream: Option<FollowId>,
    /// How many bytes the connection still carries.
    left: usize,
    opened: bool,
}

/// Why a client stopped reading.
enum Over {
    Broke,
    /// The session is open, and no line before its opening is missing.
    Opened,
}

const OPENING: u64 = 2;

impl Client {
    pub(crate) fn new(
        hub: &Hub,
        session: &SessionId,
        cwd: PathBuf,
        profile: ProfileChoice,
        name: String,
        chance: &Chance,
    ) -> Self {
        Self {
            hub: hub.clone(),
            session: session.clone(),
            cwd,
            profile,
            name,
            chance: chance.clone(),
            got: Got::default(),
        }
    }

    /// Loses its connection this many times, and answers some of its questions.
    pub(crate) async fn reconnect_repeatedly(&mut self, times: usize) {
        for _ in 0..times {
            let budget = 200 + random_below(&self.chance, 30_000).await;
            let ways = if self.got.last.is_some() { 3 } else { 1 };
            let mut line = self.connect(budget, ways).await;
            self.read(&mut line, false).await;
            // A transport may have a stream for each session, of which one breaks.
            while line.opened && random_below(&self.chance, 3).await > 0 {
                self.restart_stream(&mut line).await;
                self.read(&mut line, false).await;
            }
            drop(line);
            let pause = random_below(&self.chance, 40).await;
            sleep(Duration::from_millis(pause as u64)).await;
        }
    }

    /// Receives the missing lines.
    pub(crate) async fn complete(&mut self) {
        let mut line = self.connect(usize::MAX, 1).await;
        self.read(&mut line, true).await;
    }

    async fn connect(&mut self, left: usize, ways: usize) -> Line {
        self.got.connections += 1;
        let (to, incoming) = mpsc::channel(16);
        let (outgoing, from) = outgoing_with_limits(OutgoingLimits {
            bytes: 4 * 1024,
            chunks: 8,
            ..OutgoingLimits::default()
        });
        // Some transports send the last event id when they connect, others with the request.
        let by_transport = random_below(&self.chance, 2).await == 0;
        let config = AcpConfig {
            profile: self.profile,
            event_ids: true,
            last_event_id: self.got.last.filter(|_| by_transport),
            ..AcpConfig::default()
        };
        tokio::spawn(serve_connection(
            self.hub.clone(),
            config,
            incoming,
            outgoing,
        ));
        let hello = json!({"protocolVersion": 1, "clientCapabilities": {}});
        let mut params =
            json!({"sessionId": self.session.as_str(), "cwd": self.cwd, "mcpServers": []});
        if let Some(last) = self.got.last.filter(|_| !by_transport) {
            params["lastEventId"] = json!(last);
        }
        let method = ["session/load", "session/resume", "session/attach"];
        let method = method[random_below(&self.chance, ways).await];
        if method == "session/attach" {
            params["clientId"] = json!(self.name);
            params["mode"] = json!(["observer", "controller"][random_below(&self.chance, 2).await]);
            // The server may still have the previous connection of this client.
            params["takeover"] = json!(true);
        }
        let line = Line {
            to,
            from,
            come: VecDeque::new(),
            stream: None,
            left,
            opened: false,
        };
        line.send(json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}))
            .await;
        line.send(json!({"jsonrpc": "2.0", "id": OPENING, "method": method, "params": params}))
            .await;
        line
    }

    /// Restarts the stream of the session after the last line it has, over the same connection.
    async fn restart_stream(&mut self, line: &mut Line) {
        self.got.streams += 1;
        let after = self.got.last.unwrap_or(EventId::BEGINNING);
        let (refollow, came_of_it) = RefollowRequest::new(self.session.clone(), after);
        line.stream = Some(refollow.follow_id());
        line.come.clear();
        line.left = 200 + random_below(&self.chance, 10_000).await;
        let to = line.to.clone();
        let refollowed = async {
            to.send(ConnectionInput::Refollow(refollow)).await.unwrap();
            came_of_it.await.unwrap().unwrap();
        };
        // A transport with streams continues to read: the server takes no more input from a client that does
        // not read.
        let read_on = async {
            while let Some(piece) = line.from.recv().await {
                line.read_piece(&piece);
            }
            std::future::pending().await
        };
        tokio::select! {
            () = refollowed => {}
            () = read_on => {}
        }
    }

    /// Reads until the connection breaks; with `until_opened`, until the opening is answered.
    async fn read(&mut self, line: &mut Line, until_opened: bool) -> Over {
        while let Some(text) = line.next().await {
            let message: Value = serde_json::from_str(&text).unwrap();
            if message["id"] == OPENING && message.get("method").is_none() {
                assert!(message.get("result").is_some(), "{text}");
                line.opened = true;
                if until_opened {
                    return Over::Opened;
                }
            }
            self.record_line(&message, text);
            if message["method"] == "session/request_permission" {
                self.answer(line, &message).await;
            }
            if line.opened && random_below(&self.chance, 60).await == 0 {
                self.take_control(line).await;
            }
            // A slow client falls behind and receives its lines from the journal.
            if random_below(&self.chance, 20).await == 0 {
                let pause = random_below(&self.chance, 60).await;
                sleep(Duration::from_millis(pause as u64)).await;
            }
        }
        Over::Broke
    }

    /// Takes control, and may detach in the same burst.
    async fn take_control(&mut self, line: &mut Line) {
        self.got.takeovers += 1;
        // A client without another claim on the session receives nothing after the detach and reconnects.
        let leaves = random_below(&self.chance, 4).await == 0;
        line.opened &= !leaves;
        let methods = ["session/takeover", "session/heartbeat", "session/detach"];
        for method in &methods[..if leaves { 3 } else { 2 }] {
            let params = json!({"sessionId": self.session.as_str(), "clientId": self.name});
            line.send(json!({"jsonrpc": "2.0", "id": 9, "method": method, "params": params}))
                .await;
        }
    }

    fn record_line(&mut self, message: &Value, text: String) {
        let question = message["method"] == "session/request_permission";
        let Some(place) = event_id::read_from_line(text.as_bytes()) else {
            self.got.asked_again += usize::from(question);
            return;
        };
        let last = self.got.last.replace(place);
        assert!(last < Some(place), "{place} after {last:?}: {text}");
        match question {
            true => self.got.asked += 1,
            false => self.got.lines.push((place, text)),
        }
    }

    async fn answer(&self, line: &mut Line, message: &Value) {
        // Some questions stay unanswered: another client may answer, or the question is sent again.
        if random_below(&self.chance, 3).await == 0 {
            return;
        }
        let option = ["allow_once", "reject_once"][random_below(&self.chance, 2).await];
        let outcome = json!({"outcome": {"outcome": "selected", "optionId": option}});
        line.send(json!({"jsonrpc": "2.0", "id": message["id"], "result": outcome}))
            .await;
    }
}

impl Line {
    async fn send(&self, message: Value) {
        // The other side may have hung up.
        let _ = self
            .to
            .send(ConnectionInput::Line(message.to_string()))
            .await;
    }

    /// Returns the next line, or `None` when the connection broke, even in the middle of a line.
    async fn next(&mut self) -> Option<String> {
        while self.come.is_empty() {
            // A client that receives nothing for long reconnects.
            let piece = timeout(Duration::from_secs(2), self.from.recv());
            let piece = piece.await.ok()??;
            let broke = self.read_piece(&piece);
            if broke && self.come.is_empty() {
                return None;
            }
        }
        self.come.pop_front()
    }

    /// Reads the whole lines of a piece, as far as the connection carries it. Returns whether the connection
    /// broke.
    fn read_piece(&mut self, piece: &OutgoingPiece) -> bool {
        if piece.stream.is_some() && piece.stream < self.stream {
            return false;
        }
        let come = &piece.bytes[..piece.bytes.len().min(self.left)];
        self.left -= come.len();
        let whole = come
            .iter()
            .rposition(|&byte| byte == b'\n')
            .map_or(0, |at| at + 1);
        let lines = str::from_utf8(&come[..whole]).unwrap().lines();
        self.come.extend(lines.map(str::to_owned));
        come.len() < piece.bytes.len()
    }
}
