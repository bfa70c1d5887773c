//! What the runtime fills in so that no agent has to: message ids and the durations of tool calls.

use harn_model::{AgentEvent, MessageId, SessionView, Timestamp, ToolCallUpdate};

use crate::{IdKind, Ids};

/// Which message the next chunk belongs to.
#[derive(Default)]
pub(crate) struct Stamper {
    open: Option<(Channel, MessageId)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Channel {
    Answer,
    Thought,
}

impl Stamper {
    /// Completes an event just before it is written. `view` is the fold of everything before it.
    pub(crate) fn stamp(
        &mut self,
        event: &mut AgentEvent,
        view: &SessionView,
        at: Timestamp,
        ids: &dyn Ids,
    ) {
        match event {
            AgentEvent::AgentMessageChunk { message_id, .. } => {
                self.message(Channel::Answer, message_id, ids);
            }
            AgentEvent::AgentThoughtChunk { message_id, .. } => {
                self.message(Channel::Thought, message_id, ids);
            }
            AgentEvent::ToolCallUpdate(update) => {
                self.open = None;
                durations(update, view, at);
            }
            // A tool call or a turn ends the message before it, so that one message is one step.
            AgentEvent::ToolCall(_)
            | AgentEvent::UserMessage { .. }
            | AgentEvent::TurnStarted(_)
            | AgentEvent::TurnEnded(_)
            | AgentEvent::Recovered(_) => self.open = None,
            // Passes by without touching the message under way.
            AgentEvent::Plan { .. }
            | AgentEvent::ProgressReported(_)
            | AgentEvent::Progress(_)
            | AgentEvent::Log(_)
            | AgentEvent::Artifact(_)
            | AgentEvent::FsWatch { .. }
            | AgentEvent::Handoff { .. }
            | AgentEvent::WorkerUpdate(_)
            | AgentEvent::SkillActivated { .. }
            | AgentEvent::SkillDeactivated { .. }
            | AgentEvent::SkillScopeTools { .. }
            | AgentEvent::SkillNarrow(_)
            | AgentEvent::SkillMatched(_)
            | AgentEvent::ToolSearchQuery(_)
            | AgentEvent::ToolSearchResult(_)
            | AgentEvent::TranscriptCompacted(_)
            | AgentEvent::TranscriptProjected(_)
            | AgentEvent::ReminderEmitted(_)
            | AgentEvent::HitlRequested { .. }
            | AgentEvent::HitlResolved { .. }
            | AgentEvent::AvailableCommands { .. }
            | AgentEvent::LiveSessionClient { .. }
            | AgentEvent::CompositionStart(_)
            | AgentEvent::CompositionChildCall(_)
            | AgentEvent::CompositionChildResult(_)
            | AgentEvent::CompositionFinish(_)
            | AgentEvent::CompositionError(_)
            | AgentEvent::PermissionAsked(_)
            | AgentEvent::PermissionResolved(_)
            | AgentEvent::Usage(_)
            | AgentEvent::ModeChanged { .. }
            | AgentEvent::ConfigChanged { .. }
            | AgentEvent::LoopCheckpoint(_)
            | AgentEvent::SessionClosed { .. }
            | AgentEvent::SessionInfo(_) => {}
        }
    }

    fn message(&mut self, channel: Channel, id: &mut Option<MessageId>, ids: &dyn Ids) {
        if id.is_some() {
            self.open = id.clone().map(|id| (channel, id));
            return;
        }
        let open = match self.open.take() {
            Some((open, id)) if open == channel => id,
            _ => MessageId::new(ids.mint(IdKind::Message)),
        };
        *id = Some(open.clone());
        self.open = Some((channel, open));
    }
}

/// Durations belong to the terminal update alone.
fn durations(update: &mut ToolCallUpdate, view: &SessionView, at: Timestamp) {
    if !update.status.is_terminal() {
        update.duration_ms = None;
        update.execution_duration_ms = None;
        return;
    }
    let turn = view.open_turn.as_ref();
    if let Some(call) = turn.and_then(|turn| turn.calls.get(&update.tool_call_id)) {
        let since = |then: Timestamp| at.saturating_sub(then);
        update.duration_ms.get_or_insert(since(call.announced_at));
        if update.execution_duration_ms.is_none() {
            update.execution_duration_ms = call.started_at.map(since);
        }
    }
}
