//! The mutation session: under whose name, and how far, tools may change things. Filled by the runtime.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ApprovalPolicy, SessionId, TurnId, WorkerId};

/// Groups everything done under one right to write. The same record travels with tool calls, worker
/// updates and permission requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct MutationSession {
    /// The session that acts.
    pub session_id: SessionId,
    /// The session it works for, where it is a worker's.
    #[serde(default)]
    pub parent_session_id: Option<SessionId>,
    /// The turn.
    #[serde(default)]
    pub run_id: Option<TurnId>,
    /// The worker, where it is one's.
    #[serde(default)]
    pub worker_id: Option<WorkerId>,
    /// What sort of run it is.
    #[serde(default)]
    pub execution_kind: Option<ExecutionKind>,
    /// How far it may reach.
    #[serde(default)]
    pub mutation_scope: MutationScope,
    /// The policy in force; null where there is none. Updates of a call omit it, and so do a request's copies
    /// of the record beside `mutation`.
    #[serde(default, skip_serializing_if = "ApprovalPolicy::is_omitted")]
    pub approval_policy: ApprovalPolicy,
}

impl MutationSession {
    /// The same record without the policy, for whoever has the record with it.
    #[must_use]
    pub fn without_policy(&self) -> Self {
        Self {
            session_id: self.session_id.clone(),
            parent_session_id: self.parent_session_id.clone(),
            run_id: self.run_id.clone(),
            worker_id: self.worker_id.clone(),
            execution_kind: self.execution_kind,
            mutation_scope: self.mutation_scope,
            approval_policy: ApprovalPolicy::Omitted,
        }
    }

    /// The record of a worker that acts for this one, in a session of its own where it has one. It may
    /// do no more, under the same rules, as part of the same run.
    #[must_use]
    pub fn delegated(&self, session: Option<&SessionId>, worker: &WorkerId) -> Self {
        Self {
            session_id: session.unwrap_or(&self.session_id).clone(),
            parent_session_id: Some(self.session_id.clone()),
            worker_id: Some(worker.clone()),
            execution_kind: Some(ExecutionKind::Worker),
            ..self.clone()
        }
    }
}

/// What sort of run a mutation session belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExecutionKind {
    /// A person's prompt.
    Run,
    /// A task an agent delegated.
    Worker,
}

/// How far a mutation session may reach, the least first.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum MutationScope {
    /// Nothing may change.
    #[default]
    ReadOnly,
    /// The workspace may change.
    ApplyWorkspace,
}
