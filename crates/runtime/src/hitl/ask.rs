//! Builders for an agent's requests to a person; `ask` sends them.

use std::time::Duration;

use harn_model::{
    ApprovalEvidence, ApprovalRequest, HitlKind, HitlRequest, UndoMetadata, format_rfc3339,
    is_same_reviewer,
};
use serde_json::Value;
use tokio::sync::oneshot;

use super::{Answer, HitlEnd, Takeover, Verdict};
use crate::{
    AgentError, IdKind, TurnContext,
    turn::{TurnItem, TurnParts},
};

/// How long a request waits for a person by default.
const DEFAULT_DEADLINE: Duration = Duration::from_secs(24 * 60 * 60);

impl TurnContext {
    /// Starts the description of a question with an answer.
    ///
    /// ```
    /// # use harn_runtime::{AgentError, TurnContext, model::StopReason};
    /// async fn choose(cx: &TurnContext) -> Result<StopReason, AgentError> {
    ///     let port = cx
    ///         .question("Which port?")
    ///         .choices(["8080", "9090"])
    ///         .ask()
    ///         .await?;
    ///     cx.say(format!("Listening on {}.", port.text())).await?;
    ///     Ok(StopReason::EndTurn)
    /// }
    /// ```
    pub fn question(&self, prompt: impl Into<String>) -> QuestionBuilder {
        QuestionBuilder(HitlDraft::new(self, HitlKind::Question, prompt.into()))
    }

    /// Starts the description of an action that a person must approve.
    ///
    /// ```
    /// # use harn_runtime::{AgentError, TurnContext, model::StopReason};
    /// # use serde_json::json;
    /// async fn deploy(cx: &TurnContext) -> Result<StopReason, AgentError> {
    ///     let verdict = cx
    ///         .approval("deploy")
    ///         .args(json!({"to": "production"}))
    ///         .evidence("url", "https://ci.example/builds/41")
    ///         .reviewers(["ada", "grace"])
    ///         .ask()
    ///         .await?;
    ///     cx.say(if verdict.approved { "Deploying." } else { "Then not." })
    ///         .await?;
    ///     Ok(StopReason::EndTurn)
    /// }
    /// ```
    pub fn approval(&self, action: impl Into<String>) -> ApprovalBuilder {
        ApprovalBuilder::new(self, HitlKind::Approval, action.into())
    }

    /// Starts the description of an action that several people must approve, at least two.
    pub fn dual_control(&self, action: impl Into<String>) -> ApprovalBuilder {
        ApprovalBuilder::new(self, HitlKind::DualControl, action.into())
    }

    /// Starts the description of an escalation to a person who takes over.
    pub fn escalation(&self, reason: impl Into<String>) -> EscalationBuilder {
        EscalationBuilder(HitlDraft::new(self, HitlKind::Escalation, reason.into()))
    }
}

/// The part that all kinds share: the request, which gets its id and its times when it is sent.
struct HitlDraft {
    cx: TurnContext,
    deadline: Duration,
    request: HitlRequest,
}

impl HitlDraft {
    fn new(cx: &TurnContext, kind: HitlKind, subject: String) -> Self {
        let parts = cx.parts();
        let shared = &parts.observer.shared;
        let worker = shared.worker_name().map(str::to_owned);
        Self {
            cx: cx.clone(),
            deadline: DEFAULT_DEADLINE,
            request: HitlRequest {
                request_id: String::new(),
                kind,
                subject,
                detail: None,
                choices: Vec::new(),
                default: None,
                to: None,
                reviewers: Vec::new(),
                quorum: minimum_quorum(kind),
                approval: None,
                mutation: None,
                agent: worker.unwrap_or_else(|| shared.profile.name.clone()),
                turn: parts.turn.clone(),
                requested_at: 0,
                deadline: 0,
                lineage: Vec::new(),
            },
        }
    }

