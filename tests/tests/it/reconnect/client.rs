//! A client whose connection breaks at a byte it does not choose, and which goes on from behind the last line
//! it has: over another connection, or over another stream of the same one. It opens the session or attaches to
//! it, and takes control whenever it likes.

use std::{collections::VecDeque, path::PathBuf, sync::Arc, time::Duration};

use harn_acp::{
    AcpConfig, EventId, ProfileChoice,
    ext::event_id,
    serve_connection,
    transport::{
        ConnectionInput, FollowId, OutgoingLimits, OutgoingPiece, PieceReceiver, RefollowRequest,
        outgoing_of,
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

/// Chance, the same for all clients of a run.
pub(crate) type Chance = Arc<Mutex<Dice>>;

pub(crate) async fn below(chance: &Chance, end: usize) -> usize {
    chance.lock().await.below(end)
}

/// What a client got, over all its connections.
#[derive(Default)]
pub(crate) struct Got {
    /// The lines that have a place, questions left out.
    pub(crate) lines: Vec<(EventId, String)>,
    /// The last place, of a question too.
    pub(crate) last: Option<EventId>,
    /// How often a question was put in its place, and how often again.
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
    /// What it calls itself where it does.
    name: String,
    chance: Chance,
    pub(crate) got: Got,
}

/// One connection.
struct Line {
    to: mpsc::Sender<ConnectionInput>,
    from: PieceReceiver,
    /// What has come and was not looked at.
    come: VecDeque<String>,
    /// What comes of an earlier following is stale.
    stream: Option<FollowId>,
    /// How many bytes may still come.
    left: usize,
    opened: bool,
}

/// Why a client stopped reading.
enum Over {
    /// The connection broke.
    Broke,
    /// It is open, and nothing is missing up to its opening.
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

    /// Loses its connection some times, and answers what it is asked if it can.
    pub(crate) async fn come_and_go(&mut self, times: usize) {
        for _ in 0..times {
            let budget = 200 + below(&self.chance, 30_000).await;
            let ways = if self.got.last.is_some() { 3 } else { 1 };
            let mut line = self.connect(budget, ways).await;
            self.read(&mut line, false).await;
            // Its transport may have a stream for each session, of which one breaks.
            while line.opened && below(&self.chance, 3).await > 0 {
                self.stream_anew(&mut line).await;
                self.read(&mut line, false).await;
            }
            drop(line);
            let pause = below(&self.chance, 40).await;
            sleep(Duration::from_millis(pause as u64)).await;
        }
    }

    /// Gets what is missing.
    pub(crate) async fn complete(&mut self) {
        let mut line = self.connect(usize::MAX, 1).await;
        self.read(&mut line, true).await;
    }

    async fn connect(&mut self, left: usize, ways: usize) -> Line {
        self.got.connections += 1;
        let (to, incoming) = mpsc::channel(16);
        let (outgoing, from) = outgoing_of(OutgoingLimits {
            bytes: 4 * 1024,
            chunks: 8,
            ..OutgoingLimits::default()
        });
        // Some transports say it when they connect, others with the request.
        let by_transport = below(&self.chance, 2).await == 0;
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
        let method = method[below(&self.chance, ways).await];
        if method == "session/attach" {
            params["clientId"] = json!(self.name);
            params["mode"] = json!(["observer", "controller"][below(&self.chance, 2).await]);
            // Its connection before this one may not have been missed yet.
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

    /// Has the session followed anew from behind the last line it has, over the same connection.
    async fn stream_anew(&mut self, line: &mut Line) {
        self.got.streams += 1;
        let after = self.got.last.unwrap_or(EventId::BEGINNING);
        let (refollow, came_of_it) = RefollowRequest::new(self.session.clone(), after);
        line.stream = Some(refollow.stream());
        line.come.clear();
        line.left = 200 + below(&self.chance, 10_000).await;
        let to = line.to.clone();
        let refollowed = async {
            to.send(ConnectionInput::Refollow(refollow)).await.unwrap();
            came_of_it.await.unwrap().unwrap();
        };
        // A transport with streams reads on meanwhile: the server takes no more input from a client that does not read.
        let read_on = async {
            while let Some(piece) = line.from.recv().await {
                line.take_in(&piece);
            }
            std::future::pending().await
        };
        tokio::select! {
            () = refollowed => {}
            () = read_on => {}
        }
    }

    /// Reads until the connection breaks; or until the opening is answered, where that is enough.
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
            self.take(&message, text);
            if message["method"] == "session/request_permission" {
                self.answer(line, &message).await;
            }
            if line.opened && below(&self.chance, 60).await == 0 {
                self.act(line).await;
            }
            // A slow one falls behind, and is told from the journal.
            if below(&self.chance, 20).await == 0 {
                let pause = below(&self.chance, 60).await;
                sleep(Duration::from_millis(pause as u64)).await;
            }
        }
        Over::Broke
    }

    /// Takes control, and may leave, all at once.
    async fn act(&mut self, line: &mut Line) {
        self.got.takeovers += 1;
        // Where that was all that held the session, nothing more comes, and it looks for a better connection.
        let leaves = below(&self.chance, 4).await == 0;
        line.opened &= !leaves;
        let methods = ["session/takeover", "session/heartbeat", "session/detach"];
        for method in &methods[..if leaves { 3 } else { 2 }] {
            let params = json!({"sessionId": self.session.as_str(), "clientId": self.name});
            line.send(json!({"jsonrpc": "2.0", "id": 9, "method": method, "params": params}))
                .await;
        }
    }

    fn take(&mut self, message: &Value, text: String) {
        let question = message["method"] == "session/request_permission";
        let Some(place) = event_id::of(text.as_bytes()) else {
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
        // Some never do: somebody else may, or the question is put again.
        if below(&self.chance, 3).await == 0 {
            return;
        }
        let option = ["allow_once", "reject_once"][below(&self.chance, 2).await];
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

    /// The next line; none when the connection broke, wherever in a line that was.
    async fn next(&mut self) -> Option<String> {
        while self.come.is_empty() {
            // One that is told nothing for long looks for a better connection.
            let piece = timeout(Duration::from_secs(2), self.from.recv());
            let piece = piece.await.ok()??;
            let broke = self.take_in(&piece);
            if broke && self.come.is_empty() {
                return None;
            }
        }
        self.come.pop_front()
    }

    /// Takes the whole lines of a piece, as far as the connection carries it. Returns whether the connection broke.
    fn take_in(&mut self, piece: &OutgoingPiece) -> bool {
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
