//! How safe an event must be before anyone hears of it: one exhaustive answer, so that nobody who adds
//! an event can forget to decide.

use crate::AgentEvent;

/// What an event must survive once it was published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// The end of the process: it is with the operating system.
    Written,
    /// The end of the machine's power too: it is on the disk. For what somebody relies on having been
    /// told: decisions, settings, ends.
    Synced,
}

impl AgentEvent {
    /// How safe the event must be before anyone hears of it.
    #[must_use]
    pub fn durability(&self) -> Durability {
        match self {
            Self::TurnEnded(_)
            | Self::PromptWithdrawn(_)
            | Self::PermissionResolved(_)
            | Self::GrantRevoked { .. }
            | Self::HitlResponded(_)
            | Self::HitlResolved { .. }
            | Self::ModeChanged { .. }
            | Self::ConfigChanged { .. }
            | Self::SessionClosed { .. } => Durability::Synced,
            Self::AgentMessageChunk { .. }
            | Self::AgentThoughtChunk { .. }
            | Self::UserMessage { .. }
            | Self::ToolCall(_)
            | Self::ToolCallUpdate(_)
            | Self::Plan { .. }
            | Self::ProgressReported(_)
            | Self::Progress(_)
            | Self::Log(_)
            | Self::Artifact(_)
            | Self::FsWatch { .. }
            | Self::Handoff { .. }
            | Self::WorkerUpdate(_)
            | Self::WorkerCall(_)
            | Self::SkillActivated { .. }
            | Self::SkillDeactivated { .. }
            | Self::SkillScopeTools { .. }
            | Self::SkillNarrow(_)
            | Self::SkillMatched(_)
            | Self::ToolSearchQuery(_)
            | Self::ToolSearchResult(_)
            | Self::ToolsChanged(_)
            | Self::McpServers { .. }
            | Self::TranscriptCompacted(_)
            | Self::TranscriptProjected(_)
            | Self::ReminderEmitted(_)
            | Self::HitlRequested { .. }
            | Self::AvailableCommands { .. }
            | Self::LiveSessionClient { .. }
            | Self::CompositionStart(_)
            | Self::CompositionChildCall(_)
            | Self::CompositionChildResult(_)
            | Self::CompositionFinish(_)
            | Self::CompositionError(_)
            | Self::LoopCheckpoint(_)
            | Self::Pending(_)
            | Self::ReminderLifecycle(_)
            | Self::ControlOutcome(_)
            | Self::Daemon(_)
            | Self::TurnStarted(_)
            | Self::PromptQueued(_)
            | Self::PermissionAsked(_)
            | Self::PermissionGrant(_)
            | Self::PermissionDeny(_)
            | Self::PermissionEscalation(_)
            | Self::LiveSessionPermissionRoute(_)
            | Self::Usage(_)
            | Self::SessionInfo(_)
            | Self::Recovered(_) => Durability::Written,
        }
    }
}
