//! One connection of the streamable transport: no socket, but an id that requests name. What the client posts
//! goes in, what is said to it is put into the stream where it belongs.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use harn_lines::pace::{Allowance, Member};
use harn_model::{Principal, SessionId};
use tokio::{
    sync::{Notify, mpsc, oneshot},
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use super::{
    mailbox::Other,
    message::Message,
    place::Place,
    refusal::Refusal,
    registry::Registry,
    sessions::Sessions,
    split_lines,
    stream::{Reader, Stream},
};
use crate::{
    AcpConfig,
    ext::event_id,
    lock::lock,
    serve_connection,
    transport::{self, Incoming, Limits, OutgoingReceiver, Piece},
};

/// How many of the latest requests to the client are remembered, so that it can answer them.
const ASKED: usize = 4096;
/// Lines that may wait to be understood. Few, because a line may be large.
const WAITING_LINES: usize = 4;

/// What a person is asked with, which is put again when the session is followed anew.
const QUESTIONS: [&str; 2] = ["session/request_permission", "elicitation/create"];

/// What a line to the client is, as far as it matters where it goes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sort {
    Answer,
    Question,
    Else,
}

pub(super) struct Connection {
    id: String,
    principal: Principal,
    /// Taken when the connection ends.
    lines: Mutex<Option<mpsc::Sender<Incoming>>>,
    own: Arc<Stream>,
    sessions: Mutex<Sessions>,
    asked: Mutex<VecDeque<Box<str>>>,
    /// The requests that close a session, until they are answered.
    closing: Mutex<VecDeque<(Box<str>, SessionId)>>,
    allowance: Mutex<Allowance>,
    member: Member,
    readers: AtomicUsize,
    used: Notify,
    ended: CancellationToken,
}

