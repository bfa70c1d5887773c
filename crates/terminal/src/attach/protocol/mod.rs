//! The client's side of the protocol, without I/O: it turns received lines into events, and actions of the
//! user into lines to send.
//!
//! To join a session takes a few requests in sequence. Events of the session that arrive meanwhile are
//! passed on as usual. The id of the last event is stored, so that the next join, over another connection,
//! continues exactly after it.

mod message;
mod user_requests;

use std::{collections::HashMap, path::PathBuf};

use harn_acp::client::{AGENT_EVENT, AGENT_IDLE, AttachmentResult};
use harn_lines::rpc::RpcMessage;
use harn_model::LiveClientAction;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json, value::RawValue};

use self::message::{PendingInjectionsReply, ReceivedMessage, RefusalDetails, RequestRefusal};

pub(super) use self::message::{
    ReceivedUpdate, UpdateParams, initialize_params, parse_client_change,
};

/// The interval between heartbeats in seconds.
pub(super) const HEARTBEAT: u64 = 30;

#[derive(Debug)]
pub(super) enum AttachEvent {
    /// The params of a `session/update`.
    Update(Box<RawValue>),
    /// The params of a `session/update` with which another client replaced us under our name.
    Replaced(Box<RawValue>),
    /// The params of an event that is not an update.
    Event(Box<RawValue>),
    Idle,
    /// A question, to be answered under its id.
    Asked(QuestionRequest),
    /// The question with this id was withdrawn.
    Withdrawn(Value),
    /// The client has joined the session.
    Joined(Box<JoinedSession>),
    Waiting(Vec<QueuedMessage>),
    /// The server accepted our message for the agent.
    Kept(QueuedMessage),
    /// Our message arrived after the end of its turn; it is sent again as the prompt with this number.
    Prompted(u64, String),
    /// The server answered the prompt with this number: its turn is over.
    Answered(u64),
    /// The server rejected a request; with the text that it carried.
    Refused {
        why: String,
        words: Option<RejectedText>,
    },
    /// The server rejected a request because another client, `controller`, has control.
    NotController {
        controller: Option<String>,
        words: Option<RejectedText>,
    },
    /// The session cannot be joined; with the server's reason or ours.
    Failed(String),
}

/// Text that the server rejected, with its number if it was a prompt.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RejectedText {
    pub(super) prompt: Option<u64>,
    pub(super) text: String,
}

#[derive(Debug)]
pub(super) struct QuestionRequest {
    pub(super) id: Value,
    pub(super) params: Box<RawValue>,
    pub(super) form: bool,
}

