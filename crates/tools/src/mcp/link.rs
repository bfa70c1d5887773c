//! The conversation with one server: sends our requests, routes its answers, and answers its requests.
//!
//! rmcp's own loop starts a task for each request of a server and logs each message whole. This one stops reading
//! while a server does not read our answers, and logs no message.

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
    handshake::McpSessionRoot,
    wire::{McpSendError, McpWire},
};

/// How many requests may wait in the queue.
const QUEUE: usize = 64;
/// How many messages may be in the process of sending.
const MOST_SENDING: usize = 256;
/// How many of our answers a server may leave unread before we stop reading from it.
const MOST_REPLIES: usize = 16;

/// Sends requests to one server. Clones share the connection.
#[derive(Clone)]
pub(super) struct McpLink {
    outgoing: mpsc::Sender<LinkMessage>,
    next: Arc<AtomicI64>,
}

/// The reasons why a request has no result.
#[derive(Debug)]
pub(super) enum McpRequestError {
    Refused(ErrorData),
    /// The request was not sent.
    NotSent(String),
    /// The connection ended before the answer.
    Gone,
}

type McpAnswer = Result<ServerResult, McpRequestError>;

enum LinkMessage {
    Request {
        id: i64,
        request: Box<ClientRequest>,
        answer: oneshot::Sender<McpAnswer>,
    },
    /// The caller dropped the request with this id.
    Abandoned(i64),
}

impl McpLink {
    /// Opens a link and returns it with the future that carries its messages; the future ends with the reason when the
    /// server closes. If it is dropped, every request returns [`McpRequestError::Gone`]. `changed` is notified when
    /// the server's tools change; request ids begin after `last`.
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

    /// Sends a request and waits for the answer. If the future is dropped, the server receives a cancellation.
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

/// Cancels a request when it is dropped before the answer.
struct RequestGuard<'a> {
    link: &'a McpLink,
    id: i64,
    open: bool,
}

impl Drop for RequestGuard<'_> {
    fn drop(&mut self) {
        if self.open {
            // If the queue is full, no cancellation is sent, and the late answer is dropped.
            let _ = self.link.outgoing.try_send(LinkMessage::Abandoned(self.id));
        }
    }
}

/// Identifies a finished send.
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
                    // Requests whose cancellation found the queue full.
                    waiting.retain(|_, answer| !answer.is_closed());
                    waiting.insert(id, answer);
                    let message = JsonRpcMessage::request(*request, RequestId::Number(id));
                    sending.push(tag_send(SentMessage::Request(id), wire.send(message)));
                }
                Some(LinkMessage::Abandoned(id)) => if waiting.remove(&id).is_some() {
                    sending.push(tag_send(SentMessage::Notice, wire.send(cancelled_notification(id))));
                },
                None => return "the agent no longer uses it".to_owned(),
            },
            message = wire.receive(), if replies < MOST_REPLIES => match message {
                Ok(JsonRpcMessage::Response(response)) => {
                    deliver_answer(&mut waiting, &response.id, Ok(response.result));
                }
                Ok(JsonRpcMessage::Error(error)) => if let Some(id) = &error.id {
                    deliver_answer(&mut waiting, id, Err(McpRequestError::Refused(error.error)));
                },
                Ok(JsonRpcMessage::Request(request)) => {
                    let reply = home.reply(&request.request, request.id);
                    sending.push(tag_send(SentMessage::Reply, wire.send(reply)));
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

fn tag_send(
    sent: SentMessage,
    sending: BoxFuture<'static, Result<(), McpSendError>>,
) -> BoxFuture<'static, (SentMessage, Result<(), McpSendError>)> {
    Box::pin(async move { (sent, sending.await) })
}

fn cancelled_notification(id: i64) -> ClientJsonRpcMessage {
    let params = CancelledNotificationParam::new(Some(RequestId::Number(id)), None);
    JsonRpcMessage::notification(ClientNotification::CancelledNotification(
        CancelledNotification::new(params),
    ))
}

fn deliver_answer(
    waiting: &mut HashMap<i64, oneshot::Sender<McpAnswer>>,
    id: &RequestId,
    what: McpAnswer,
) {
    let id = match id {
        RequestId::Number(id) => Some(*id),
        // Some servers return every id as a string.
        RequestId::String(id) => id.parse().ok(),
    };
    // An answer without a waiting request is late or invalid, and is dropped.
    if let Some(answer) = id.and_then(|id| waiting.remove(&id)) {
        let _ = answer.send(what);
    }
}
