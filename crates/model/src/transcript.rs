//! The one fold from events to what is open in a conversation: the turn, its calls, decisions and questions.
//!
//! [`SessionView`](crate::SessionView) and readers that print a conversation share it. An event itself says what it
//! opens or changes; the fold adds what the event closes, so that a reader that streams keeps no list of its own.

use crate::{
    Envelope, EventFamily, OpenCall, OpenQuestion, OpenTurn, PermissionAsked, PermissionEvent,
    QuestionEvent, ToolCallStatus, ToolEvent, TurnEvent,
};

/// What an event closed, as it was before.
#[derive(Debug, PartialEq)]
pub enum ClosedItem {
    /// A turn, with what is still open in it. The runtime leaves nothing open; a log may have been cut.
    Turn(Box<OpenTurn>),
    /// A tool call.
    Call(OpenCall),
    /// The wait for a decision about a call.
    Ask(Box<PermissionAsked>),
    /// A question to a person.
    Question(OpenQuestion),
}

impl OpenTurn {
    /// Folds an event into the turn that runs, and returns what the event closed. Events come in the order of their
    /// `Seq`. Calls and questions outside of a turn are not kept.
    pub fn fold(open: &mut Option<Self>, envelope: &Envelope) -> Option<ClosedItem> {
        match envelope.event.family() {
            EventFamily::Turn(event) => match event {
                TurnEvent::TurnStarted(_) => {
                    let begun = envelope.turn.clone().map(Self::new);
                    let broken_off = std::mem::replace(open, begun);
                    broken_off.map(|turn| ClosedItem::Turn(Box::new(turn)))
                }
                TurnEvent::TurnEnded(_) | TurnEvent::Recovered(_) => {
                    open.take().map(|turn| ClosedItem::Turn(Box::new(turn)))
                }
                TurnEvent::PromptQueued(_) | TurnEvent::PromptWithdrawn(_) => None,
            },
            EventFamily::Tool(event) => open.as_mut()?.tool(event, envelope),
            EventFamily::Permission(event) => open.as_mut()?.permission(event),
            EventFamily::Question(event) => open.as_mut()?.question(event, envelope),
            EventFamily::Message(_)
            | EventFamily::Record(_)
            | EventFamily::Report(_)
            | EventFamily::Delegation(_)
            | EventFamily::Composition(_)
            | EventFamily::Skill(_)
            | EventFamily::Detail(_)
            | EventFamily::Context(_)
            | EventFamily::Steering(_)
            | EventFamily::Setting(_)
            | EventFamily::Session(_) => None,
        }
    }

    fn tool(&mut self, event: ToolEvent<'_>, envelope: &Envelope) -> Option<ClosedItem> {
        let at = envelope.at;
        match event {
            ToolEvent::ToolCall(call) if call.status.is_terminal() => None,
            ToolEvent::ToolCall(call) => {
                let running = call.status == ToolCallStatus::InProgress;
                let open = OpenCall {
                    tool_name: call.tool_name.clone(),
                    title: call.title.clone(),
                    parsing: call.parsing == Some(true),
                    audit: call.audit.clone(),
                    seq: envelope.seq,
                    announced_at: at,
                    started_at: running.then_some(at),
                };
                self.calls.insert(call.tool_call_id.clone(), open);
                None
            }
            ToolEvent::ToolCallUpdate(update) => {
                let id = &update.tool_call_id;
                let call = self.calls.get_mut(id)?;
                if update.title.is_some() && update.title != call.title {
                    call.title.clone_from(&update.title);
                }
                if update.status.is_terminal() {
                    return self.calls.remove(id).map(ClosedItem::Call);
                }
                if update.status == ToolCallStatus::InProgress {
                    call.started_at.get_or_insert(at);
                }
                call.parsing = update.parsing.unwrap_or(call.parsing);
                None
            }
        }
    }

    fn permission(&mut self, event: PermissionEvent<'_>) -> Option<ClosedItem> {
        match event {
            PermissionEvent::PermissionAsked(ask) => {
                let asked = Box::new(ask.clone());
                self.asks.insert(ask.ask_id.clone(), asked);
                None
            }
            PermissionEvent::PermissionResolved(resolved) => {
                self.asks.remove(&resolved.ask_id).map(ClosedItem::Ask)
            }
        }
    }

