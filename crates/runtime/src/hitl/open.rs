//! The open requests of a turn, and their answers: each answer is checked and counted once.

use std::{collections::BTreeMap, sync::Arc};

use harn_model::{HitlKind, HitlOutcome, HitlRequest, HitlResponse, is_same_reviewer};
use tokio::{sync::oneshot, time::Instant};

use crate::{
    HitlError,
    session::{expiry, wait_first_expired},
};

/// How a request to a person ended.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum HitlEnd {
    /// Answered; the last response decided.
    Answered(Vec<HitlResponse>),
    Unanswered {
        /// As published in the event.
        outcome: HitlOutcome,
        reason: String,
    },
    /// The turn was cancelled first.
    Cancelled,
}

impl HitlEnd {
    pub(crate) fn overdue() -> Self {
        Self::Unanswered {
            outcome: HitlOutcome::Timeout,
            reason: "no answer arrived in time".to_owned(),
        }
    }

    pub(crate) fn withdrawn(reason: impl Into<String>) -> Self {
        Self::Unanswered {
            outcome: HitlOutcome::Cancelled,
            reason: reason.into(),
        }
    }

    pub(crate) fn declined() -> Self {
        Self::withdrawn("the person who was asked declined to answer")
    }

    pub(crate) fn outcome(&self) -> HitlOutcome {
        match self {
            Self::Answered(_) => HitlOutcome::Answered,
            Self::Unanswered { outcome, .. } => *outcome,
            Self::Cancelled => HitlOutcome::Cancelled,
        }
    }
}

/// The effect of a valid answer.
pub(crate) enum ResponseTally {
    Wait,
    /// It was the last answer needed.
    Done(PendingHitl),
}

/// An open request to a person.
pub(crate) struct PendingHitl {
    pub(crate) request: Arc<HitlRequest>,
    pub(crate) counted: Vec<HitlResponse>,
    pub(crate) reply: oneshot::Sender<HitlEnd>,
    /// `None` if another session watches the deadline.
    expires: Option<Instant>,
}

/// All open requests of a turn, by id.
#[derive(Default)]
pub(crate) struct OpenHitl {
    pending: BTreeMap<String, PendingHitl>,
}

impl OpenHitl {
    pub(crate) fn insert(
        &mut self,
        request: Arc<HitlRequest>,
        reply: oneshot::Sender<HitlEnd>,
        timed: bool,
    ) {
        let wait = request.deadline.saturating_sub(request.requested_at);
        let expires = timed.then(|| expiry(wait));
        let id = request.request_id.clone();
        let pending = PendingHitl {
            request,
            counted: Vec::new(),
            reply,
            expires,
        };
        self.pending.insert(id, pending);
    }

    pub(crate) fn contains(&self, id: &str) -> bool {
        self.pending.contains_key(id)
    }

    pub(crate) fn take(&mut self, id: &str) -> Option<PendingHitl> {
        self.pending.remove(id)
    }

    pub(crate) fn take_all(&mut self) -> Vec<PendingHitl> {
        std::mem::take(&mut self.pending).into_values().collect()
    }

    /// Waits until a request passes its deadline and returns its id; forever if none is open. Cancel safe.
    pub(crate) async fn wait_for_overdue(&self) -> String {
        let pending = self.pending.iter();
        wait_first_expired(pending.map(|(id, one)| (one.expires, id))).await
    }

    /// Counts an answer if it is valid.
    pub(crate) fn count_response(
        &mut self,
        response: &HitlResponse,
    ) -> Result<ResponseTally, HitlError> {
        let id = &response.request_id;
        let unknown = || HitlError::Unknown(id.clone());
        let pending = self.pending.get_mut(id).ok_or_else(unknown)?;
        let request = &pending.request;
        check_response(request, response)?;
        if let Some(reviewer) = &response.reviewer {
            let mut counted = pending.counted.iter().filter_map(|it| it.reviewer.as_ref());
            if counted.any(|other| is_same_reviewer(other, reviewer)) {
                return Err(HitlError::Twice(reviewer.clone()));
            }
        }
        pending.counted.push(response.clone());
        let count = u64::try_from(pending.counted.len()).unwrap_or(u64::MAX);
        let done = match request.kind {
            // The first answer decides.
            HitlKind::Question | HitlKind::Escalation => true,
            // One refusal decides; an approval needs the quorum.
            HitlKind::Approval | HitlKind::DualControl => {
                response.approved == Some(false) || count >= request.quorum
            }
        };
        match self.pending.remove(id) {
            Some(pending) if done => Ok(ResponseTally::Done(pending)),
            Some(pending) => {
                self.pending.insert(id.clone(), pending);
                Ok(ResponseTally::Wait)
            }
            None => Err(unknown()),
        }
    }
}

/// Checks that an answer fits the request and that its author may give it.
fn check_response(request: &HitlRequest, response: &HitlResponse) -> Result<(), HitlError> {
    let given = [
        ("answer", response.answer.is_some()),
        ("approved", response.approved.is_some()),
        ("accepted", response.accepted.is_some()),
    ];
    let wanted = match request.kind {
        HitlKind::Question => "answer",
        HitlKind::Approval | HitlKind::DualControl => "approved",
        HitlKind::Escalation => "accepted",
    };
    let kind = request.kind.as_str();
    let unfit = |message: String| Err(HitlError::Unfit(message));
    if let Some((wrong, _)) = given.iter().find(|(name, is)| *is && *name != wanted) {
        return unfit(format!(
            "{kind}: the answer must contain {wanted:?}, not {wrong:?}"
        ));
    }
    if !given.contains(&(wanted, true)) {
        return unfit(format!(
            "{kind}: the answer must contain {wanted:?}, which is missing"
        ));
    }
    if request.kind == HitlKind::Question {
        let answer = response.answer.as_ref();
        let text = answer.and_then(|answer| answer.as_str());
        let offered = |text: &str| request.choices.iter().any(|choice| choice == text);
        if !request.choices.is_empty() && !text.is_some_and(offered) {
            let choices = request.choices.join(", ");
            return unfit(format!("the answer must be one of {choices}"));
        }
        return Ok(());
    }
    let reviewer = response.reviewer.as_deref().unwrap_or_default();
    if reviewer.trim().is_empty() {
        return unfit(format!("{kind} needs the \"reviewer\" who decided"));
    }
    if !request.may_decide(reviewer) {
        return Err(HitlError::NotAReviewer {
            given: reviewer.to_owned(),
            reviewers: request.reviewers.join(", "),
        });
    }
    Ok(())
}
