//! The conversation with one server: who asked what, and what a server asks of us.
//!
//! rmcp has a loop for this that starts a task for each request of a server and logs each message whole. This
//! one holds still while a server does not read our answers, and says nothing of what it carries.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
};

use futures::{StreamExt as _, future::BoxFuture, stream::FuturesUnordered};
use rmcp::model::{
    CancelledNotification, CancelledNotificationParam, ClientJsonRpcMessage, ClientNotification,
    ClientRequest, ErrorData, JsonRpcMessage, RequestId, ServerNotification, ServerResult,
};
use tokio::sync::{Notify, mpsc, oneshot};

use super::{
    greeting::McpSessionRoot,
    wire::{McpSendError, McpWire},
};

/// How many requests wait to be looked at.
const QUEUE: usize = 64;
/// How many requests are on their way out.
const MOST_SENDING: usize = 256;
/// How many of our answers a server may leave unread before it is not listened to.
const MOST_REPLIES: usize = 16;

/// Asks a server. Clones ask the same one.
#[derive(Clone)]
pub(super) struct McpLink {
    outgoing: mpsc::Sender<LinkMessage>,
    next: Arc<AtomicI64>,
}

/// A request was not answered with a result.
#[derive(Debug)]
pub(super) enum McpRequestError {
    Refused(ErrorData),
    /// Not at all: it was not sent.
    NotSent(String),
    /// Not at all: the server went away.
    Gone,
}

type McpAnswer = Result<ServerResult, McpRequestError>;

enum LinkMessage {
    Request {
        id: i64,
        request: Box<ClientRequest>,
        answer: oneshot::Sender<McpAnswer>,
    },
    /// Nobody waits for this one any more.
    Abandoned(i64),
}

impl McpLink {
    /// A link, and what carries its messages until the server goes away, with the reason. Dropped, every request is
    /// [`McpRequestError::Gone`]. `changed` is told when the server has other tools; ids begin after `last`.
    pub(super) fn open(
        wire: McpWire,
        home: McpSessionRoot,
        changed: Arc<Notify>,
        last: i64,
    ) -> (Self, BoxFuture<'static, String>) {
        let (outgoing, taken) = mpsc::channel(QUEUE);
        let next = Arc::new(AtomicI64::new(last + 1));
        let link = Self { outgoing, next };
        (link, Box::pin(carry(wire, taken, home, changed)))
    }

    /// Asks, and waits for the answer. Dropped before, the server is told that nobody waits.
    pub(super) async fn ask(&self, request: ClientRequest) -> McpAnswer {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (answer, answered) = oneshot::channel();
        let request = LinkMessage::Request {
            id,
            request: Box::new(request),
            answer,
        };
        let gone = |_| McpRequestError::Gone;
        self.outgoing.send(request).await.map_err(|_| gone(()))?;
        let mut asked = RequestGuard {
            link: self,
            id,
            open: true,
        };
        let answer = answered.await;
        asked.open = false;
        answer.map_err(|_| gone(()))?
    }
}

/// A request that may be abandoned.
struct RequestGuard<'a> {
    link: &'a McpLink,
    id: i64,
    open: bool,
}

impl Drop for RequestGuard<'_> {
    fn drop(&mut self) {
        if self.open {
            // With no room the server works for nobody; its answer is dropped when it comes.
            let _ = self.link.outgoing.try_send(LinkMessage::Abandoned(self.id));
        }
    }
}

/// What was sent: a request by its id, or an answer of ours.
enum SentMessage {
    Request(i64),
    Reply,
    Notice,
}

type InFlightSends = FuturesUnordered<BoxFuture<'static, (SentMessage, Result<(), McpSendError>)>>;

async fn carry(
    mut wire: McpWire,
    mut outgoing: mpsc::Receiver<LinkMessage>,
    home: McpSessionRoot,
    changed: Arc<Notify>,
) -> String {
    let mut waiting: HashMap<i64, oneshot::Sender<McpAnswer>> = HashMap::new();
    let mut sending = InFlightSends::new();
    let mut replies = 0;
    loop {
        tokio::select! {
            Some((sent, result)) = sending.next() => {
                if matches!(sent, SentMessage::Reply) {
                    replies -= 1;
                }
                let Err(failed) = result else { continue };
                if let SentMessage::Request(id) = sent
                    && let Some(answer) = waiting.remove(&id)
                {
                    let _ = answer.send(Err(McpRequestError::NotSent(failed.why.clone())));
                }
                if failed.gone {
                    return failed.why;
                }
            }
            next = outgoing.recv(), if sending.len() < MOST_SENDING => match next {
                Some(LinkMessage::Request { id, request, answer }) => {
                    // Those whose cancellation found no room.
                    waiting.retain(|_, answer| !answer.is_closed());
                    waiting.insert(id, answer);
                    let message = JsonRpcMessage::request(*request, RequestId::Number(id));
                    sending.push(tagged(SentMessage::Request(id), wire.send(message)));
                }
                Some(LinkMessage::Abandoned(id)) => if waiting.remove(&id).is_some() {
                    sending.push(tagged(SentMessage::Notice, wire.send(cancelled(id))));
                },
                None => return "nobody needs it any more".to_owned(),
            },
            message = wire.receive(), if replies < MOST_REPLIES => match message {
                Ok(JsonRpcMessage::Response(response)) => {
                    answer(&mut waiting, &response.id, Ok(response.result));
                }
                Ok(JsonRpcMessage::Error(error)) => if let Some(id) = &error.id {
                    answer(&mut waiting, id, Err(McpRequestError::Refused(error.error)));
                },
                Ok(JsonRpcMessage::Request(request)) => {
                    let reply = home.reply(&request.request, request.id);
                    sending.push(tagged(SentMessage::Reply, wire.send(reply)));
                    replies += 1;
                }
                Ok(JsonRpcMessage::Notification(notification)) => {
                    if let ServerNotification::ToolListChangedNotification(_) = notification.notification {
                        changed.notify_one();
                    }
                }
                Err(why) => return why,
            },
        }
    }
}

fn tagged(
    sent: SentMessage,
    sending: BoxFuture<'static, Result<(), McpSendError>>,
) -> BoxFuture<'static, (SentMessage, Result<(), McpSendError>)> {
    Box::pin(async move { (sent, sending.await) })
}

fn cancelled(id: i64) -> ClientJsonRpcMessage {
    let params = CancelledNotificationParam::new(Some(RequestId::Number(id)), None);
    JsonRpcMessage::notification(ClientNotification::CancelledNotification(
        CancelledNotification::new(params),
    ))
}

fn answer(waiting: &mut HashMap<i64, oneshot::Sender<McpAnswer>>, id: &RequestId, what: McpAnswer) {
    let id = match id {
        RequestId::Number(id) => Some(*id),
        // Some servers give every id back as a string.
        RequestId::String(id) => id.parse().ok(),
    };
    // An answer that nobody waits for is late, or made up.
    if let Some(answer) = id.and_then(|id| waiting.remove(&id)) {
        let _ = answer.send(what);
    }
}