    /// Sends the request, completed by its kind, and waits for its end.
    async fn send(
        self,
        complete: impl FnOnce(&mut HitlRequest, &TurnParts),
    ) -> Result<HitlEnd, AgentError> {
        let mut request = self.request;
        if request.subject.trim().is_empty() {
            let blank = format!("the {} is blank", request.kind.as_str());
            return Err(AgentError::Failed(blank));
        }
        let parts = self.cx.parts();
        let config = &parts.observer.shared.config;
        let now = config.clock.now();
        let wait = u64::try_from(self.deadline.as_millis()).unwrap_or(u64::MAX);
        request.request_id = request.kind.request_id(&config.ids.mint(IdKind::Ask));
        request.requested_at = now;
        request.deadline = now.saturating_add(wait);
        complete(&mut request, parts);
        let (reply, end) = oneshot::channel();
        self.cx
            .push(TurnItem::Hitl(Box::new(request), reply))
            .await?;
        // A dropped reply means that the runtime settled the turn.
        end.await.map_err(|_| AgentError::Cancelled)
    }
}

/// A question that has been described but not asked.
#[must_use = "a question is put by `ask`"]
pub struct QuestionBuilder(HitlDraft);

impl QuestionBuilder {
    /// Adds details.
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.0.request.detail = Some(detail.into());
        self
    }

    /// Sets the possible answers. Without choices, any answer is possible.
    pub fn choices<T: Into<String>>(mut self, choices: impl IntoIterator<Item = T>) -> Self {
        self.0.request.choices = collect_distinct(choices);
        self
    }

    /// Sets the answer that applies if no person answers; one of the choices, if there are any.
    pub fn default(mut self, answer: impl Into<String>) -> Self {
        self.0.request.default = Some(answer.into());
        self
    }

    /// Sets how long to wait for an answer; a day by default.
    pub fn deadline(mut self, wait: Duration) -> Self {
        self.0.deadline = wait;
        self
    }

    /// Sends the question and waits for the answer. Without an answer or a default, returns
    /// [`AgentError::Unanswered`]: passed on with `?`, it ends the turn without failing it, and the person
    /// may answer with the next prompt.
    pub async fn ask(self) -> Result<Answer, AgentError> {
        let HitlRequest {
            choices, default, ..
        } = &self.0.request;
        let fits = |answer: &String| choices.is_empty() || choices.contains(answer);
        if !default.as_ref().is_none_or(fits) {
            let reason = "the default of a question must be one of its choices";
            return Err(AgentError::failed(reason));
        }
        let otherwise = default.clone();
        Answer::from_end(self.0.send(|_, _| ()).await?, otherwise)
    }
}

/// An approval that has been described but not requested.
#[must_use = "an approval is asked for by `ask`"]
pub struct ApprovalBuilder {
    draft: HitlDraft,
    args: Value,
    evidence: Vec<ApprovalEvidence>,
    capabilities: Vec<String>,
}

impl ApprovalBuilder {
    fn new(cx: &TurnContext, kind: HitlKind, action: String) -> Self {
        Self {
            draft: HitlDraft::new(cx, kind, action),
            args: Value::Null,
            evidence: Vec::new(),
            capabilities: Vec::new(),
        }
    }

