//! Opinions about a call, and the choice of the strongest. Decides nothing by itself.

use harn_model::{Grant, PolicyAction, RiskLabel};

use crate::{LocatedPath, compile::CompiledRule, mode::ModeReason};

/// An action for a call, and its source. Only the opinion that decides is put into words.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opinion<'a> {
    pub(super) action: PolicyAction,
    pub(super) source: OpinionSource<'a>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum OpinionSource<'a> {
    AutoDeny(usize, &'a str),
    AutoApprove(usize, &'a str),
    RequireApproval(usize, &'a str),
    WritePaths(&'a str),
    Rule(usize, &'a CompiledRule),
    Grant(&'a Grant),
    /// A path that is never written.
    Protected(&'a str),
    /// Such a path among the words of a command that may write it.
    ProtectedWord(&'a str),
    /// A path whose content decides what the server runs; no grant answers the question about it.
    Configuration(&'a str),
    /// A path whose target is unknown.
    Untold(&'a LocatedPath),
    /// A declared path outside the session's directories.
    Outside(&'a LocatedPath),
    /// A file that a command would write, outside as far as its words show.
    OutsideRedirect(&'a str),
    /// A command whose effects are unknown.
    Doubt(&'a str),
    /// The session's mode, with its reason.
    Mode(ModeReason<'a>),
}

impl<'a> Opinion<'a> {
    pub(super) fn new(action: PolicyAction, source: OpinionSource<'a>) -> Self {
        Self { action, source }
    }
}

/// The strongest ask or deny opinion so far, and the risks of the call.
#[derive(Debug, Default)]
pub(super) struct StrongestOpinion<'a> {
    pub(super) opinion: Option<Opinion<'a>>,
    pub(super) labels: Vec<RiskLabel>,
    /// Whether a person must answer, whatever the grants.
    pub(super) must_ask: bool,
}

impl<'a> StrongestOpinion<'a> {
    /// Records an opinion; of equals the first stays.
    pub(super) fn record(&mut self, action: PolicyAction, source: OpinionSource<'a>) {
        if self.opinion.is_none_or(|said| action > said.action) {
            self.opinion = Some(Opinion::new(action, source));
        }
    }

    /// Records a question that no grant answers, and the risk that it is about.
    pub(super) fn record_question(&mut self, label: RiskLabel, source: OpinionSource<'a>) {
        self.must_ask = true;
        // Among questions, people must see this one.
        let asks = self
            .opinion
            .is_some_and(|said| said.action == PolicyAction::Ask);
        self.opinion = self.opinion.filter(|_| !asks);
        self.record_risk(label, PolicyAction::Ask, source);
    }

    /// Records an opinion and the risk that it is about.
    pub(super) fn record_risk(
        &mut self,
        label: RiskLabel,
        action: PolicyAction,
        source: OpinionSource<'a>,
    ) {
        self.labels.push(label);
        self.record(action, source);
    }
}
