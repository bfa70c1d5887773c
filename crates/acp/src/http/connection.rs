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
use harn_lines::pace::{ClientSlot, RateAllowance};
use harn_model::{Principal, SessionId};
use tokio::{
    sync::{Notify, mpsc, oneshot},
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use super::{
    mailbox::NonEventLine,
    message::RpcEnvelope,
    place::SseFrameId,
    refusal::HttpRefusal,
    registry::ConnectionRegistry,
    sessions::SessionStreams,
    split_lines,
    stream::{MailboxStream, SseReader},
};
use crate::{
    AcpConfig,
    ext::event_id,
    lock::lock,
    serve_connection,
    transport::{self, ConnectionInput, OutgoingLimits, OutgoingPiece, PieceReceiver},
};

/// How many of the latest requests to the client are remembered, so that it can answer them.
const ASKED: usize = 4096;
/// Lines that may wait to be understood. Few, because a line may be large.
const WAITING_LINES: usize = 4;

/// What a person is asked with, which is put again when the session is followed anew.
const QUESTIONS: [&str; 2] = ["session/request_permission", "elicitation/create"];

/// What a line to the client is, as far as it matters where it goes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OutgoingLineKind {
    Answer,
    Question,
    Else,
}

pub(super) struct HttpConnection {
    id: String,
    principal: Principal,
    /// Taken when the connection ends.
    lines: Mutex<Option<mpsc::Sender<ConnectionInput>>>,
    own: Arc<MailboxStream>,
    sessions: Mutex<SessionStreams>,
    asked: Mutex<VecDeque<Box<str>>>,
    /// The requests that close a session, until they are answered.
    closing: Mutex<VecDeque<(Box<str>, SessionId)>>,
    allowance: Mutex<RateAllowance>,
    member: ClientSlot,
    readers: AtomicUsize,
    used: Notify,
    ended: CancellationToken,
}

impl HttpConnection {
    /// A new connection, and where the answer to its first request comes.
    pub(super) fn open(
        registry: &Arc<ConnectionRegistry>,
        principal: &Principal,
    ) -> Result<(Arc<Self>, oneshot::Receiver<Bytes>), HttpRefusal> {
        let config = &registry.config;
        let (lines, incoming) = mpsc::channel(WAITING_LINES);
        let connection = Arc::new(Self {
            id: (config.new_id)().ok_or(HttpRefusal::Ended)?,
            principal: principal.clone(),
            lines: Mutex::new(Some(lines)),
            own: Arc::new(MailboxStream::new(None)),
            sessions: Mutex::new(SessionStreams::new(config.sessions)),
            asked: Mutex::default(),
            closing: Mutex::default(),
            allowance: Mutex::new(RateAllowance::new(config.messages_per_second)),
            member: registry.join(principal)?,
            readers: AtomicUsize::new(0),
            used: Notify::new(),
            ended: config.ending.child_token(),
        });
        registry.insert(&connection);
        let (outgoing, queue) = transport::outgoing_of(OutgoingLimits {
            bytes: 64 * 1024,
            chunks: 16,
            ..OutgoingLimits::default()
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
    pub(super) async fn send(&self, line: ConnectionInput) -> Result<(), HttpRefusal> {
        self.used.notify_waiters();
        let lines = lock(&self.lines).clone().ok_or(HttpRefusal::Ended)?;
        lines.send(line).await.map_err(|_| HttpRefusal::Ended)
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
        after: Option<SseFrameId>,
    ) -> Result<SseReadGuard, HttpRefusal> {
        let stream = match session {
            Some(session) => self.stream(session).ok_or(HttpRefusal::TooManyStreams)?,
            None => self.own.clone(),
        };
        let reader = stream.read(after)?;
        self.readers.fetch_add(1, Ordering::AcqRel);
        self.used.notify_waiters();
        Ok(SseReadGuard {
            reader,
            connection: self.clone(),
        })
    }

    fn stream(&self, session: &SessionId) -> Option<Arc<MailboxStream>> {
        lock(&self.sessions).get_or_open(session)
    }

    /// Puts what is said to the client where it belongs.
    async fn route(&self, mut queue: PieceReceiver, first: oneshot::Sender<Bytes>) {
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

    async fn sort(&self, piece: OutgoingPiece, first: &mut Option<oneshot::Sender<Bytes>>) {
        let OutgoingPiece {
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
            let said_anew = following.is_some() || sort == OutgoingLineKind::Question;
            if sort == OutgoingLineKind::Answer
                && let Some(first) = first.take()
            {
                // Whoever asked may have gone.
                let _ = first.send(line);
                continue;
            }
            match (&stream, event_id::of(&line)) {
                (Some(stream), Some(id)) => stream.event(following, id, line).await,
                // Who never read the stream of its session reads that of the connection.
                (Some(stream), None) if sort != OutgoingLineKind::Answer || stream.was_read() => {
                    stream
                        .other(following, NonEventLine { line, said_anew })
                        .await;
                }
                (Some(_) | None, _) => {
                    let said_anew = false;
                    self.own.other(None, NonEventLine { line, said_anew }).await;
                }
            }
            if let Some(session) = closed {
                lock(&self.sessions).close(session);
            }
        }
    }

    /// Remembers a request to the client. Tells what a line is, and the session that it says was closed.
    fn note(&self, line: &[u8]) -> (OutgoingLineKind, Option<SessionId>) {
        // How an update begins, which most lines are.
        const NOTIFICATION: &[u8] = br#"{"jsonrpc":"2.0","method""#;
        if line.starts_with(NOTIFICATION) {
            return (OutgoingLineKind::Else, None);
        }
        let Some(message) = str::from_utf8(line).ok().and_then(RpcEnvelope::read) else {
            return (OutgoingLineKind::Else, None);
        };
        if let (Some(method), Some(id)) = (message.method.as_deref(), message.id()) {
            let mut asked = lock(&self.asked);
            asked.push_back(id.into());
            if asked.len() > ASKED {
                asked.pop_front();
            }
            return match QUESTIONS.contains(&method) {
                true => (OutgoingLineKind::Question, None),
                false => (OutgoingLineKind::Else, None),
            };
        }
        if !message.is_answer() {
            return (OutgoingLineKind::Else, None);
        }
        let mut closing = lock(&self.closing);
        let closed = closing
            .iter()
            .position(|(request, _)| message.id() == Some(&**request))
            .and_then(|at| closing.remove(at));
        (OutgoingLineKind::Answer, closed.map(|(_, session)| session))
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
pub(super) struct SseReadGuard {
    pub(super) reader: SseReader,
    pub(super) connection: Arc<HttpConnection>,
}

impl Drop for SseReadGuard {
    fn drop(&mut self) {
        self.connection.readers.fetch_sub(1, Ordering::AcqRel);
        self.connection.used.notify_waiters();
    }
}
