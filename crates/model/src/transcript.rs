//! The one fold from events to a conversation: the current message, and what each open call, decision and question
//! has shown.
//!
//! An event itself states what it opens or changes. The fold adds where a message ends, the state of a call, and
//! what an event closes. Readers add only the terms of their wire, and may tag each item with its position in
//! their output.

use std::{collections::BTreeMap, ops::Deref};

use crate::{
    AgentEvent, AskId, CallOutput, EventFamily, MessageEvent, MessageId, PermissionAsked,
    PermissionEvent, QuestionEvent, ToolCall, ToolCallId, ToolCallStatus, ToolCallUpdate,
    ToolEvent, TurnEvent, hitl_subject,
};

/// The open part of a conversation. `T` is a reader's tag for each item; it begins as the default.
#[derive(Clone, Debug, Default)]
pub struct Transcript<T> {
    /// The agent's current message.
    pub message: Option<TaggedItem<AgentMessage, T>>,
    /// Open calls, decisions and questions.
    pub open: OpenItems<T>,
    /// How many bytes of a command's output to keep; none if the reader does not show the output of calls.
    output_bytes: Option<usize>,
}

/// An item with its reader's tag.
#[derive(Clone, Debug, PartialEq)]
pub struct TaggedItem<I, T> {
    /// The item.
    pub item: I,
    /// The reader's tag.
    pub tag: T,
}

impl<I, T: Default> TaggedItem<I, T> {
    fn new(item: I) -> Self {
        let tag = T::default();
        Self { item, tag }
    }
}

impl<I, T> Deref for TaggedItem<I, T> {
    type Target = I;

    fn deref(&self) -> &I {
        &self.item
    }
}

/// A message of the agent: one step of its answer, or of its reasoning.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentMessage {
    /// Its id, if the log has one.
    pub id: Option<MessageId>,
    /// Whether it is reasoning.
    pub is_thought: bool,
    /// Its text so far.
    pub text: String,
}

/// A tool call as its events have shown it so far.
#[derive(Clone, Debug)]
pub struct ShownCall {
    /// The name of the tool.
    pub tool_name: String,
    /// The title for people, if it is not the tool's name.
    pub title: Option<String>,
    /// Its status.
    pub status: ToolCallStatus,
    /// Its output, if the reader shows that.
    pub output: CallOutput,
}

impl ShownCall {
    /// Returns the title for people.
    pub fn title(&self) -> &str {
        self.title.as_ref().unwrap_or(&self.tool_name)
    }
}

/// Open calls, decisions and questions, by id.
#[derive(Clone, Debug, Default)]
pub struct OpenItems<T> {
    /// Calls that have not ended.
    pub calls: BTreeMap<ToolCallId, TaggedItem<ShownCall, T>>,
    /// Permission questions without a decision.
    pub asks: BTreeMap<AskId, TaggedItem<Box<PermissionAsked>, T>>,
    /// Questions to a person without an answer, each by its subject.
    pub questions: BTreeMap<String, TaggedItem<String, T>>,
}

/// The items that an event closed, in their state before it; a call in its state after it.
#[derive(Debug, Default)]
pub struct ClosedItems<T> {
    /// The message that ended.
    pub message: Option<TaggedItem<AgentMessage, T>>,
    /// A call that ended, or whose id another call took.
    pub call: Option<TaggedItem<ShownCall, T>>,
    /// A permission question that was decided, or whose id another question took.
    pub ask: Option<TaggedItem<Box<PermissionAsked>, T>>,
    /// The subject of a question that ended, or whose id another question took.
    pub question: Option<TaggedItem<String, T>>,
    /// The items that were open when the turn ended. The runtime leaves nothing open; a log may have been
    /// truncated.
    pub left: OpenItems<T>,
}

impl<T: Default> Transcript<T> {
    /// Builds a transcript that keeps the output of calls: of a command's output the end, up to this many bytes.
    #[must_use]
    pub fn with_output(bytes: usize) -> Self {
        let output_bytes = Some(bytes);
        Self {
            output_bytes,
            ..Self::default()
        }
    }

