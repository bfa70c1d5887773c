//! From events to notifications: one pure fold, live and replayed.
//!
//! It keeps what is open: the turn, the message under way, calls and approvals. Item ids follow from ours,
//! so that they are the same whenever the fold is made.

mod approval;
mod content;
mod names;
mod tool;

use std::collections::{BTreeMap, HashSet};

use harn_model::{
    AgentEvent, Artifact, AskId, ContentBlock, Envelope, EventFamily, MessageEvent, MessageId,
    PermissionEvent, PermissionOption, ReportEvent, SessionId, StopReason, Timestamp, ToolCallId,
    ToolEvent, TurnEvent, TurnId, TurnOutcome,
};

use names::Names;
use tool::OpenCall;

use crate::wire::{
    ArtifactData, AssistantData, AssistantEnd, BrokenStatus, CompletedStatus, Delta, Item, ItemEnd,
    ItemStart, Notification, Turn, TurnStatus, TurnTime, UserData,
};

/// What a crash left behind is told with these words.
const INTERRUPTED: &str = "the process ended in the middle of this turn";

/// Folds the events of a thread, from the first, into what its clients are told.
pub struct Projector {
    thread: SessionId,
    names: Names,
    turn: Option<OpenTurn>,
    /// Every turn there was, told or not.
    turns: HashSet<TurnId>,
}

/// A turn that was told to have begun.
struct OpenTurn {
    id: TurnId,
    started: Timestamp,
    /// The message under way.
    message: Option<OpenMessage>,
    calls: BTreeMap<ToolCallId, OpenCall>,
    asks: BTreeMap<AskId, OpenAsk>,
    /// The last message, whoever said it.
    last_message: MessageId,
}

/// What the agent is saying.
struct OpenMessage {
    item: String,
    id: MessageId,
    reasoning: bool,
    text: String,
}

/// What somebody has to decide.
struct OpenAsk {
    item: String,
    options: Vec<PermissionOption>,
}

impl Projector {
    /// The fold of nothing yet.
    #[must_use]
    pub fn new(thread: SessionId) -> Self {
        Self {
            thread,
            names: Names::default(),
            turn: None,
            turns: HashSet::new(),
        }
    }

    /// Whether a turn is under way.
    #[must_use]
    pub fn is_in_turn(&self) -> bool {
        self.turn.is_some()
    }

    /// Whether the thread has or had this turn.
    #[must_use]
    pub fn has_turn(&self, turn: &TurnId) -> bool {
        self.turns.contains(turn)
    }

    /// Adds what is told of an event.
    pub fn project(&mut self, envelope: &Envelope, out: &mut Vec<Notification>) {
        let at = envelope.at;
        if let AgentEvent::TurnStarted(_)
        | AgentEvent::PromptQueued(_)
        | AgentEvent::PromptWithdrawn(_) = &envelope.event
        {
            self.turns.extend(envelope.turn.clone());
        }
        if envelope.event.ends_message() {
            self.end_message(out);
        }
        match envelope.event.family() {
            EventFamily::Turn(TurnEvent::TurnStarted(started)) => {
                if let Some(turn) = &envelope.turn {
                    // Two turns at once cannot be told here; the log has none.
                    self.break_off(BrokenStatus::Error, INTERRUPTED, at, out);
                    self.begin(turn, &started.message_id, &started.prompt, at, out);
                }
            }
            EventFamily::Turn(TurnEvent::PromptWithdrawn(withdrawn)) => match &envelope.turn {
                // While another turn runs this one would end it for most clients; nothing came of it.
                Some(turn) if self.turn.is_none() => {
                    self.begin(turn, &withdrawn.message_id, &withdrawn.prompt, at, out);
                    let why = "the turn was cancelled before it began";
                    self.break_off(BrokenStatus::Cancelled, why, at, out);
                }
                Some(_) | None => {}
            },
            EventFamily::Message(MessageEvent::AgentMessageChunk {
                content,
                message_id,
            }) => self.say(message_id.as_ref(), content, false, out),
            EventFamily::Message(MessageEvent::AgentThoughtChunk {
                content,
                message_id,
            }) => self.say(message_id.as_ref(), content, true, out),
            EventFamily::Message(MessageEvent::UserMessage {
                message_id,
                content,
                ..
            }) => self.user_message(message_id, content, out),
            EventFamily::Tool(ToolEvent::ToolCall(call)) => self.announce(call, out),
            EventFamily::Tool(ToolEvent::ToolCallUpdate(update)) => self.update(update, out),
            EventFamily::Permission(PermissionEvent::PermissionAsked(ask)) => self.ask(ask, out),
            EventFamily::Permission(PermissionEvent::PermissionResolved(resolved)) => self.resolve(resolved, out),
            EventFamily::Report(ReportEvent::Artifact(artifact)) => self.artifact(artifact, out),
            EventFamily::Turn(TurnEvent::TurnEnded(ended)) => self.end(&ended.outcome, at, out),
            EventFamily::Turn(TurnEvent::Recovered(_)) => {
                self.break_off(BrokenStatus::Error, INTERRUPTED, at, out);
            }
            // A turn is told when it begins; who wants to begin one while another runs is refused here.
            EventFamily::Turn(TurnEvent::PromptQueued(_)) => {}
            // This wire has no words for plans and progress; what the agent says of them is text.
            EventFamily::Report(
                ReportEvent::Plan { .. } | ReportEvent::ProgressReported(_) | ReportEvent::Progress(_),
            ) => {}
            // The record behind the decisions that are told.
            EventFamily::Record(_)
            // Questions that are no approvals are said as text by the agent.
            | EventFamily::Question(_)
            // Other agents at work: what they ask comes as approvals, what they did the agent tells.
            | EventFamily::Delegation(_)
            | EventFamily::Composition(_)
            // How the agent goes about its work.
            | EventFamily::Skill(_)
            | EventFamily::Detail(_)
            | EventFamily::Context(_)
            // Steering belongs to other front-ends; what reaches the agent comes as a message of the user.
            | EventFamily::Steering(_)
            // Settings, and who is there: nobody here can see or change them. `thread.list` and `thread.get` have the
            // title as it is, and a thread that is closed opens with the next request for it.
            | EventFamily::Setting(_)
            | EventFamily::Session(_) => {}
        }
    }

