//! From events to notifications: the words of this wire for what the transcript says, live and replayed. Pure.
//!
//! Item ids follow from ours, so that they are the same whenever the fold is made.

mod approval;
mod content;
mod names;
mod tool;

use std::collections::HashSet;

use harn_model::{
    AgentEvent, AgentMessage, Artifact, AskId, ContentBlock, Envelope, EventFamily, MessageEvent,
    MessageId, OpenItems, PermissionEvent, PermissionOption, ReportEvent, SessionId, StopReason,
    TaggedItem, Timestamp, ToolEvent, Transcript, TurnEvent, TurnId, TurnOutcome,
};

use names::ItemNames;

use crate::wire::{
    ArtifactData, AssistantData, AssistantEnd, BrokenStatus, CompletedStatus, Item, ItemDelta,
    ItemEnd, ItemStart, ThreadNotification, ThreadTurn, ToolOutcome, TurnStatus, TurnTime,
    UserData,
};

/// What a crash left behind is told with these words.
const INTERRUPTED: &str = "the process ended in the middle of this turn";

/// Folds the events of a thread, from the first, into what its clients are told.
pub struct ThreadProjector {
    thread: SessionId,
    names: ItemNames,
    transcript: Transcript<ItemTag>,
    turn: Option<StartedTurn>,
    /// Every turn there was, told or not.
    turns: HashSet<TurnId>,
}

/// A turn that was told to have begun.
struct StartedTurn {
    id: TurnId,
    started: Timestamp,
    /// The last message, whoever said it.
    last_message: MessageId,
}

/// The item of a message, a call or a decision.
#[derive(Default)]
struct ItemTag {
    id: String,
    /// What clients have of what a call shows, from the deltas.
    appended: String,
}

