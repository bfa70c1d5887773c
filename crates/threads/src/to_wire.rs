//! Translates events into notifications, live and replayed. Pure.
//!
//! Item ids are derived from ours, so that they are the same in every fold.

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

/// The error of a turn that a crash interrupted.
const INTERRUPTED: &str = "the process ended in the middle of this turn";

/// Folds the events of a thread, from the first, into the notifications to its clients.
pub struct ThreadProjector {
    thread: SessionId,
    names: ItemNames,
    transcript: Transcript<ItemTag>,
    turn: Option<StartedTurn>,
    /// All turns, notified or not.
    turns: HashSet<TurnId>,
}

/// A turn whose start was notified.
struct StartedTurn {
    id: TurnId,
    started: Timestamp,
    /// The last message, of the user or of the agent.
    last_message: MessageId,
}

/// The item of a message, a call or a decision.
#[derive(Default)]
struct ItemTag {
    id: String,
    /// The output of a call that clients have from the deltas.
    appended: String,
}

impl ThreadProjector {
    /// Returns the fold of no events.
    pub fn new(thread: SessionId) -> Self {
        Self {
            thread,
            names: ItemNames::default(),
            transcript: Transcript::with_output(tool::OUTPUT_BYTES),
            turn: None,
            turns: HashSet::new(),
        }
    }

    /// Whether a turn is running.
    pub fn is_in_turn(&self) -> bool {
        self.turn.is_some()
    }

    /// Whether the thread has or had this turn.
    pub fn has_turn(&self, turn: &TurnId) -> bool {
        self.turns.contains(turn)
    }

