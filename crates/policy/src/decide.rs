//! Decides about a call, with a receipt: deny before ask before allow, and of equals the first.
//!
//! Each policy in a policy is evaluated by itself (`layer`), guards restrict whatever is allowed (`guard`),
//! and `receipt` records the result. Uses nothing but the policy and the call.

mod guard;
mod layer;
mod opinion;
mod receipt;

use std::sync::Arc;

use harn_model::{Grant, GrantEffect, PolicyAction, PolicyDecision, SideEffectLevel, ToolKind};
use serde_json::Value;

use crate::{
    CommandAccess, CommandFindings, LocatedPath, PolicyError, SandboxSettings, SessionMode,
    ToolApprovalPolicy, compile::PolicyLayers, grant, shell::ShellLine,
};

pub(crate) use guard::{must_ask, writes_only_located};
use layer::CallFacts;
use opinion::{Opinion, OpinionSource, StrongestOpinion};

/// The facts of a call that a decision depends on.
#[derive(Clone, Copy, Debug)]
pub struct PolicyCall<'a> {
    /// The name of the tool.
    pub tool: &'a str,
    /// The kind of the tool; without one the call counts as writing.
    pub kind: Option<ToolKind>,
    /// The side-effect level, if the tool declares one.
    pub side_effect: Option<SideEffectLevel>,
    /// The capabilities that the tool needs, as `capability.operation`, sorted.
    pub capabilities: &'a [String],
    /// The arguments of the call.
    pub arguments: &'a Value,
    /// The paths that the call declares.
    pub paths: &'a [LocatedPath],
    /// The text of the line that it would run, and the parsed line.
    pub command: Option<(&'a str, &'a ShellLine)>,
    /// What the disk shows about the line. Without it, links are not followed, and git asks.
    pub findings: Option<&'a CommandFindings>,
    /// The session's directory.
    pub workspace: &'a str,
    /// The session's mode.
    pub mode: SessionMode,
    /// The worker that makes the call.
    pub agent: Option<&'a str>,
    /// The grants of this session and this workspace.
    pub grants: &'a [Grant],
}

impl PolicyCall<'_> {
    /// Returns the access that its command requests; none if it runs no command.
    pub fn access(&self) -> CommandAccess {
        let arguments = self.command.map(|_| self.arguments);
        arguments.map_or_else(CommandAccess::default, CommandAccess::from_arguments)
    }

    /// Whether the call may change something: it declares so, declares nothing, or runs a command.
    pub fn writes(&self) -> bool {
        let reaches = match self.side_effect {
            Some(SideEffectLevel::WorkspaceWrite | SideEffectLevel::ProcessExec) => true,
            Some(SideEffectLevel::None | SideEffectLevel::ReadOnly | SideEffectLevel::Network)
            | None => false,
        };
        reaches || self.command.is_some() || !self.kind.is_some_and(ToolKind::is_read_only)
    }
}

/// A compiled policy. Cheap to share, costly to build.
#[derive(Debug)]
pub struct Policy {
    source: ToolApprovalPolicy,
    layers: PolicyLayers,
    sandbox: Arc<SandboxSettings>,
}

impl Policy {
    pub(crate) fn new(source: &ToolApprovalPolicy) -> Result<Self, PolicyError> {
        Ok(Self {
            source: source.clone(),
            layers: PolicyLayers::read(source)?,
            sandbox: Arc::new(SandboxSettings::from_policy(source)),
        })
    }

    /// Returns what the policy states about the sandbox.
    pub fn sandbox(&self) -> &Arc<SandboxSettings> {
        &self.sandbox
    }

    /// Returns the policy as it was written.
    pub fn source(&self) -> &ToolApprovalPolicy {
        &self.source
    }

    /// Decides about a call and returns the receipt.
    pub fn decide(&self, call: &PolicyCall<'_>) -> PolicyDecision {
        let facts = CallFacts::new(call, &self.layers);
        let mut strongest = StrongestOpinion::default();

        guard::check_paths(&facts, &self.layers.layers, &mut strongest);
        guard::check_command(call, &mut strongest);
        guard::check_configuration(call, &mut strongest);
        if let Some(grant) = grant::find(call, GrantEffect::Deny) {
            strongest.record(PolicyAction::Deny, OpinionSource::Grant(grant));
        }
        let mut given = None;
        let mut agreed = true;
        for layer in &self.layers.layers {
            let allowed = layer::evaluate(layer, &facts, &mut strongest);
            agreed &= allowed.is_some() || !layer.approves;
            if layer.gives {
                given = given.or(allowed);
            }
        }
        let (action, why) = call.mode.decide(call);
        let mode = Opinion::new(action, OpinionSource::Mode(why));
        if action == PolicyAction::Deny {
            strongest.record(mode.action, mode.source);
        }
        let said = strongest.opinion.or(given.filter(|_| agreed));
        let opinion = said.unwrap_or(mode);
        let opinion = match opinion.action {
            PolicyAction::Ask if !strongest.must_ask => {
                let grant = grant::find(call, GrantEffect::Allow);
                let allow = |grant| Opinion::new(PolicyAction::Allow, OpinionSource::Grant(grant));
                grant.map_or(opinion, allow)
            }
            PolicyAction::Allow | PolicyAction::Ask | PolicyAction::Deny => opinion,
        };
        receipt::write(call, &opinion, strongest.labels)
    }
}