impl ThreadProjector {
    /// The fold of nothing yet.
    #[must_use]
    pub fn new(thread: SessionId) -> Self {
        Self {
            thread,
            names: ItemNames::default(),
            transcript: Transcript::with_output(tool::OUTPUT_BYTES),
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
    pub fn project(&mut self, envelope: &Envelope, out: &mut Vec<ThreadNotification>) {
        let at = envelope.at;
        if let AgentEvent::TurnStarted(_)
        | AgentEvent::PromptQueued(_)
        | AgentEvent::PromptWithdrawn(_) = &envelope.event
        {
            self.turns.extend(envelope.turn.clone());
        }
        let closed = self.transcript.apply(&envelope.event);
        if let Some(message) = closed.message {
            self.end_message(message, out);
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
            EventFamily::Message(
                MessageEvent::AgentMessageChunk { content, .. }
                | MessageEvent::AgentThoughtChunk { content, .. },
            ) => self.say(content, out),
            EventFamily::Message(MessageEvent::UserMessage {
                message_id,
                content,
                ..
            }) => self.user_message(message_id, content, out),
            EventFamily::Tool(ToolEvent::ToolCall(call)) => self.announce(call, closed.call, out),
            EventFamily::Tool(ToolEvent::ToolCallUpdate(update)) => self.update(update, closed.call, out),
            EventFamily::Permission(PermissionEvent::PermissionAsked(ask)) => self.ask(ask, closed.ask, out),
            EventFamily::Permission(PermissionEvent::PermissionResolved(resolved)) => {
                if let Some(ask) = closed.ask {
                    let end = approval::decided(&resolved.decision, &ask.options);
                    self.end_ask(ask, end, out);
                }
            }
            EventFamily::Report(ReportEvent::Artifact(artifact)) => self.artifact(artifact, out),
            EventFamily::Turn(TurnEvent::TurnEnded(ended)) => {
                self.end(&ended.outcome, closed.left, at, out);
            }
            EventFamily::Turn(TurnEvent::Recovered(_)) => {
                self.end_broken(BrokenStatus::Error, INTERRUPTED, closed.left, at, out);
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
        out: &mut Vec<ThreadNotification>,
    ) {
        let closed = self.transcript.break_off();
        if let Some(message) = closed.message {
            self.end_message(message, out);
        }
        self.end_broken(status, why, closed.left, at, out);
    }

    fn end_broken(
        &mut self,
        status: BrokenStatus,
        why: &str,
        left: OpenItems<ItemTag>,
        at: Timestamp,
        out: &mut Vec<ThreadNotification>,
    ) {
        if let Some(turn) = self.settle(why, status.into(), left, at, out) {
            out.push(ThreadNotification::TurnError {
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
        Some(&self.transcript.open.asks.get(ask)?.options)
    }

    /// What somebody has to decide.
    pub fn open_asks(&self) -> impl Iterator<Item = &AskId> {
        self.transcript.open.asks.keys()
    }

    fn begin(
        &mut self,
        turn: &TurnId,
        message: &MessageId,
        prompt: &[ContentBlock],
        at: Timestamp,
        out: &mut Vec<ThreadNotification>,
    ) {
        // What was said and done outside of a turn has no place here.
        self.transcript.break_off();
        self.turn = Some(StartedTurn {
            id: turn.clone(),
            started: at,
            last_message: message.clone(),
        });
        out.push(ThreadNotification::TurnStarted {
            turn_id: turn.clone(),
            thread_id: self.thread.clone(),
            time: at,
            turn: ThreadTurn {
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

    fn end(
        &mut self,
        outcome: &TurnOutcome,
        left: OpenItems<ItemTag>,
        at: Timestamp,
        out: &mut Vec<ThreadNotification>,
    ) {
        let why = "the turn ended before this did";
        match outcome {
            TurnOutcome::Stopped {
                stop_reason: StopReason::Cancelled,
            } => {
                let why = "the turn was cancelled";
                self.end_broken(BrokenStatus::Cancelled, why, left, at, out);
            }
            TurnOutcome::Stopped { stop_reason } => {
                if let Some(turn) = self.settle(why, TurnStatus::Completed, left, at, out) {
                    out.push(ThreadNotification::TurnCompleted {
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
                self.end_broken(BrokenStatus::Error, message, left, at, out);
            }
        }
    }

    /// Completes all that is open of the turn, and returns the turn as it ended.
    fn settle(
        &mut self,
        why: &str,
        status: TurnStatus,
        left: OpenItems<ItemTag>,
        at: Timestamp,
        out: &mut Vec<ThreadNotification>,
    ) -> Option<ThreadTurn> {
        for ask in left.asks.into_values() {
            self.end_ask(ask, approval::undecided(why), out);
        }
        for (id, call) in left.calls {
            let error = why.to_owned();
            self.end_call(id, call, ToolOutcome::Failed { error }, out);
        }
        let StartedTurn { id, started, .. } = self.turn.take()?;
        Some(ThreadTurn {
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
        out: &mut Vec<ThreadNotification>,
    ) {
        let Some(turn) = &mut self.turn else { return };
        turn.last_message = id.clone();
        let item = self.names.item(id.as_str());
        let parts = content::parts(blocks);
        self.started(&item, ItemStart::UserMessage(UserData { parts }), out);
        self.completed(item, None, out);
    }

    /// The agent says more, or something else.
    fn say(&mut self, text: &str, out: &mut Vec<ThreadNotification>) {
        let (Some(turn), Some(message)) = (&mut self.turn, &mut self.transcript.message) else {
            return;
        };
        let reasoning = message.is_thought;
        let begun = message.tag.id.is_empty().then(|| part_id(message, turn));
        if let Some(part_id) = &begun {
            message.tag.id = self.names.item(part_id.as_str());
            turn.last_message = part_id.clone();
        }
        let item = message.tag.id.clone();
        if let Some(part_id) = begun {
            let start = ItemStart::AssistantMessage(AssistantData { part_id, reasoning });
            self.started(&item, start, out);
        }
        if !text.is_empty() {
            let delta = text.to_owned();
            self.delta(item, ItemDelta::AssistantMessage { delta, reasoning }, out);
        }
    }

    fn end_message(
        &self,
        message: TaggedItem<AgentMessage, ItemTag>,
        out: &mut Vec<ThreadNotification>,
    ) {
        if let Some(turn) = &self.turn {
            let end = ItemEnd::AssistantMessage(AssistantEnd {
                part_id: part_id(&message, turn),
                reasoning: message.is_thought,
                text: message.item.text,
            });
            self.completed(message.tag.id, Some(end), out);
        }
    }

    fn artifact(&mut self, artifact: &Artifact, out: &mut Vec<ThreadNotification>) {
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

    fn started(&self, item: &str, start: ItemStart, out: &mut Vec<ThreadNotification>) {
        if let Some(turn) = &self.turn {
            let item = Item {
                item_id: item.to_owned(),
                thread_id: self.thread.clone(),
                turn_id: turn.id.clone(),
                start,
            };
            out.push(ThreadNotification::ItemStarted { item });
        }
    }

    fn delta(&self, item_id: String, delta: ItemDelta, out: &mut Vec<ThreadNotification>) {
        if let Some(turn) = &self.turn {
            out.push(ThreadNotification::ItemDelta {
                item_id,
                thread_id: self.thread.clone(),
                turn_id: turn.id.clone(),
                delta,
            });
        }
    }

    fn completed(&self, item_id: String, end: Option<ItemEnd>, out: &mut Vec<ThreadNotification>) {
        if let Some(turn) = &self.turn {
            out.push(ThreadNotification::ItemCompleted {
                item_id,
                thread_id: self.thread.clone(),
                turn_id: turn.id.clone(),
                end,
            });
        }
    }
}

/// The runtime names every message; one without a name is called after its turn.
fn part_id(message: &AgentMessage, turn: &StartedTurn) -> MessageId {
    let id = message.id.clone();
    id.unwrap_or_else(|| turn.id.as_str().into())
}

#[cfg(test)]
mod tests;
