//! Delegated workers: their lifecycle events, and what a session stores about them.

use std::sync::Arc;

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{MutationSession, SessionId, WorkerId};

/// A lifecycle event of a delegated worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum WorkerEvent {
    /// A new cycle begins.
    WorkerSpawned,
    /// It resumes after a trigger; a new cycle follows.
    WorkerProgressed,
    /// It finished a cycle and waits for the next trigger.
    WorkerWaitingForInput,
    /// It ended successfully.
    WorkerCompleted,
    /// It ended with an error.
    WorkerFailed,
    /// It stopped after a handoff.
    WorkerStopped,
    /// It was cancelled.
    WorkerCancelled,
}

impl WorkerEvent {
    /// Whether the worker has ended.
    pub fn is_terminal(self) -> bool {
        match self {
            Self::WorkerSpawned | Self::WorkerProgressed | Self::WorkerWaitingForInput => false,
            Self::WorkerCompleted
            | Self::WorkerFailed
            | Self::WorkerStopped
            | Self::WorkerCancelled => true,
        }
    }

    /// Whether the worker runs after this event.
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

    /// Returns the status of the worker after this event.
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

/// The status of a worker, one for each [`WorkerEvent`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WorkerStatus {
    /// Runs a cycle.
    Running,
    /// Resumes after a trigger.
    Progressed,
    /// Waits for a trigger.
    AwaitingInput,
    /// Ended successfully.
    Completed,
    /// Ended with an error.
    Failed,
    /// Stopped after a handoff.
    Stopped,
    /// Was cancelled.
    Cancelled,
}

impl WorkerStatus {
    /// Returns its wire name.
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

/// A delegated worker changed its status.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkerUpdate {
    /// The id of the worker.
    pub worker_id: WorkerId,
    /// Its name.
    pub worker_name: String,
    /// Its task: that of its start, or of its last trigger.
    pub worker_task: String,
    /// How it runs: `delegated_stage`, `sub_agent`, …
    pub worker_mode: String,
    /// The lifecycle event.
    pub event: WorkerEvent,
    /// The cycle of the worker, from 1; the runtime fills it.
    #[serde(default)]
    pub cycle: u64,
    /// Whether it can be triggered again after a cycle.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub retriggerable: bool,
    /// Times, paths and the error.
    #[serde(default)]
    pub metadata: WorkerMetadata,
    /// The mutation session it works under; the runtime fills it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit: Option<Arc<MutationSession>>,
}

impl WorkerUpdate {
    /// Returns the next update of the same worker, with this event.
    #[must_use]
    pub fn with_event(&self, event: WorkerEvent) -> Self {
        Self {
            event,
            ..self.clone()
        }
    }
}

/// Facts about a worker, for clients that track it. Times are RFC 3339.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct WorkerMetadata {
    /// Its task: that of its start, or of its last trigger.
    pub task: String,
    /// How it runs.
    pub mode: String,
    /// When it was first spawned.
    pub started_at: Option<String>,
    /// When it ended.
    pub finished_at: Option<String>,
    /// Since when it waits; set while it waits, and if it ends while it waits.
    pub awaiting_started_at: Option<String>,
    /// The session it works in.
    pub child_run_id: Option<SessionId>,
    /// The folder of that session, relative to the folder of the store.
    pub child_run_path: Option<String>,
    /// The log of that session, from which the worker's state is folded; relative to the same folder.
    pub snapshot_path: Option<String>,
    /// The mutation session it works under; the runtime fills it.
    pub audit: Option<Arc<MutationSession>>,
    /// The error message.
    pub error: Option<String>,
}