impl Connection {
    /// A new connection, and where the answer to its first request comes.
    pub(super) fn open(
        registry: &Arc<Registry>,
        principal: &Principal,
    ) -> Result<(Arc<Self>, oneshot::Receiver<Bytes>), Refusal> {
        let config = &registry.config;
        let (lines, incoming) = mpsc::channel(WAITING_LINES);
        let connection = Arc::new(Self {
            id: (config.new_id)().ok_or(Refusal::Ended)?,
            principal: principal.clone(),
            lines: Mutex::new(Some(lines)),
            own: Arc::new(Stream::new(None)),
            sessions: Mutex::new(Sessions::new(config.sessions)),
            asked: Mutex::default(),
            closing: Mutex::default(),
            allowance: Mutex::new(Allowance::new(config.messages_per_second)),
            member: registry.join(principal)?,
            readers: AtomicUsize::new(0),
            used: Notify::new(),
            ended: config.ending.child_token(),
        });
        registry.insert(&connection);
        let (outgoing, queue) = transport::outgoing_of(Limits {
            bytes: 64 * 1024,
            chunks: 16,
            ..Limits::default()
        });
        let served = serve_connection(
            registry.hub(principal),
            AcpConfig {
                event_ids: true,
                ..config.acp.clone()
            },
            incoming,
            outgoing,
        );
        let (first, answer) = oneshot::channel();
        let (registry, this) = (registry.clone(), connection.clone());
        tokio::spawn(async move {
            let route = async {
                this.route(queue, first).await;
                this.end();
            };
            let idle = async {
                tokio::select! {
                    () = this.idle(registry.config.idle) => this.end(),
                    () = this.ended() => {}
                }
            };
            // Its end ends its input, and so what is served; what is served being done, nothing is routed.
            let (served, (), ()) = tokio::join!(Box::pin(served), route, idle);
            if let Err(error) = served {
                tracing::debug!(%error, "a connection ended early");
            }
            registry.remove(&this.id);
        });
        Ok((connection, answer))
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    pub(super) fn principal(&self) -> &Principal {
        &self.principal
    }

    pub(super) fn is_of(&self, principal: &Principal) -> bool {
        self.principal == *principal
    }

    /// Ends it, as the client does by closing stdin.
    pub(super) fn end(&self) {
        lock(&self.lines).take();
        self.ended.cancel();
    }

    /// Resolves when it has ended.
    pub(super) async fn ended(&self) {
        self.ended.cancelled().await;
    }

    /// How long to rest between two writes.
    pub(super) fn rest(&self) -> Duration {
        self.member.rest()
    }

    /// A line from the client, or what comes in its place.
    pub(super) async fn send(&self, line: Incoming) -> Result<(), Refusal> {
        self.used.notify_waiters();
        let lines = lock(&self.lines).clone().ok_or(Refusal::Ended)?;
        lines.send(line).await.map_err(|_| Refusal::Ended)
    }

    /// Takes one message from what the client may send in a while.
    pub(super) fn may_send(&self) -> bool {
        lock(&self.allowance).take()
    }

    /// Whether this was asked over this connection, not too long ago.
    pub(super) fn was_asked(&self, id: &str) -> bool {
        lock(&self.asked).iter().any(|asked| **asked == *id)
    }

    /// Whether the session has a stream here.
    pub(super) fn has_session(&self, session: &SessionId) -> bool {
        lock(&self.sessions).get(session).is_some()
    }

    /// This request closes a session; its stream goes some time after the answer.
    pub(super) fn closes(&self, request: &str, session: &SessionId) {
        let mut closing = lock(&self.closing);
        closing.push_back((request.into(), session.clone()));
        if closing.len() > ASKED {
            closing.pop_front();
        }
    }

    /// Begins to read the stream of a session, or of the connection.
    pub(super) fn read(
        self: &Arc<Self>,
        session: Option<&SessionId>,
        after: Option<Place>,
    ) -> Result<Reading, Refusal> {
        let stream = match session {
            Some(session) => self.stream(session).ok_or(Refusal::TooManyStreams)?,
            None => self.own.clone(),
        };
        let reader = stream.read(after)?;
        self.readers.fetch_add(1, Ordering::AcqRel);
        self.used.notify_waiters();
        Ok(Reading {
            reader,
            connection: self.clone(),
        })
    }

    fn stream(&self, session: &SessionId) -> Option<Arc<Stream>> {
        lock(&self.sessions).get_or_open(session)
    }

    /// Puts what is said to the client where it belongs.
    async fn route(&self, mut queue: OutgoingReceiver, first: oneshot::Sender<Bytes>) {
        let mut first = Some(first);
        let route = async {
            while let Some(piece) = queue.recv().await {
                self.sort(piece, &mut first).await;
            }
        };
        tokio::select! {
            () = route => {}
            () = self.ended.cancelled() => {}
        }
    }

    async fn sort(&self, piece: Piece, first: &mut Option<oneshot::Sender<Bytes>>) {
        let Piece {
            bytes,
            session,
            stream: following,
        } = piece;
        // Only what follows a session opens its stream: an answer may name one that is not for this client.
        let stream = session.and_then(|session| match following {
            Some(_) => self.stream(&session),
            None => lock(&self.sessions).get(&session),
        });
        if let Some(stream) = stream.as_ref().filter(|_| following.is_some()) {
            stream.set_closed(false);
        }
        if bytes.is_empty()
            && let Some(stream) = &stream
        {
            stream.caught_up(following);
        }
        for line in split_lines(bytes) {
            let (sort, closed) = self.note(&line);
            let said_anew = following.is_some() || sort == Sort::Question;
            if sort == Sort::Answer
                && let Some(first) = first.take()
            {
                // Whoever asked may have gone.
                let _ = first.send(line);
                continue;
            }
            match (&stream, event_id::of(&line)) {
                (Some(stream), Some(id)) => stream.event(following, id, line).await,
                // Who never read the stream of its session reads that of the connection.
                (Some(stream), None) if sort != Sort::Answer || stream.was_read() => {
                    stream.other(following, Other { line, said_anew }).await;
                }
                (Some(_) | None, _) => {
                    let said_anew = false;
                    self.own.other(None, Other { line, said_anew }).await;
                }
            }
            if let Some(session) = closed {
                lock(&self.sessions).close(session);
            }
        }
    }

    /// Remembers a request to the client. Tells what a line is, and the session that it says was closed.
    fn note(&self, line: &[u8]) -> (Sort, Option<SessionId>) {
        // How an update begins, which most lines are.
        const NOTIFICATION: &[u8] = br#"{"jsonrpc":"2.0","method""#;
        if line.starts_with(NOTIFICATION) {
            return (Sort::Else, None);
        }
        let Some(message) = str::from_utf8(line).ok().and_then(Message::read) else {
            return (Sort::Else, None);
        };
        if let (Some(method), Some(id)) = (message.method.as_deref(), message.id()) {
            let mut asked = lock(&self.asked);
            asked.push_back(id.into());
            if asked.len() > ASKED {
                asked.pop_front();
            }
            return match QUESTIONS.contains(&method) {
                true => (Sort::Question, None),
                false => (Sort::Else, None),
            };
        }
        if !message.is_answer() {
            return (Sort::Else, None);
        }
        let mut closing = lock(&self.closing);
        let closed = closing
            .iter()
            .position(|(request, _)| message.id() == Some(&**request))
            .and_then(|at| closing.remove(at));
        (Sort::Answer, closed.map(|(_, session)| session))
    }

    /// Returns when nobody has used it for as long as that.
    async fn idle(&self, long: Duration) {
        loop {
            let used = self.used.notified();
            if self.readers.load(Ordering::Acquire) > 0 {
                used.await;
            } else if timeout(long, used).await.is_err() {
                tracing::debug!("a connection that nobody used any more was ended");
                return;
            }
        }
    }
}

/// Somebody reads a stream of a connection, which keeps it from being idle.
pub(super) struct Reading {
    pub(super) reader: Reader,
    pub(super) connection: Arc<Connection>,
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.connection.readers.fetch_sub(1, Ordering::AcqRel);
        self.connection.used.notify_waiters();
    }
}