    /// Ends the turn that runs, of which nothing more will be heard.
    pub fn break_off(
        &mut self,
        status: BrokenStatus,
        why: &str,
        at: Timestamp,
        out: &mut Vec<Notification>,
    ) {
        if let Some(turn) = self.settle(why, status.into(), at, out) {
            out.push(Notification::TurnError {
                turn_id: turn.turn_id.clone(),
                thread_id: turn.thread_id.clone(),
                status,
                error: why.to_owned(),
                time: at,
                turn,
            });
        }
    }

    /// The options of what somebody has to decide, while it is open.
    #[must_use]
    pub fn options(&self, ask: &AskId) -> Option<&[PermissionOption]> {
        let ask = self.turn.as_ref()?.asks.get(ask)?;
        Some(&ask.options)
    }

    /// What somebody has to decide.
    pub fn open_asks(&self) -> impl Iterator<Item = &AskId> {
        self.turn.iter().flat_map(|turn| turn.asks.keys())
    }

    fn begin(
        &mut self,
        turn: &TurnId,
        message: &MessageId,
        prompt: &[ContentBlock],
        at: Timestamp,
        out: &mut Vec<Notification>,
    ) {
        self.turn = Some(OpenTurn {
            id: turn.clone(),
            started: at,
            message: None,
            calls: BTreeMap::new(),
            asks: BTreeMap::new(),
            last_message: message.clone(),
        });
        out.push(Notification::TurnStarted {
            turn_id: turn.clone(),
            thread_id: self.thread.clone(),
            time: at,
            turn: Turn {
                turn_id: turn.clone(),
                thread_id: self.thread.clone(),
                status: TurnStatus::Running,
                time: TurnTime {
                    started: at,
                    completed: None,
                },
            },
        });
        self.user_message(message, prompt, out);
    }

    fn end(&mut self, outcome: &TurnOutcome, at: Timestamp, out: &mut Vec<Notification>) {
        let why = "the turn ended before this did";
        match outcome {
            TurnOutcome::Stopped {
                stop_reason: StopReason::Cancelled,
            } => self.break_off(BrokenStatus::Cancelled, "the turn was cancelled", at, out),
            TurnOutcome::Stopped { stop_reason } => {
                if let Some(turn) = self.settle(why, TurnStatus::Completed, at, out) {
                    out.push(Notification::TurnCompleted {
                        turn_id: turn.turn_id.clone(),
                        thread_id: turn.thread_id.clone(),
                        status: CompletedStatus::Completed,
                        time: at,
                        stop_reason: *stop_reason,
                        turn,
                    });
                }
            }
            TurnOutcome::Failed { message } => {
                self.break_off(BrokenStatus::Error, message, at, out);
            }
        }
    }