    fn question(&mut self, event: QuestionEvent<'_>, envelope: &Envelope) -> Option<ClosedItem> {
        match event {
            QuestionEvent::HitlRequested {
                request_id,
                kind,
                payload,
            } => {
                let mut names = ["prompt", "action", "reason"].into_iter();
                let subject = names.find_map(|name| payload.get(name)?.as_str());
                let question = OpenQuestion {
                    kind: kind.clone(),
                    subject: subject.unwrap_or(kind).to_owned(),
                    seq: envelope.seq,
                };
                self.questions.insert(request_id.clone(), question);
                None
            }
            QuestionEvent::HitlResolved { request_id, .. } => {
                self.questions.remove(request_id).map(ClosedItem::Question)
            }
            QuestionEvent::HitlResponded(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        AgentEvent, Decision, HitlOutcome, PermissionResolved, Seq, StopReason, ToolCall,
        ToolCallUpdate, TurnEnded, TurnOutcome, TurnStarted,
    };

    /// Folds events of one turn, and returns what each closed.
    fn closed(events: impl IntoIterator<Item = AgentEvent>) -> Vec<Option<ClosedItem>> {
        let mut open = None;
        let envelopes = (1..).zip(events).map(|(seq, event)| Envelope {
            seq: Seq(seq),
            at: 10 * seq,
            turn: Some("t".into()),
            event,
        });
        envelopes
            .map(|envelope| OpenTurn::fold(&mut open, &envelope))
            .collect()
    }

    fn started() -> AgentEvent {
        AgentEvent::TurnStarted(Box::new(TurnStarted {
            message_id: "m".into(),
            prompt: Vec::new(),
            live_session: None,
        }))
    }

    fn ended() -> AgentEvent {
        AgentEvent::TurnEnded(Box::new(TurnEnded {
            outcome: TurnOutcome::stopped(StopReason::EndTurn),
        }))
    }

    fn announced() -> AgentEvent {
        AgentEvent::ToolCall(Box::new(ToolCall::new("c", "look")))
    }

    fn updated(status: ToolCallStatus, title: Option<&str>) -> AgentEvent {
        let mut update = ToolCallUpdate::new("c", "look", status);
        update.title = title.map(str::to_owned);
        AgentEvent::ToolCallUpdate(Box::new(update))
    }

    #[test]
    fn end_of_call_returns_what_its_updates_said() {
        let events = [
            started(),
            announced(),
            updated(ToolCallStatus::InProgress, Some("Look around")),
            updated(ToolCallStatus::Completed, None),
            updated(ToolCallStatus::Completed, None),
        ];
        let closed = closed(events);
        let Some(ClosedItem::Call(call)) = &closed[3] else {
            panic!("{closed:?}");
        };
        assert_eq!(call.title.as_deref(), Some("Look around"));
        assert_eq!((call.announced_at, call.started_at), (20, Some(30)));
        // It ends once.
        assert_eq!(closed[4], None);
        assert!(closed[..3].iter().all(Option::is_none));
    }

    #[test]
    fn decision_and_answer_return_what_was_asked() {
        let ask = PermissionAsked::new("a".into(), ToolCall::new("c", "look"), Vec::new());
        let resolved = PermissionResolved {
            ask_id: "a".into(),
            decision: Decision::Cancelled,
            remembered: None,
        };
        let closed = closed([
            started(),
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
        assert_eq!(closed[3], Some(ClosedItem::Ask(Box::new(ask))));
        let question = OpenQuestion {
            kind: "approval".to_owned(),
            subject: "Ship it".to_owned(),
            seq: Seq(3),
        };
        assert_eq!(closed[4], Some(ClosedItem::Question(question)));
    }

    #[test]
    fn end_of_turn_returns_what_is_left_open() {
        let closed = closed([announced(), started(), announced(), ended(), ended()]);
        let Some(ClosedItem::Turn(turn)) = &closed[3] else {
            panic!("{closed:?}");
        };
        assert_eq!(turn.calls.len(), 1);
        assert_eq!(turn.calls["c"].seq, Seq(3));
        assert_eq!(closed[4], None);
    }
}