    /// Folds an event in, and returns the items that it closed. Events arrive in the order of the log; a client
    /// that has updates of a wire converts them to events.
    pub fn apply(&mut self, event: &AgentEvent) -> ClosedItems<T> {
        let mut closed = ClosedItems::default();
        if event.ends_message() {
            closed.message = self.message.take();
        }
        match event.family() {
            EventFamily::Message(MessageEvent::AgentMessageChunk {
                content,
                message_id,
            }) => closed.message = self.append_text(message_id.as_ref(), content, false),
            EventFamily::Message(MessageEvent::AgentThoughtChunk {
                content,
                message_id,
            }) => closed.message = self.append_text(message_id.as_ref(), content, true),
            EventFamily::Tool(ToolEvent::ToolCall(call)) => closed.call = self.announce(call),
            EventFamily::Tool(ToolEvent::ToolCallUpdate(update)) => {
                closed.call = self.update(update);
            }
            EventFamily::Permission(PermissionEvent::PermissionAsked(ask)) => {
                let item = TaggedItem::new(Box::new(ask.clone()));
                closed.ask = self.open.asks.insert(ask.ask_id.clone(), item);
            }
            EventFamily::Permission(PermissionEvent::PermissionResolved(resolved)) => {
                closed.ask = self.open.asks.remove(&resolved.ask_id);
            }
            EventFamily::Question(QuestionEvent::HitlRequested {
                request_id,
                kind,
                payload,
            }) => {
                let subject = hitl_subject(payload).unwrap_or(kind);
                let item = TaggedItem::new(subject.to_owned());
                closed.question = self.open.questions.insert(request_id.clone(), item);
            }
            EventFamily::Question(QuestionEvent::HitlResolved { request_id, .. }) => {
                closed.question = self.open.questions.remove(request_id);
            }
            EventFamily::Turn(TurnEvent::TurnEnded(_) | TurnEvent::Recovered(_)) => {
                closed.left = std::mem::take(&mut self.open);
            }
            // Nothing is open before a turn begins, and a queued prompt or a person's answer ends nothing.
            EventFamily::Turn(
                TurnEvent::TurnStarted(_)
                | TurnEvent::PromptQueued(_)
                | TurnEvent::PromptWithdrawn(_),
            )
            | EventFamily::Message(MessageEvent::UserMessage { .. })
            | EventFamily::Question(QuestionEvent::HitlResponded(_))
            // Not part of messages, calls and questions; each reader decides how to show them.
            | EventFamily::Record(_)
            | EventFamily::Report(_)
            | EventFamily::Delegation(_)
            | EventFamily::Composition(_)
            | EventFamily::Skill(_)
            | EventFamily::Detail(_)
            | EventFamily::Context(_)
            | EventFamily::Steering(_)
            | EventFamily::Setting(_)
            | EventFamily::Session(_) => {}
        }
        closed
    }

    /// Closes all open items, because no event will.
    pub fn close_all(&mut self) -> ClosedItems<T> {
        ClosedItems {
            message: self.message.take(),
            left: std::mem::take(&mut self.open),
            ..ClosedItems::default()
        }
    }

    /// Returns a call as it is announced. A call that ends with its announcement is never open.
    pub fn new_call(&self, call: &ToolCall) -> TaggedItem<ShownCall, T> {
        let mut output = CallOutput::default();
        if let Some(limit) = self.output_bytes {
            output.replace_content(&call.content, limit);
        }
        TaggedItem::new(ShownCall {
            tool_name: call.tool_name.clone(),
            title: call.title.clone(),
            status: call.status,
            output,
        })
    }

    /// Extends the current message or begins another; returns the message that ends by that. A chunk without an id
    /// continues the current message.
    fn append_text(
        &mut self,
        id: Option<&MessageId>,
        text: &str,
        is_thought: bool,
    ) -> Option<TaggedItem<AgentMessage, T>> {
        if let Some(TaggedItem { item: open, .. }) = &mut self.message
            && open.is_thought == is_thought
            && (id.is_none() || open.id.as_ref() == id)
        {
            open.text.push_str(text);
            return None;
        }
        self.message.replace(TaggedItem::new(AgentMessage {
            id: id.cloned(),
            is_thought,
            text: text.to_owned(),
        }))
    }

    fn announce(&mut self, call: &ToolCall) -> Option<TaggedItem<ShownCall, T>> {
        let id = &call.tool_call_id;
        match call.status.is_terminal() {
            true => self.open.calls.remove(id),
            false => self.open.calls.insert(id.clone(), self.new_call(call)),
        }
    }