    /// Adds the notifications of an event to `out`.
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
                    // This wire cannot express two turns at once; the log has none.
                    self.break_off(BrokenStatus::Error, INTERRUPTED, at, out);
                    self.begin_turn(turn, &started.message_id, &started.prompt, at, out);
                }
            }
            EventFamily::Turn(TurnEvent::PromptWithdrawn(withdrawn)) => match &envelope.turn {
                // During another turn, most clients would take its end for the end of that one; nothing came of
                // it.
                Some(turn) if self.turn.is_none() => {
                    self.begin_turn(turn, &withdrawn.message_id, &withdrawn.prompt, at, out);
                    let why = "the turn was cancelled before it began";
                    self.break_off(BrokenStatus::Cancelled, why, at, out);
                }
                Some(_) | None => {}
            },
            EventFamily::Message(
                MessageEvent::AgentMessageChunk { content, .. }
                | MessageEvent::AgentThoughtChunk { content, .. },
            ) => self.add_agent_text(content, out),
            EventFamily::Message(MessageEvent::UserMessage {
                message_id,
                content,
                ..
            }) => self.add_user_message(message_id, content, out),
            EventFamily::Tool(ToolEvent::ToolCall(call)) => self.announce(call, closed.call, out),
            EventFamily::Tool(ToolEvent::ToolCallUpdate(update)) => self.update(update, closed.call, out),
            EventFamily::Permission(PermissionEvent::PermissionAsked(ask)) => self.add_ask(ask, closed.ask, out),
            EventFamily::Permission(PermissionEvent::PermissionResolved(resolved)) => {
                if let Some(ask) = closed.ask {
                    let end = approval::decided_end(&resolved.decision, &ask.options);
                    self.end_ask(ask, end, out);
                }
            }
            EventFamily::Report(ReportEvent::Artifact(artifact)) => self.add_artifact(artifact, out),
            EventFamily::Turn(TurnEvent::TurnEnded(ended)) => {
                self.end_turn(&ended.outcome, closed.left, at, out);
            }
            EventFamily::Turn(TurnEvent::Recovered(_)) => {
                self.end_broken_turn(BrokenStatus::Error, INTERRUPTED, closed.left, at, out);
            }
            // A turn is notified when it starts; `turn.start` is rejected while another turn runs.
            EventFamily::Turn(TurnEvent::PromptQueued(_)) => {}
            // This wire has no plans and no progress; only the agent's text mentions them.
            EventFamily::Report(
                ReportEvent::Plan { .. } | ReportEvent::ProgressReported(_) | ReportEvent::Progress(_),
            ) => {}
            // The record behind the decisions that are notified.
            EventFamily::Record(_)
            // The agent asks other questions as text.
            | EventFamily::Question(_)
            // Other agents at work: their questions are approvals, and the agent reports their results.
            | EventFamily::Delegation(_)
            | EventFamily::Composition(_)
            // Details of the agent's work.
            | EventFamily::Skill(_)
            | EventFamily::Detail(_)
            | EventFamily::Context(_)
            // Steering belongs to other front-ends; a message that reaches the agent is a message of the user.
            | EventFamily::Steering(_)
            // Settings and clients, which no client of this wire can see or change. `thread.list` and `thread.get`
            // return the current title, and the next request for a closed thread opens it.
            | EventFamily::Setting(_)
            | EventFamily::Session(_) => {}
        }
    }

    /// Ends the running turn, of which no more events follow.
    pub fn break_off(
        &mut self,
        status: BrokenStatus,
        why: &str,
        at: Timestamp,
        out: &mut Vec<ThreadNotification>,
    ) {
        let closed = self.transcript.close_all();
        if let Some(message) = closed.message {
            self.end_message(message, out);
        }
        self.end_broken_turn(status, why, closed.left, at, out);
    }

    fn end_broken_turn(
        &mut self,
        status: BrokenStatus,
        why: &str,
        left: OpenItems<ItemTag>,
        at: Timestamp,
        out: &mut Vec<ThreadNotification>,
    ) {
        if let Some(turn) = self.complete_open_items(why, status.into(), left, at, out) {
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

    /// Returns the options of a question, while it is open.
    pub fn options(&self, ask: &AskId) -> Option<&[PermissionOption]> {
        Some(&self.transcript.open.asks.get(ask)?.options)
    }

    /// Returns the ids of the open questions.
    pub fn open_asks(&self) -> impl Iterator<Item = &AskId> {
        self.transcript.open.asks.keys()
    }

    fn begin_turn(
        &mut self,
        turn: &TurnId,
        message: &MessageId,
        prompt: &[ContentBlock],
        at: Timestamp,
        out: &mut Vec<ThreadNotification>,
    ) {
        // Messages and calls outside of a turn have no items.
        self.transcript.close_all();
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
        self.add_user_message(message, prompt, out);
    }

    fn end_turn(
        &mut self,
        outcome: &TurnOutcome,
        left: OpenItems<ItemTag>,
        at: Timestamp,
        out: &mut Vec<ThreadNotification>,
    ) {
        let why = "the turn ended before this item";
        match outcome {
            TurnOutcome::Stopped {
                stop_reason: StopReason::Cancelled,
            } => {
                let why = "the turn was cancelled";
                self.end_broken_turn(BrokenStatus::Cancelled, why, left, at, out);
            }
            TurnOutcome::Stopped { stop_reason } => {
                if let Some(turn) =
                    self.complete_open_items(why, TurnStatus::Completed, left, at, out)
                {
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
                self.end_broken_turn(BrokenStatus::Error, message, left, at, out);
            }
        }
    }

    /// Completes all open items of the turn, and returns the turn as it ended.
    fn complete_open_items(
        &mut self,
        why: &str,
        status: TurnStatus,
        left: OpenItems<ItemTag>,
        at: Timestamp,
        out: &mut Vec<ThreadNotification>,
    ) -> Option<ThreadTurn> {
        for ask in left.asks.into_values() {
            self.end_ask(ask, approval::undecided_end(why), out);
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

    fn add_user_message(
        &mut self,
        id: &MessageId,
        blocks: &[ContentBlock],
        out: &mut Vec<ThreadNotification>,
    ) {
        let Some(turn) = &mut self.turn else { return };
        turn.last_message = id.clone();
        let item = self.names.new_item_id(id.as_str());
        let parts = content::parts(blocks);
        self.notify_started(&item, ItemStart::UserMessage(UserData { parts }), out);
        self.notify_completed(item, None, out);
    }

    /// Adds text to the agent's message, or begins another message.
    fn add_agent_text(&mut self, text: &str, out: &mut Vec<ThreadNotification>) {
        let (Some(turn), Some(message)) = (&mut self.turn, &mut self.transcript.message) else {
            return;
        };
        let reasoning = message.is_thought;
        let begun = message.tag.id.is_empty().then(|| part_id(message, turn));
        if let Some(part_id) = &begun {
            message.tag.id = self.names.new_item_id(part_id.as_str());
            turn.last_message = part_id.clone();
        }
        let item = message.tag.id.clone();
        if let Some(part_id) = begun {
            let start = ItemStart::AssistantMessage(AssistantData { part_id, reasoning });
            self.notify_started(&item, start, out);
        }
        if !text.is_empty() {
            let delta = text.to_owned();
            self.notify_delta(item, ItemDelta::AssistantMessage { delta, reasoning }, out);
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
            self.notify_completed(message.tag.id, Some(end), out);
        }
    }

    fn add_artifact(&mut self, artifact: &Artifact, out: &mut Vec<ThreadNotification>) {
        if self.turn.is_none() {
            return;
        }
        let item = self.names.new_item_id(&artifact.artifact_id);
        let data = Box::new(ArtifactData {
            artifact_id: artifact.artifact_id.clone(),
            kind: artifact.kind.clone(),
            title: artifact.title.clone(),
            mime_type: artifact.mime_type.clone(),
            spec: artifact.spec.clone(),
            text: artifact.fallback.clone(),
        });
        self.notify_started(&item, ItemStart::Artifact(data.clone()), out);
        self.notify_completed(item, Some(ItemEnd::Artifact(data)), out);
    }

    fn notify_started(&self, item: &str, start: ItemStart, out: &mut Vec<ThreadNotification>) {
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

    fn notify_delta(&self, item_id: String, delta: ItemDelta, out: &mut Vec<ThreadNotification>) {
        if let Some(turn) = &self.turn {
            out.push(ThreadNotification::ItemDelta {
                item_id,
                thread_id: self.thread.clone(),
                turn_id: turn.id.clone(),
                delta,
            });
        }
    }

    fn notify_completed(
        &self,
        item_id: String,
        end: Option<ItemEnd>,
        out: &mut Vec<ThreadNotification>,
    ) {
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

/// Returns the id of a message. The runtime gives one to every message; a message without gets the id of its turn.
fn part_id(message: &AgentMessage, turn: &StartedTurn) -> MessageId {
    let id = message.id.clone();
    id.unwrap_or_else(|| turn.id.as_str().into())
}

#[cfg(test)]
mod tests;
