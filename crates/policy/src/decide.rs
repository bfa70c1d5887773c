//! Decides about a call: deny before ask before allow, the first that says it, with a receipt.
//!
//! Every policy in a policy speaks by itself (`layer`), guards speak whatever is allowed (`guard`), and
//! what comes of it is written down (`receipt`). Looks at nothing but the call.

mod guard;
mod layer;
mod opinion;
mod receipt;

use harn_model::{Grant, GrantEffect, PolicyAction, PolicyDecision, SideEffectLevel, ToolKind};
use serde_json::Value;

use crate::{
    LocatedPath, PolicyError, SessionMode, ToolApprovalPolicy, compile::PolicyLayers, grant,
    shell::ShellLine,
};

pub(crate) use guard::writes_only_located;
use layer::CallFacts;
use opinion::{Opinion, OpinionSource, StrongestOpinion};

/// A call, as far as a decision depends on it.
#[derive(Clone, Copy, Debug)]
pub struct PolicyCall<'a> {
    /// The tool.
    pub tool: &'a str,
    /// What sort of tool; without one it counts as writing.
    pub kind: Option<ToolKind>,
    /// How far it reaches, where it says so.
    pub side_effect: Option<SideEffectLevel>,
    /// What it needs, as `capability.operation`, sorted.
    pub capabilities: &'a [String],
    /// Its arguments.
    pub arguments: &'a Value,
    /// The paths it declares.
    pub paths: &'a [LocatedPath],
    /// The line it would run, with the text it was read from.
    pub command: Option<(&'a str, &'a ShellLine)>,
    /// The session's directory.
    pub workspace: &'a str,
    /// The session's mode.
    pub mode: SessionMode,
    /// The worker it is from.
    pub agent: Option<&'a str>,
    /// What was remembered for this session and this workspace.
    pub grants: &'a [Grant],
}

impl PolicyCall<'_> {
    /// Whether it may change something: it says so, does not say, or runs a command.
    #[must_use]
    pub fn writes(&self) -> bool {
        let reaches = match self.side_effect {
            Some(SideEffectLevel::WorkspaceWrite | SideEffectLevel::ProcessExec) => true,
            Some(SideEffectLevel::None | SideEffectLevel::ReadOnly | SideEffectLevel::Network)
            | None => false,
        };
        reaches || self.command.is_some() || !self.kind.is_some_and(ToolKind::is_read_only)
    }
}

/// A policy ready to decide. Cheap to share, costly to make.
#[derive(Debug)]
pub struct Policy {
    source: ToolApprovalPolicy,
    layers: PolicyLayers,
}

impl Policy {
    pub(crate) fn new(source: &ToolApprovalPolicy) -> Result<Self, PolicyError> {
        Ok(Self {
            source: source.clone(),
            layers: PolicyLayers::read(source)?,
        })
    }

    /// As it was written.
    #[must_use]
    pub fn source(&self) -> &ToolApprovalPolicy {
        &self.source
    }

    /// Decides about a call.
    #[must_use]
    pub fn decide(&self, call: &PolicyCall<'_>) -> PolicyDecision {
        let facts = CallFacts::new(call, &self.layers);
        let mut strongest = StrongestOpinion::default();

        guard::paths(&facts, &self.layers.layers, &mut strongest);
        guard::command(call, &mut strongest);
        if let Some(grant) = grant::find(call, GrantEffect::Deny) {
            strongest.say(PolicyAction::Deny, OpinionSource::Grant(grant));
        }
        let mut given = None;
        let mut agreed = true;
        for layer in &self.layers.layers {
            let allowed = layer::speak(layer, &facts, &mut strongest);
            agreed &= allowed.is_some() || !layer.approves;
            if layer.gives {
                given = given.or(allowed);
            }
        }
        let (action, why) = call.mode.word(call);
        let mode = Opinion::new(action, OpinionSource::Mode(why));
        if action == PolicyAction::Deny {
            strongest.say(mode.action, mode.source);
        }
        let said = strongest.opinion.or(given.filter(|_| agreed));
        let opinion = said.unwrap_or(mode);
        let opinion = match opinion.action {
            PolicyAction::Ask => grant::find(call, GrantEffect::Allow).map_or(opinion, |grant| {
                Opinion::new(PolicyAction::Allow, OpinionSource::Grant(grant))
            }),
            PolicyAction::Allow | PolicyAction::Deny => opinion,
        };
        receipt::write(call, &opinion, strongest.labels)
    }
}
