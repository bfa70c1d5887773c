//! One connection of the streamable transport: no socket, but an id that requests name. What the client posts
//! goes in, what is said to it is put into the stream where it belongs.

use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use harn_model::{Principal, SessionId};
use tokio::{
    sync::{Notify, mpsc, oneshot},
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use super::{
    mailbox::Other,
    message::Message,
    pace::{Allowance, Member},
    place::Place,
    refusal::Refusal,
    registry::Registry,
    stream::{Reader, Stream},
};
use crate::{
    AcpConfig,
    ext::event_id,
    serve_connection,
    transport::{self, Incoming, Limits, OutgoingReceiver, Piece},
};

/// How many sessions a connection may have streams of.
const STREAMS: usize = 1024;
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

/// See the module.
pub(super) struct Connection {
    id: String,
    principal: Principal,
    /// Taken when the connection ends.
    lines: Mutex<Option<mpsc::Sender<Incoming>>>,
    own: Arc<Stream>,
    sessions: Mutex<HashMap<SessionId, Arc<Stream>>>,
    asked: Mutex<VecDeque<Box<str>>>,
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
            sessions: Mutex::default(),
            asked: Mutex::default(),
            allowance: Mutex::new(Allowance::new(config.messages_per_second)),
            member: registry.join()?,
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
                profile: config.profile,
                event_ids: true,
                ..AcpConfig::default()
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
        self.lines().take();
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
        let lines = self.lines().clone().ok_or(Refusal::Ended)?;
        lines.send(line).await.map_err(|_| Refusal::Ended)
    }

    /// Takes one message from what the client may send in a while.
    pub(super) fn may_send(&self) -> bool {
        let allowance = self.allowance.lock();
        allowance.unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Whether this was asked over this connection, not too long ago.
    pub(super) fn was_asked(&self, id: &str) -> bool {
        self.asked().iter().any(|asked| **asked == *id)
    }

    /// Whether the session has a stream here.
    pub(super) fn has_session(&self, session: &SessionId) -> bool {
        self.sessions().contains_key(session)
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
        let mut sessions = self.sessions();
        if let Some(stream) = sessions.get(session) {
            return Some(stream.clone());
        }
        if sessions.len() >= STREAMS {
            return None;
        }
        let stream = Arc::new(Stream::new(Some(session.clone())));
        sessions.insert(session.clone(), stream.clone());
        Some(stream)
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
            mut bytes,
            session,
            stream: following,
        } = piece;
        let stream = session.and_then(|session| self.stream(&session));
        if bytes.is_empty()
            && let Some(stream) = &stream
        {
            stream.caught_up(following);
        }
        while !bytes.is_empty() {
            let newline = bytes.iter().position(|&byte| byte == b'\n');
            let mut line = bytes.split_to(newline.map_or(bytes.len(), |at| at + 1));
            line.truncate(newline.unwrap_or(line.len()));
            let sort = self.note(&line);
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
        }
    }

    /// Remembers a request to the client.
    fn note(&self, line: &[u8]) -> Sort {
        // How an update begins, which most lines are.
        const NOTIFICATION: &[u8] = br#"{"jsonrpc":"2.0","method""#;
        if line.starts_with(NOTIFICATION) {
            return Sort::Else;
        }
        let Some(message) = str::from_utf8(line).ok().and_then(Message::read) else {
            return Sort::Else;
        };
        if let (Some(method), Some(id)) = (message.method.as_deref(), message.id()) {
            let mut asked = self.asked();
            asked.push_back(id.into());
            if asked.len() > ASKED {
                asked.pop_front();
            }
            return match QUESTIONS.contains(&method) {
                true => Sort::Question,
                false => Sort::Else,
            };
        }
        match message.is_answer() {
            true => Sort::Answer,
            false => Sort::Else,
        }
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

    fn lines(&self) -> MutexGuard<'_, Option<mpsc::Sender<Incoming>>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn asked(&self) -> MutexGuard<'_, VecDeque<Box<str>>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sessions(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<Stream>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
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