    /// Adds details.
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.draft.request.detail = Some(detail.into());
        self
    }

    /// Sets the arguments of the action; the reviewers see them, so they must contain no secrets.
    pub fn args(mut self, args: Value) -> Self {
        self.args = args;
        self
    }

    /// Adds evidence for the reviewers, such as `("workspace_path", "deploy.toml")`.
    pub fn evidence(mut self, kind: impl Into<String>, reference: impl Into<String>) -> Self {
        self.evidence.push(ApprovalEvidence {
            kind: kind.into(),
            reference: reference.into(),
            metadata: Value::Null,
        });
        self
    }

    /// Sets the required capabilities, as `capability.operation`.
    pub fn capabilities<T: Into<String>>(mut self, all: impl IntoIterator<Item = T>) -> Self {
        self.capabilities = collect_distinct(all);
        self
    }

    /// Sets who may decide. Without names, any person may.
    pub fn reviewers<T: Into<String>>(mut self, names: impl IntoIterator<Item = T>) -> Self {
        let reviewers = &mut self.draft.request.reviewers;
        reviewers.clear();
        // A person listed twice could make the quorum unreachable.
        for name in collect_distinct(names) {
            if !reviewers.iter().any(|kept| is_same_reviewer(kept, &name)) {
                reviewers.push(name);
            }
        }
        self
    }

    /// Sets how many different people must agree: at least one for an approval, two for dual control.
    pub fn quorum(mut self, people: u64) -> Self {
        self.draft.request.quorum = people;
        self
    }

    /// Sets how long to wait for a verdict; a day by default.
    pub fn deadline(mut self, wait: Duration) -> Self {
        self.draft.deadline = wait;
        self
    }

    /// Sends the request and waits for the verdict: enough people agreed, or one refused. Without a verdict,
    /// returns [`AgentError::Unanswered`], which is no approval.
    pub async fn ask(self) -> Result<Verdict, AgentError> {
        let Self {
            draft,
            args,
            evidence,
            capabilities,
        } = self;
        let request = &draft.request;
        let least = minimum_quorum(request.kind);
        if request.quorum < least {
            let kind = request.kind.as_str();
            let reason = format!("the quorum of {kind} must be at least {least}");
            return Err(AgentError::Failed(reason));
        }
        let named = u64::try_from(request.reviewers.len()).unwrap_or(u64::MAX);
        if named > 0 && named < request.quorum {
            let reason = "the quorum is larger than the number of reviewers";
            return Err(AgentError::failed(reason));
        }
        let end = draft.send(|request, parts| {
            let shared = &parts.observer.shared;
            let mutation = shared.mutation_session(&parts.turn);
            let worker = shared.lineage.as_ref().map(|of| of.worker_id.to_string());
            request.approval = Some(Box::new(ApprovalRequest {
                id: request.request_id.clone(),
                action: request.subject.clone(),
                args,
                principal: worker.unwrap_or_else(|| parts.observer.id().to_string()),
                requested_at: format_rfc3339(request.requested_at),
                deadline: Some(format_rfc3339(request.deadline)),
                approvers_required: request.quorum,
                evidence_refs: evidence,
                undo_metadata: mutation.as_ref().map(|mutation| UndoMetadata {
                    mutation: Some(mutation.without_policy()),
                    policy_decision: None,
                }),
                capabilities_requested: capabilities,
            }));
            request.mutation = mutation;
        });
        Verdict::from_end(end.await?)
    }
}

/// An escalation to a person who takes over, described but not sent.
#[must_use = "an escalation is made by `ask`"]
pub struct EscalationBuilder(HitlDraft);

impl EscalationBuilder {
    /// Adds details.
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.0.request.detail = Some(detail.into());
        self
    }

    /// Sets who should take over: a person or a role.
    pub fn assignee(mut self, whom: impl Into<String>) -> Self {
        self.0.request.to = Some(whom.into());
        self
    }

    /// Sets how long to wait for a person; a day by default.
    pub fn deadline(mut self, wait: Duration) -> Self {
        self.0.deadline = wait;
        self
    }

    /// Sends the escalation and waits until a person accepts or declines. Without either, returns
    /// [`AgentError::Unanswered`].
    pub async fn ask(self) -> Result<Takeover, AgentError> {
        Takeover::from_end(self.0.send(|_, _| ()).await?)
    }
}

/// Returns the minimum quorum of a kind.
fn minimum_quorum(kind: HitlKind) -> u64 {
    match kind {
        HitlKind::DualControl => 2,
        HitlKind::Question | HitlKind::Approval | HitlKind::Escalation => 1,
    }
}

/// Returns the values in order, without blanks and duplicates.
fn collect_distinct<T: Into<String>>(all: impl IntoIterator<Item = T>) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    for one in all {
        let one = one.into();
        if !one.trim().is_empty() && !kept.contains(&one) {
            kept.push(one);
        }
    }
    kept
}
