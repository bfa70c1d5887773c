//! Relays a worker's requests to a person to its parent session.

use harn_model::{HitlRequest, HitlResponse};
use tokio::sync::oneshot;

use super::relay::QuestionRelay;
use crate::{AgentError, IdKind, hitl::HitlEnd, turn::TurnItem};

/// The open requests of one cycle of a worker.
pub(super) type HitlRelay = QuestionRelay<String, HitlEnd>;

impl HitlRelay {
    /// Sends the worker's request to the parent session.
    pub(super) async fn send_request(&mut self, asked: &HitlRequest) -> Result<(), AgentError> {
        let unique = self.crew.session.config.ids.mint(IdKind::Ask);
        let above = asked.kind.request_id(&unique);
        let mut request = HitlRequest {
            request_id: above.clone(),
            turn: self.crew.turn.clone(),
            ..asked.clone()
        };
        request.lineage.insert(0, self.entry.clone());
        if let Some(approval) = &mut request.approval {
            approval.id.clone_from(&above);
        }
        let (reply, end) = oneshot::channel();
        let item = TurnItem::Hitl(Box::new(request), reply);
        self.crew.pipe.push(item).await?;
        self.await_answer((asked.request_id.clone(), above), end, HitlEnd::Cancelled);
        Ok(())
    }

    /// Returns the next outcome from the parent session, as the worker's session must write it. Waits forever
    /// while nothing is open. Cancel safe.
    pub(super) async fn next_end(&mut self) -> (String, HitlEnd) {
        let (below, end) = self.next_answer().await;
        let end = with_request_id(end, &below);
        (below, end)
    }
}

fn with_request_id(end: HitlEnd, below: &str) -> HitlEnd {
    match end {
        HitlEnd::Answered(counted) => {
            let below = |response: HitlResponse| HitlResponse {
                request_id: below.to_owned(),
                ..response
            };
            HitlEnd::Answered(counted.into_iter().map(below).collect())
        }
        other @ (HitlEnd::Unanswered { .. } | HitlEnd::Cancelled) => other,
    }
}
