//! Who may write an event: one exhaustive answer, so that an agent cannot end its own turn behind the
//! runtime's back.

use crate::AgentEvent;

/// Who may write an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Author {
    /// An agent, during its turn.
    Agent,
    /// The runtime only; the text says how it comes about.
    Runtime(&'static str),
}

impl AgentEvent {
    /// Who may write it.
    #[must_use]
    pub fn author(&self) -> Author {
        match self {
            Self::TurnStarted(_) => Author::Runtime("a prompt starts the turn"),
            Self::PromptQueued(_) => Author::Runtime("a prompt waits behind the turn that runs"),
            Self::PromptWithdrawn(_) => Author::Runtime("whoever sent a prompt cancels it"),
            Self::TurnEnded(_) => Author::Runtime("the turn ends when the agent returns"),
            Self::PermissionAsked(_)
            | Self::PermissionResolved(_)
            | Self::PermissionGrant(_)
            | Self::PermissionDeny(_)
            | Self::PermissionEscalation(_)
            | Self::LiveSessionPermissionRoute(_) => {
                Author::Runtime("a tool call asks for permission")
            }
            Self::HitlResponded(_) => Author::Runtime("whoever is asked answers"),
            Self::GrantRevoked { .. } => Author::Runtime("whoever controls the session revokes it"),
            Self::ModeChanged { .. } | Self::ConfigChanged { .. } => {
                Author::Runtime("whoever controls the session changes it")
            }
            Self::ToolsChanged(_) | Self::McpServers { .. } => {
                Author::Runtime("what the session is equipped with writes it")
            }
            Self::WorkerCall(_) => Author::Runtime("a worker that calls a tool writes it"),
            Self::LoopCheckpoint(_) => Author::Runtime("passing a seam writes it"),
            Self::Pending(_) | Self::ControlOutcome(_) => {
                Author::Runtime("whoever steers the session writes it")
            }
            Self::ReminderLifecycle(_) => Author::Runtime("a reminder that is delivered writes it"),
            Self::Daemon(_) => Author::Runtime("waiting for more to do writes it"),
            Self::Recovered(_) => Author::Runtime("opening a session after a crash writes it"),
            Self::SessionClosed { .. } => Author::Runtime("whoever closes the session writes it"),
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
            | Self::SkillActivated { .. }
            | Self::SkillDeactivated { .. }
            | Self::SkillScopeTools { .. }
            | Self::SkillNarrow(_)
            | Self::SkillMatched(_)
            | Self::ToolSearchQuery(_)
            | Self::ToolSearchResult(_)
            | Self::TranscriptCompacted(_)
            | Self::TranscriptProjected(_)
            | Self::ReminderEmitted(_)
            | Self::HitlRequested { .. }
            | Self::HitlResolved { .. }
            | Self::AvailableCommands { .. }
            | Self::LiveSessionClient { .. }
            | Self::CompositionStart(_)
            | Self::CompositionChildCall(_)
            | Self::CompositionChildResult(_)
            | Self::CompositionFinish(_)
            | Self::CompositionError(_)
            | Self::Usage(_)
            | Self::SessionInfo(_) => Author::Agent,
        }
    }
}
