//! What somebody says of a call, and who of several is heard. Decides nothing by itself.

use harn_model::{Grant, PolicyAction, RiskLabel};

use crate::{LocatedPath, compile::CompiledRule};

/// What is said of a call, and by whom. Words are found only for the one that is heard.
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
    /// A path that cannot be told.
    Untold(&'a LocatedPath),
    /// A declared path elsewhere.
    Outside(&'a LocatedPath),
    /// A file that a command would write, elsewhere as far as its words tell.
    OutsideRedirect(&'a str),
    /// A command that is not understood.
    Doubt(&'a str),
    /// The mode, and why.
    Mode(&'static str),
}

impl<'a> Opinion<'a> {
    pub(super) fn new(action: PolicyAction, source: OpinionSource<'a>) -> Self {
        Self { action, source }
    }
}

/// The strongest opinion so far that takes away, and what makes the call risky.
#[derive(Debug, Default)]
pub(super) struct StrongestOpinion<'a> {
    pub(super) opinion: Option<Opinion<'a>>,
    pub(super) labels: Vec<RiskLabel>,
}

impl<'a> StrongestOpinion<'a> {
    /// Hears an opinion; of equals the first stays.
    pub(super) fn say(&mut self, action: PolicyAction, source: OpinionSource<'a>) {
        if self.opinion.is_none_or(|said| action > said.action) {
            self.opinion = Some(Opinion::new(action, source));
        }
    }

    /// Hears an opinion because of a risk.
    pub(super) fn say_risk(
        &mut self,
        label: RiskLabel,
        action: PolicyAction,
        source: OpinionSource<'a>,
    ) {
        self.labels.push(label);
        self.say(action, source);
    }
}
