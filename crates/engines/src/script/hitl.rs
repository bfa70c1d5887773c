//! Steps that ask a person, and the steps that follow each answer.

use std::time::Duration;

use harn_model::HitlKind;
use harn_runtime::{AgentError, BoxFuture, TurnContext};
use serde_json::Value;

use super::{apply_if_some, scenario::ScenarioStep};

/// A step that asks a person.
#[derive(Debug)]
pub(super) struct HitlStep {
    pub(super) kind: HitlKind,
    /// The question, the action or the reason.
    pub(super) subject: String,
    pub(super) detail: Option<String>,
    pub(super) choices: Vec<String>,
    pub(super) default: Option<String>,
    pub(super) args: Option<Value>,
    pub(super) reviewers: Vec<String>,
    pub(super) quorum: Option<u64>,
    pub(super) to: Option<String>,
    pub(super) deadline: Option<Duration>,
    /// The steps after an answer, an approval or an accepted escalation.
    pub(super) on_yes: Vec<ScenarioStep>,
    pub(super) on_no: Vec<ScenarioStep>,
    /// The steps after no answer; without them, the turn ends.
    pub(super) on_none: Option<Vec<ScenarioStep>>,
}

impl HitlStep {
    /// Asks, and returns the steps that follow.
    pub(super) fn ask<'a>(
        &'a self,
        cx: &'a TurnContext,
    ) -> BoxFuture<'a, Result<&'a [ScenarioStep], AgentError>> {
        Box::pin(async move {
            let answer = match self.kind {
                HitlKind::Question => self.question(cx).await,
                HitlKind::Approval | HitlKind::DualControl => self.approval(cx).await,
                HitlKind::Escalation => self.escalation(cx).await,
            };
            let steps = match (answer, &self.on_none) {
                (Ok(true), _) => &self.on_yes,
                (Ok(false), _) => &self.on_no,
                (Err(AgentError::Unanswered { .. }), Some(steps)) => steps,
                (Err(error), _) => return Err(error),
            };
            Ok(steps.as_slice())
        })
    }

    async fn question(&self, cx: &TurnContext) -> Result<bool, AgentError> {
        let question = cx.question(&self.subject).choices(&self.choices);
        let question = apply_if_some(question, self.detail.as_ref(), |it, text| it.detail(text));
        let question = apply_if_some(question, self.default.as_ref(), |it, text| it.default(text));
        let question = apply_if_some(question, self.deadline, |it, time| it.deadline(time));
        question.ask().await.map(|_| true)
    }

    async fn approval(&self, cx: &TurnContext) -> Result<bool, AgentError> {
        let approval = match self.kind {
            HitlKind::DualControl => cx.dual_control(&self.subject),
            HitlKind::Question | HitlKind::Approval | HitlKind::Escalation => {
                cx.approval(&self.subject)
            }
        };
        let approval = approval.reviewers(&self.reviewers);
        let approval = apply_if_some(approval, self.detail.as_ref(), |it, text| it.detail(text));
        let approval = apply_if_some(approval, self.args.clone(), |it, args| it.args(args));
        let approval = apply_if_some(approval, self.quorum, |it, quorum| it.quorum(quorum));
        let approval = apply_if_some(approval, self.deadline, |it, time| it.deadline(time));
        approval.ask().await.map(|verdict| verdict.approved)
    }

    async fn escalation(&self, cx: &TurnContext) -> Result<bool, AgentError> {
        let escalation = cx.escalation(&self.subject);
        let escalation =
            apply_if_some(escalation, self.detail.as_ref(), |it, text| it.detail(text));
        let escalation = apply_if_some(escalation, self.to.as_ref(), |it, to| it.assignee(to));
        let escalation = apply_if_some(escalation, self.deadline, |it, time| it.deadline(time));
        escalation.ask().await.map(|takeover| takeover.accepted)
    }
}
