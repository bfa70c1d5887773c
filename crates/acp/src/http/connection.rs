//! One connection of the streamable transport: it has no socket, but an id that requests name. Passes on the
//! messages that the client posts, and puts each line for the client into the stream it belongs to.

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
    frame_id::SseFrameId,
    mailbox::NonEventLine,
    message::RpcEnvelope,
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
/// The most lines in the input queue. Few, because a line may be large.
const WAITING_LINES: usize = 4;

/// Requests that ask a person; they are sent again when the session is followed again.
const QUESTIONS: [&str; 2] = ["session/request_permission", "elicitation/create"];

/// The kind of a line to the client, as far as it decides the stream.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OutgoingLineKind {
    Answer,
    Question,
    Else,
}

pub(super) struct HttpConnection {
    id: String,
    principal: Principal,
    /// None after the connection ended.
    lines: Mutex<Option<mpsc::Sender<ConnectionInput>>>,
    own: Arc<MailboxStream>,
    sessions: Mutex<SessionStreams>,
    asked: Mutex<VecDeque<Box<str>>>,
    /// Unanswered requests that close a session.
    closing: Mutex<VecDeque<(Box<str>, SessionId)>>,
    allowance: Mutex<RateAllowance>,
    member: ClientSlot,
    readers: AtomicUsize,
    used: Notify,
    ended: CancellationToken,
}

impl HttpConnection {
    /// Opens a connection; returns it with a receiver of the answer to its first request.
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
        let (outgoing, queue) = transport::outgoing_with_limits(OutgoingLimits {
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
                    () = this.wait_until_idle(registry.config.idle) => this.end(),
                    () = this.wait_until_ended() => {}
                }
            };
            // `end` closes the input, so `served` returns; that closes the queue, so `route` returns.
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

    pub(super) fn belongs_to(&self, principal: &Principal) -> bool {
        self.principal == *principal
    }

    /// Ends the connection, as a client on stdio does by closing stdin.
    pub(super) fn end(&self) {
        lock(&self.lines).take();
        self.ended.cancel();
    }

    /// Resolves when the connection has ended.
    pub(super) async fn wait_until_ended(&self) {
        self.ended.cancelled().await;
    }

    /// Returns the pause between two writes.
    pub(super) fn write_pause(&self) -> Duration {
        self.member.write_pause()
    }

    /// Passes on a line from the client, or another input.
    pub(super) async fn send(&self, line: ConnectionInput) -> Result<(), HttpRefusal> {
        self.used.notify_waiters();
        let lines = lock(&self.lines).clone().ok_or(HttpRefusal::Ended)?;
        lines.send(line).await.map_err(|_| HttpRefusal::Ended)
    }

    /// Takes one message from the client's rate allowance; returns whether one was left.
    pub(super) fn may_send(&self) -> bool {
        lock(&self.allowance).take()
    }

    /// Whether the server sent a request with this id over this connection recently.
    pub(super) fn has_sent_request(&self, id: &str) -> bool {
        lock(&self.asked).iter().any(|asked| **asked == *id)
    }

    /// Whether this connection has a stream of the session.
    pub(super) fn has_session(&self, session: &SessionId) -> bool {
        lock(&self.sessions).get(session).is_some()
    }

    /// Remembers a request that closes a session; the session's stream is dropped some time after the answer.
    pub(super) fn remember_closing(&self, request: &str, session: &SessionId) {
        let mut closing = lock(&self.closing);
        closing.push_back((request.into(), session.clone()));
        if closing.len() > ASKED {
            closing.pop_front();
        }
    }

    /// Starts to read the stream of a session, or of the connection.
    pub(super) fn start_reader(
        self: &Arc<Self>,
        session: Option<&SessionId>,
        after: Option<SseFrameId>,
    ) -> Result<SseReadGuard, HttpRefusal> {
        let stream = match session {
            Some(session) => self
                .get_or_open_stream(session)
                .ok_or(HttpRefusal::TooManyStreams)?,
            None => self.own.clone(),
        };
        let reader = stream.start_reader(after)?;
        self.readers.fetch_add(1, Ordering::AcqRel);
        self.used.notify_waiters();
        Ok(SseReadGuard {
            reader,
            connection: self.clone(),
        })
    }

    fn get_or_open_stream(&self, session: &SessionId) -> Option<Arc<MailboxStream>> {
        lock(&self.sessions).get_or_open(session)
    }

    /// Puts each line for the client into its stream.
    async fn route(&self, mut queue: PieceReceiver, first: oneshot::Sender<Bytes>) {
        let mut first = Some(first);
        let route = async {
            while let Some(piece) = queue.recv().await {
                self.route_piece(piece, &mut first).await;
            }
        };
        tokio::select! {
            () = route => {}
            () = self.ended.cancelled() => {}
        }
    }

    async fn route_piece(&self, piece: OutgoingPiece, first: &mut Option<oneshot::Sender<Bytes>>) {
        let OutgoingPiece {
            bytes,
            session,
            stream: following,
        } = piece;
        // Only the follow of a session opens its stream: an answer may name a session that is not for this
        // client.
        let stream = session.and_then(|session| match following {
            Some(_) => self.get_or_open_stream(&session),
            None => lock(&self.sessions).get(&session),
        });
        if let Some(stream) = stream.as_ref().filter(|_| following.is_some()) {
            stream.set_closed(false);
        }
        if bytes.is_empty()
            && let Some(stream) = &stream
        {
            stream.mark_caught_up(following);
        }
        for line in split_lines(bytes) {
            let (sort, closed) = self.classify_line(&line);
            let said_anew = following.is_some() || sort == OutgoingLineKind::Question;
            if sort == OutgoingLineKind::Answer
                && let Some(first) = first.take()
            {
                // The client may have disconnected.
                let _ = first.send(line);
                continue;
            }
            match (&stream, event_id::read_from_line(&line)) {
                (Some(stream), Some(id)) => stream.push_event(following, id, line).await,
                // A client that never read the session's stream reads the stream of the connection.
                (Some(stream), None) if sort != OutgoingLineKind::Answer || stream.was_read() => {
                    stream
                        .push_other(following, NonEventLine { line, said_anew })
                        .await;
                }
                (Some(_) | None, _) => {
                    let said_anew = false;
                    self.own
                        .push_other(None, NonEventLine { line, said_anew })
                        .await;
                }
            }
            if let Some(session) = closed {
                lock(&self.sessions).close(session);
            }
        }
    }

    /// Remembers a request to the client. Returns the kind of a line, and the session whose closing it
    /// confirms.
    fn classify_line(&self, line: &[u8]) -> (OutgoingLineKind, Option<SessionId>) {
        // Most lines are updates, which begin like this.
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

    /// Returns when the connection was unused for as long as `long`.
    async fn wait_until_idle(&self, long: Duration) {
        loop {
            let used = self.used.notified();
            if self.readers.load(Ordering::Acquire) > 0 {
                used.await;
            } else if timeout(long, used).await.is_err() {
                tracing::debug!("closed an unused connection");
                return;
            }
        }
    }
}

/// A reader of one stream of a connection; the connection is not idle while it exists.
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