    /// Completes all that is open of the turn, and returns the turn as it ended.
    fn settle(
        &mut self,
        why: &str,
        status: TurnStatus,
        at: Timestamp,
        out: &mut Vec<Notification>,
    ) -> Option<Turn> {
        self.end_message(out);
        self.settle_asks(why, out);
        self.settle_calls(why, out);
        let OpenTurn { id, started, .. } = self.turn.take()?;
        Some(Turn {
            turn_id: id,
            thread_id: self.thread.clone(),
            status,
            time: TurnTime {
                started,
                completed: Some(at),
            },
        })
    }

    fn user_message(
        &mut self,
        id: &MessageId,
        blocks: &[ContentBlock],
        out: &mut Vec<Notification>,
    ) {
        let Some(turn) = &mut self.turn else { return };
        turn.last_message = id.clone();
        let item = self.names.item(id.as_str());
        let parts = content::parts(blocks);
        self.started(&item, ItemStart::UserMessage(UserData { parts }), out);
        self.completed(item, None, out);
    }

    /// The agent says more, or something else.
    fn say(
        &mut self,
        id: Option<&MessageId>,
        text: &str,
        reasoning: bool,
        out: &mut Vec<Notification>,
    ) {
        let open = self.turn.as_ref().and_then(|turn| turn.message.as_ref());
        let goes_on = open
            .is_some_and(|open| open.reasoning == reasoning && id.is_none_or(|id| *id == open.id));
        if !goes_on {
            self.end_message(out);
            self.begin_message(id, reasoning, out);
        }
        let Some(open) = self.turn.as_mut().and_then(|turn| turn.message.as_mut()) else {
            return;
        };
        open.text.push_str(text);
        if !text.is_empty() {
            let (item, delta) = (open.item.clone(), text.to_owned());
            self.delta(item, Delta::AssistantMessage { delta, reasoning }, out);
        }
    }

    fn begin_message(
        &mut self,
        id: Option<&MessageId>,
        reasoning: bool,
        out: &mut Vec<Notification>,
    ) {
        let Some(turn) = &mut self.turn else { return };
        // The runtime names every message; one without a name is called after its turn.
        let id = id.cloned().unwrap_or_else(|| turn.id.as_str().into());
        let item = self.names.item(id.as_str());
        turn.last_message = id.clone();
        turn.message = Some(OpenMessage {
            item: item.clone(),
            id: id.clone(),
            reasoning,
            text: String::new(),
        });
        let part_id = id;
        let start = ItemStart::AssistantMessage(AssistantData { part_id, reasoning });
        self.started(&item, start, out);
    }

    /// A message ends where another one begins, or a step of the agent.
    fn end_message(&mut self, out: &mut Vec<Notification>) {
        let turn = self.turn.as_mut();
        if let Some(message) = turn.and_then(|turn| turn.message.take()) {
            let end = ItemEnd::AssistantMessage(AssistantEnd {
                part_id: message.id,
                reasoning: message.reasoning,
                text: message.text,
            });
            self.completed(message.item, Some(end), out);
        }
    }

    fn artifact(&mut self, artifact: &Artifact, out: &mut Vec<Notification>) {
        if self.turn.is_none() {
            return;
        }
        let item = self.names.item(&artifact.artifact_id);
        let data = Box::new(ArtifactData {
            artifact_id: artifact.artifact_id.clone(),
            kind: artifact.kind.clone(),
            title: artifact.title.clone(),
            mime_type: artifact.mime_type.clone(),
            spec: artifact.spec.clone(),
            text: artifact.fallback.clone(),
        });
        self.started(&item, ItemStart::Artifact(data.clone()), out);
        self.completed(item, Some(ItemEnd::Artifact(data)), out);
    }

    fn started(&self, item: &str, start: ItemStart, out: &mut Vec<Notification>) {
        if let Some(turn) = &self.turn {
            let item = Item {
                item_id: item.to_owned(),
                thread_id: self.thread.clone(),
                turn_id: turn.id.clone(),
                start,
            };
            out.push(Notification::ItemStarted { item });
        }
    }

    fn delta(&self, item_id: String, delta: Delta, out: &mut Vec<Notification>) {
        if let Some(turn) = &self.turn {
            out.push(Notification::ItemDelta {
                item_id,
                thread_id: self.thread.clone(),
                turn_id: turn.id.clone(),
                delta,
            });
        }
    }

    fn completed(&self, item_id: String, end: Option<ItemEnd>, out: &mut Vec<Notification>) {
        if let Some(turn) = &self.turn {
            out.push(Notification::ItemCompleted {
                item_id,
                thread_id: self.thread.clone(),
                turn_id: turn.id.clone(),
                end,
            });
        }
    }
}

#[cfg(test)]
mod tests;