    fn update(&mut self, update: &ToolCallUpdate) -> Option<TaggedItem<ShownCall, T>> {
        let call = &mut self.open.calls.get_mut(&update.tool_call_id)?.item;
        if update.title.is_some() {
            call.title.clone_from(&update.title);
        }
        call.status = update.status;
        if let Some(limit) = self.output_bytes {
            call.output.update(update, limit);
        }
        match update.status.is_terminal() {
            true => self.open.calls.remove(&update.tool_call_id),
            false => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        CommandOutput, Decision, HitlOutcome, PermissionResolved, StopReason, ToolContent,
        TurnEnded, TurnOutcome, TurnStarted,
    };

    /// Folds events of one turn, and returns the items that each closed. Each item is tagged with its event's
    /// number.
    fn fold_closed(events: impl IntoIterator<Item = AgentEvent>) -> Vec<ClosedItems<u64>> {
        let mut transcript = Transcript::with_output(100);
        let fold = |(number, event): (u64, AgentEvent)| {
            let closed = transcript.apply(&event);
            let messages = transcript.message.iter_mut().map(|item| &mut item.tag);
            let calls = transcript.open.calls.values_mut().map(|item| &mut item.tag);
            let new = messages.chain(calls).filter(|tag| **tag == 0);
            new.for_each(|tag| *tag = number);
            closed
        };
        (1..).zip(events).map(fold).collect()
    }

    fn turn_started() -> AgentEvent {
        AgentEvent::TurnStarted(Box::new(TurnStarted {
            message_id: "m".into(),
            prompt: Vec::new(),
            live_session: None,
        }))
    }

    fn turn_ended() -> AgentEvent {
        AgentEvent::TurnEnded(Box::new(TurnEnded {
            outcome: TurnOutcome::stopped(StopReason::EndTurn),
        }))
    }

    fn call_announced() -> AgentEvent {
        AgentEvent::ToolCall(Box::new(ToolCall::new("c", "look")))
    }

    fn call_updated(status: ToolCallStatus, title: Option<&str>) -> AgentEvent {
        let mut update = ToolCallUpdate::new("c", "look", status);
        update.title = title.map(str::to_owned);
        AgentEvent::ToolCallUpdate(Box::new(update))
    }

    fn chunk(id: Option<&str>, content: &str) -> AgentEvent {
        AgentEvent::AgentMessageChunk {
            content: content.to_owned(),
            message_id: id.map(Into::into),
        }
    }

    #[test]
    fn message_ends_where_another_begins_or_the_agent_acts() {
        let thought = AgentEvent::AgentThoughtChunk {
            content: "hm".to_owned(),
            message_id: Some("a".into()),
        };
        let closed = fold_closed([
            turn_started(),
            thought,
            chunk(Some("a"), "one "),
            chunk(None, "two"),
            chunk(Some("b"), "three"),
            call_announced(),
            chunk(Some("b"), "four"),
            turn_ended(),
        ]);
        let ends = closed.iter().map(|closed| {
            let message = closed.message.as_ref()?;
            Some((message.tag, message.is_thought, message.text.as_str()))
        });
        let ends: Vec<_> = ends.collect();
        let expected = [
            None,
            None,
            Some((2, true, "hm")),
            None,
            Some((3, false, "one two")),
            Some((5, false, "three")),
            None,
            Some((7, false, "four")),
        ];
        assert_eq!(ends, expected);
    }

    #[test]
    fn end_of_call_returns_title_status_and_output() {
        let mut printed = ToolCallUpdate::new("c", "look", ToolCallStatus::InProgress);
        printed.title = Some("Look around".to_owned());
        printed.content = Some(vec![ToolContent::Output(CommandOutput {
            text: "a door".to_owned(),
            ..CommandOutput::default()
        })]);
        let events = [
            turn_started(),
            call_announced(),
            AgentEvent::ToolCallUpdate(Box::new(printed)),
            call_updated(ToolCallStatus::Completed, None),
            call_updated(ToolCallStatus::Completed, None),
        ];
        let closed = fold_closed(events);
        let call = closed[3].call.as_ref().unwrap();
        assert_eq!((call.title(), call.tag), ("Look around", 2));
        assert_eq!(call.status, ToolCallStatus::Completed);
        assert_eq!(call.output.printed.as_ref().unwrap().as_str(), "a door");
        // The call ends once.
        assert!(closed[4].call.is_none());
        assert!(closed[..3].iter().all(|closed| closed.call.is_none()));
    }

    #[test]
    fn call_that_takes_an_open_id_closes_the_call_before_it() {
        let mut done = ToolCall::new("c", "look");
        done.status = ToolCallStatus::Completed;
        let done = AgentEvent::ToolCall(Box::new(done));
        let closed = fold_closed([
            turn_started(),
            call_announced(),
            call_announced(),
            done,
            turn_ended(),
        ]);
        let tags = closed.iter().map(|closed| Some(closed.call.as_ref()?.tag));
        assert!(tags.eq([None, None, Some(2), Some(3), None]));
        assert!(closed[4].left.calls.is_empty());
    }

    #[test]
    fn decision_and_answer_return_their_question() {
        let ask = PermissionAsked::new("a".into(), ToolCall::new("c", "look"), Vec::new());
        let resolved = PermissionResolved {
            ask_id: "a".into(),
            decision: Decision::Cancelled,
            remembered: None,
        };
        let closed = fold_closed([
            turn_started(),
            AgentEvent::PermissionAsked(Box::new(ask.clone())),
            AgentEvent::HitlRequested {
                request_id: "q".to_owned(),
                kind: "approval".to_owned(),
                payload: json!({"action": "Ship it"}),
            },
            AgentEvent::PermissionResolved(Box::new(resolved)),
            AgentEvent::HitlResolved {
                request_id: "q".to_owned(),
                kind: "approval".to_owned(),
                outcome: HitlOutcome::Answered,
            },
        ]);
        assert_eq!(*closed[3].ask.as_ref().unwrap().item, ask);
        assert_eq!(closed[4].question.as_ref().unwrap().item, "Ship it");
    }

    #[test]
    fn end_of_turn_returns_open_items() {
        let closed = fold_closed([turn_started(), call_announced(), turn_ended(), turn_ended()]);
        assert_eq!(closed[2].left.calls["c"].tag, 2);
        assert!(closed[3].left.calls.is_empty());
    }
}
