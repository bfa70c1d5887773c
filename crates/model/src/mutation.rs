//! The mutation session: on whose behalf, and how far, tools may change things. The runtime fills it.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ApprovalPolicy, SessionId, TurnId, WorkerId};

/// The record that groups everything done under one permission to write. Tool calls, worker updates and permission
/// requests carry the same record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct MutationSession {
    /// The session that acts.
    pub session_id: SessionId,
    /// The session that a worker's session works for.
    #[serde(default)]
    pub parent_session_id: Option<SessionId>,
    /// The id of the turn.
    #[serde(default)]
    pub run_id: Option<TurnId>,
    /// The worker, if a worker acts.
    #[serde(default)]
    pub worker_id: Option<WorkerId>,
    /// The kind of run.
    #[serde(default)]
    pub execution_kind: Option<ExecutionKind>,
    /// What it may change.
    #[serde(default)]
    pub mutation_scope: MutationScope,
    /// The policy in force; null if there is none. Updates of a call omit it, and so do a request's other copies
    /// of the record besides `mutation`.
    #[serde(default, skip_serializing_if = "ApprovalPolicy::is_omitted")]
    pub approval_policy: ApprovalPolicy,
}

impl MutationSession {
    /// Returns the record without the policy, for readers that have another copy with it.
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

    /// Returns the record of a worker that acts for this session, in its own session if it has one. The worker has
    /// the same scope and policy and belongs to the same run.
    #[must_use]
    pub fn delegate_to(&self, session: Option<&SessionId>, worker: &WorkerId) -> Self {
        Self {
            session_id: session.unwrap_or(&self.session_id).clone(),
            parent_session_id: Some(self.session_id.clone()),
            worker_id: Some(worker.clone()),
            execution_kind: Some(ExecutionKind::Worker),
            ..self.clone()
        }
    }
}

/// The kind of run that a mutation session belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExecutionKind {
    /// A person's prompt.
    Run,
    /// A task that an agent delegated.
    Worker,
}

/// What a mutation session may change, the least first.
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