/// The state of a session when the client joins it.
#[derive(Debug, Default)]
pub(super) struct JoinedSession {
    pub(super) session: String,
    pub(super) title: Option<String>,
    pub(super) cwd: Option<PathBuf>,
    pub(super) mode: Option<String>,
    pub(super) controller: Option<String>,
    pub(super) working: bool,
    /// The controller that prevented us from taking control.
    pub(super) instead: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct QueuedMessage {
    pub(super) message: String,
    pub(super) steer: bool,
    pub(super) text: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SessionTarget {
    Live(String),
    /// A stored session, with its directory.
    Stored(String, PathBuf),
    /// A new session in this directory.
    New(PathBuf),
}

/// The purpose of a request that we sent.
#[derive(Debug)]
enum RequestPurpose {
    Hello,
    Attach { control: bool },
    Load,
    New,
    Takeover,
    HandBack,
    Pending,
    Prompt(String),
    Inject { steer: bool, text: String },
    Heartbeat,
}

#[derive(Debug)]
pub(super) struct AttachProtocol {
    me: String,
    target: SessionTarget,
    /// Whether to become the controller.
    control: bool,
    last: Option<String>,
    next: u64,
    sent: HashMap<u64, RequestPurpose>,
    out: Vec<String>,
    /// The controller that prevented us from taking control.
    instead: Option<String>,
    /// Whether the client has joined the session.
    pub(super) joined: bool,
    /// Whether an event of the session has arrived.
    pub(super) begun: bool,
    /// Whether our name refers to us: we attached under it, and no other client did since.
    known: bool,
    /// Whether to send heartbeats. They are for connections whose end may stay unnoticed: each heartbeat is
    /// an event of the session.
    pub(super) promises: bool,
    /// Whether to receive the calls of workers; on the screen, one line for each worker represents them.
    pub(super) worker_calls: bool,
}

impl AttachProtocol {
    /// Creates the client's side under the name `me`; `after` is the event to begin after, if not at the
    /// beginning.
    pub(super) fn new(me: String, target: SessionTarget, after: Option<String>) -> Self {
        Self {
            me,
            target,
            control: false,
            last: after,
            next: 1,
            sent: HashMap::new(),
            out: Vec::new(),
            instead: None,
            joined: false,
            begun: false,
            known: false,
            promises: false,
            worker_calls: false,
        }
    }

    /// Returns the session's id, once it is known.
    pub(super) fn session(&self) -> Option<&str> {
        match &self.target {
            SessionTarget::Live(session) | SessionTarget::Stored(session, _) => Some(session),
            SessionTarget::New(_) => None,
        }
    }

    /// Returns the lines to send, in order.
    pub(super) fn take_lines(&mut self) -> Vec<String> {
        std::mem::take(&mut self.out)
    }

    /// Starts on a new connection. Requests on the last one are dropped.
    pub(super) fn begin(&mut self, control: bool) {
        self.control = control;
        self.joined = false;
        self.instead = None;
        self.sent.clear();
        self.out.clear();
        self.request(
            RequestPurpose::Hello,
            "initialize",
            message::initialize_params(self.worker_calls),
        );
    }

    /// Loads the session in its directory at the next join.
    pub(super) fn reopen(&mut self, cwd: PathBuf) {
        if let SessionTarget::Live(session) = &self.target {
            self.target = SessionTarget::Stored(session.clone(), cwd);
        }
    }

    /// Handles a lost connection. Returns the messages that were not confirmed.
    pub(super) fn forget_sent(&mut self) -> Vec<String> {
        self.joined = false;
        let mut sent: Vec<_> = std::mem::take(&mut self.sent).into_iter().collect();
        sent.sort_by_key(|(id, _)| *id);
        let words = sent.into_iter().filter_map(|(_, sent)| match sent {
            RequestPurpose::Inject { text, .. } => Some(text),
            // The replay of the next join shows whether a prompt arrived.
            _ => None,
        });
        words.collect()
    }

    /// Handles a line. Lines that cannot be parsed are ignored: a display must not fail over something new.
    pub(super) fn handle_line(&mut self, line: &str) -> Option<AttachEvent> {
        let incoming: ReceivedMessage<'_> = serde_json::from_str(line).ok()?;
        let params = incoming.params.map(ToOwned::to_owned);
        match (incoming.method.as_deref(), incoming.id) {
            (Some(method), Some(id)) => self.handle_request(method, id, params),
            (Some(method), None) => self.handle_notification(method, params?),
            (None, Some(id)) => {
                let id = id.as_u64()?;
                let sent = self.sent.remove(&id)?;
                match incoming.error {
                    Some(problem) => self.handle_rejection(id, sent, problem),
                    None => self.handle_response(id, sent, &incoming.result.unwrap_or_default()),
                }
            }
            (None, None) => None,
        }
    }

    fn handle_request(
        &mut self,
        method: &str,
        id: Value,
        params: Option<Box<RawValue>>,
    ) -> Option<AttachEvent> {
        let form = match method {
            "session/request_permission" => false,
            "elicitation/create" => true,
            _ => {
                let why = format!("unknown method {method}");
                self.queue_message(&RpcMessage::error(id, -32601, &why));
                return None;
            }
        };
        let params = params?;
        self.record_position(&params);
        Some(AttachEvent::Asked(QuestionRequest { id, params, form }))
    }

    fn handle_notification(&mut self, method: &str, params: Box<RawValue>) -> Option<AttachEvent> {
        match method {
            "session/update" => self
                .record_position(&params)
                .then(|| self.translate_update(params)),
            AGENT_EVENT => self
                .record_position(&params)
                .then_some(AttachEvent::Event(params)),
            AGENT_IDLE => Some(AttachEvent::Idle),
            "$/cancel_request" => {
                let params: Value = serde_json::from_str(params.get()).ok()?;
                Some(AttachEvent::Withdrawn(params.get("requestId")?.clone()))
            }
            _ => None,
        }
    }

    /// Translates an update, which may be about this client.
    fn translate_update(&mut self, params: Box<RawValue>) -> AttachEvent {
        // Changes in the replay are in the past.
        let change = self.joined.then(|| parse_client_change(&params));
        let Some(change) = change.flatten() else {
            return AttachEvent::Update(params);
        };
        let state = change.state.into_owned();
        let left = change.left.map(|left| left.into_owned());
        let (who, replaced) = match (change.action, state.client, left) {
            (LiveClientAction::Attached | LiveClientAction::Takeover, Some(client), _) => {
                (client.client_id, true)
            }
            (LiveClientAction::Detached, _, Some(left)) => {
                (left.client_id, left.reason == "replaced")
            }
            _ => return AttachEvent::Update(params),
        };
        let comes = |sent: &RequestPurpose| {
            matches!(
                sent,
                RequestPurpose::Attach { .. } | RequestPurpose::Takeover | RequestPurpose::HandBack
            )
        };
        if who != self.me || replaced && self.sent.values().any(comes) {
            return AttachEvent::Update(params);
        }
        // Another client may use our name now.
        self.known = false;
        if replaced {
            // To attach again would replace the other client in turn, without end.
            return AttachEvent::Replaced(params);
        }
        // The server missed our heartbeats. The stream continues, so no event id is needed.
        self.attach(state.previous_controller_id == Some(who), None);
        AttachEvent::Update(params)
    }

    /// Stores the position in the session's stream; returns false if the params belong to another session.
    fn record_position(&mut self, params: &RawValue) -> bool {
        let (session, event) = message::session_and_event_id(params);
        if self.session().is_some() && session.as_deref() != self.session() {
            return false;
        }
        if event.is_some() {
            self.last = event;
            self.begun = true;
            // The first event shows that the attach worked, even if its response is lost.
            let comes = |sent: &RequestPurpose| matches!(sent, RequestPurpose::Attach { .. });
            self.known |= !self.joined && self.sent.values().any(comes);
        }
        true
    }

    fn handle_response(
        &mut self,
        id: u64,
        sent: RequestPurpose,
        result: &Value,
    ) -> Option<AttachEvent> {
        match sent {
            RequestPurpose::Hello => {
                self.open();
                None
            }
            RequestPurpose::New => match result.get("sessionId").and_then(Value::as_str) {
                Some(session) => {
                    self.target = SessionTarget::Live(session.to_owned());
                    self.attach(self.control, None);
                    None
                }
                None => Some(AttachEvent::Failed(
                    "the server created a session without an id".to_owned(),
                )),
            },
            RequestPurpose::Load => {
                if let SessionTarget::Stored(session, _) = &self.target {
                    self.target = SessionTarget::Live(session.clone());
                }
                self.attach(self.control, None);
                None
            }
            RequestPurpose::Attach { .. } => {
                self.known = true;
                self.joined = true;
                let session = json!({"sessionId": self.session()});
                self.request(
                    RequestPurpose::Pending,
                    "session/pending_injections",
                    session,
                );
                let mut joined = AttachmentResult::deserialize(result)
                    .map_or_else(|_| JoinedSession::default(), message::joined_session);
                joined.session = self.session().unwrap_or_default().to_owned();
                joined.instead = self.instead.take();
                Some(AttachEvent::Joined(Box::new(joined)))
            }
            RequestPurpose::Pending => Some(AttachEvent::Waiting(message::queued_messages(
                PendingInjectionsReply::deserialize(result).unwrap_or_default(),
            ))),
            RequestPurpose::Inject { steer, text } => {
                let message = result.get("messageId").and_then(Value::as_str)?.to_owned();
                Some(AttachEvent::Kept(QueuedMessage {
                    message,
                    steer,
                    text,
                }))
            }
            RequestPurpose::Prompt(_) => Some(AttachEvent::Answered(id)),
            // Updates to all clients report the result.
            RequestPurpose::Takeover | RequestPurpose::HandBack => {
                self.known = true;
                None
            }
            RequestPurpose::Heartbeat => None,
        }
    }

    fn handle_rejection(
        &mut self,
        id: u64,
        sent: RequestPurpose,
        problem: RequestRefusal,
    ) -> Option<AttachEvent> {
        let RequestRefusal { message: why, data } = problem;
        let RefusalDetails { reason, controller } = data.unwrap_or_default();
        let reason = reason.as_deref().unwrap_or_default();
        let words = match sent {
            // Another client has control: observe.
            RequestPurpose::Attach { control: true } if reason == "controller_exists" => {
                self.instead = controller;
                self.attach(false, Some(self.last_event_id()));
                return None;
            }
            RequestPurpose::Attach { .. } if reason == "unknown_session" && self.begun => {
                let why = "the session is stored, but not open";
                return Some(AttachEvent::Failed(why.to_owned()));
            }
            RequestPurpose::Attach { .. }
            | RequestPurpose::Hello
            | RequestPurpose::Load
            | RequestPurpose::New => {
                return Some(AttachEvent::Failed(why));
            }
            // The turn ended before the message arrived: it becomes the next prompt.
            RequestPurpose::Inject { text, .. } if reason == "no_active_prompt" => {
                return Some(AttachEvent::Prompted(self.prompt(&text), text));
            }
            // A server may lack these methods; the session works without them.
            RequestPurpose::Pending | RequestPurpose::Heartbeat => return None,
            RequestPurpose::Takeover | RequestPurpose::HandBack => None,
            RequestPurpose::Inject { text, .. } => Some(RejectedText { prompt: None, text }),
            RequestPurpose::Prompt(text) => {
                let prompt = Some(id);
                Some(RejectedText { prompt, text })
            }
        };
        Some(match reason {
            "not_controller" => AttachEvent::NotController { controller, words },
            _ => AttachEvent::Refused { why, words },
        })
    }

    fn open(&mut self) {
        match self.target.clone() {
            SessionTarget::Live(_) => self.attach(self.control, Some(self.last_event_id())),
            SessionTarget::Stored(session, cwd) => {
                let params = json!({"sessionId": session, "cwd": cwd, "mcpServers": [],
                                    "lastEventId": self.last_event_id()});
                self.request(RequestPurpose::Load, "session/load", params);
            }
            SessionTarget::New(cwd) => {
                let params = json!({"cwd": cwd, "mcpServers": []});
                self.request(RequestPurpose::New, "session/new", params);
            }
        }
    }

    /// Returns the event id after which the stream continues.
    fn last_event_id(&self) -> String {
        self.last.clone().unwrap_or_else(|| "0".to_owned())
    }

    fn attach(&mut self, control: bool, after: Option<String>) {
        let params = self.attach_params(control, after);
        self.request(RequestPurpose::Attach { control }, "session/attach", params);
    }

    fn request(&mut self, sent: RequestPurpose, method: &str, params: Value) -> u64 {
        let id = self.next;
        self.next += 1;
        self.sent.insert(id, sent);
        self.queue_message(&RpcMessage::request(id, method, params));
        id
    }

    fn queue_message<I: Serialize, T: Serialize>(&mut self, message: &RpcMessage<'_, I, T>) {
        self.out.push(message.to_text());
    }
}

#[cfg(test)]
mod tests;
