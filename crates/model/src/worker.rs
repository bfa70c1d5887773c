//! Delegated workers: the steps of their life, and what a session remembers of them.

use std::sync::Arc;

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{MutationSession, SessionId, WorkerId};

/// A step in a delegated worker's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum WorkerEvent {
    /// A new cycle begins.
    WorkerSpawned,
    /// It resumes after a trigger; a new cycle follows.
    WorkerProgressed,
    /// It finished a cycle and waits for the next trigger.
    WorkerWaitingForInput,
    /// It ended well.
    WorkerCompleted,
    /// It ended badly.
    WorkerFailed,
    /// It stopped after handing over.
    WorkerStopped,
    /// It was cancelled.
    WorkerCancelled,
}

impl WorkerEvent {
    /// Whether the worker's life is over.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        match self {
            Self::WorkerSpawned | Self::WorkerProgressed | Self::WorkerWaitingForInput => false,
            Self::WorkerCompleted
            | Self::WorkerFailed
            | Self::WorkerStopped
            | Self::WorkerCancelled => true,
        }
    }

    /// Whether the worker is at work after it.
    #[must_use]
    pub fn is_running(self) -> bool {
        match self {
            Self::WorkerSpawned | Self::WorkerProgressed => true,
            Self::WorkerWaitingForInput
            | Self::WorkerCompleted
            | Self::WorkerFailed
            | Self::WorkerStopped
            | Self::WorkerCancelled => false,
        }
    }

    /// The state it leaves the worker in.
    #[must_use]
    pub fn status(self) -> WorkerStatus {
        match self {
            Self::WorkerSpawned => WorkerStatus::Running,
            Self::WorkerProgressed => WorkerStatus::Progressed,
            Self::WorkerWaitingForInput => WorkerStatus::AwaitingInput,
            Self::WorkerCompleted => WorkerStatus::Completed,
            Self::WorkerFailed => WorkerStatus::Failed,
            Self::WorkerStopped => WorkerStatus::Stopped,
            Self::WorkerCancelled => WorkerStatus::Cancelled,
        }
    }
}

/// The state of a worker, one for each [`WorkerEvent`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WorkerStatus {
    /// At work.
    Running,
    /// About to work again.
    Progressed,
    /// Waits for a trigger.
    AwaitingInput,
    /// Ended well.
    Completed,
    /// Ended badly.
    Failed,
    /// Handed over and stopped.
    Stopped,
    /// Was cancelled.
    Cancelled,
}

impl WorkerStatus {
    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Progressed => "progressed",
            Self::AwaitingInput => "awaiting_input",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Stopped => "stopped",
            Self::Cancelled => "cancelled",
        }
    }
}

/// A delegated worker changed state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkerUpdate {
    /// The worker.
    pub worker_id: WorkerId,
    /// Its name.
    pub worker_name: String,
    /// What it does: the task it was started with, or that of its last trigger.
    pub worker_task: String,
    /// How it runs: `delegated_stage`, `sub_agent`, …
    pub worker_mode: String,
    /// What happened.
    pub event: WorkerEvent,
    /// Which cycle of the worker this belongs to, from 1; filled by the runtime.
    #[serde(default)]
    pub cycle: u64,
    /// Whether it can be triggered again after a cycle.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub retriggerable: bool,
    /// Times, places and what went wrong.
    #[serde(default)]
    pub metadata: WorkerMetadata,
    /// The mutation session it works under; filled by the runtime.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit: Option<Arc<MutationSession>>,
}

impl WorkerUpdate {
    /// The step after this one, without the times that belong to it.
    #[must_use]
    pub fn then(&self, event: WorkerEvent) -> Self {
        Self {
            event,
            ..self.clone()
        }
    }
}

/// Facts about a worker for who tracks it. Times are RFC 3339.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct WorkerMetadata {
    /// What it does: the task it was started with, or that of its last trigger.
    pub task: String,
    /// How it runs.
    pub mode: String,
    /// When it was first spawned.
    pub started_at: Option<String>,
    /// When its life ended.
    pub finished_at: Option<String>,
    /// Since when it waits; set while it does, and when it ends out of waiting.
    pub awaiting_started_at: Option<String>,
    /// The session it works in.
    pub child_run_id: Option<SessionId>,
    /// The folder of that session, relative to the store's own folder.
    pub child_run_path: Option<String>,
    /// The log of that session, which the worker's state is folded from; relative likewise.
    pub snapshot_path: Option<String>,
    /// The mutation session it works under; filled by the runtime.
    pub audit: Option<Arc<MutationSession>>,
    /// What went wrong.
    pub error: Option<String>,
}
