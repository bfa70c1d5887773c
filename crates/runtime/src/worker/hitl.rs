//! What a worker asks a person, put to the session it works for, as its questions about tool calls are.
//! That session may be a worker's too: then its own relay passes it on.

use std::{collections::HashMap, sync::Arc};

use harn_model::{HitlRequest, HitlResponse, Lineage};
use tokio::{sync::oneshot, task::JoinSet};

use super::Crew;
use crate::{AgentError, IdKind, hitl::HitlEnd, turn::TurnItem};

/// What is open of one cycle of a worker.
pub(super) struct HitlRelay {
    crew: Arc<Crew>,
    /// The worker.
    entry: Lineage,
    /// What is open above, by its id below.
    open: HashMap<String, String>,
    /// What ended: its ids below and above, and how.
    ends: JoinSet<(String, String, HitlEnd)>,
}

impl HitlRelay {
    pub(super) fn new(crew: Arc<Crew>, entry: Lineage) -> Self {
        Self {
            crew,
            entry,
            open: HashMap::new(),
            ends: JoinSet::new(),
        }
    }

    /// Puts what the worker asks to the session above.
    pub(super) async fn put(&mut self, asked: &HitlRequest) -> Result<(), AgentError> {
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
        let below = asked.request_id.clone();
        self.open.insert(below.clone(), above.clone());
        self.ends.spawn(async move {
            // A dropped reply means that the turn above settled without an answer.
            let end = end.await.unwrap_or(HitlEnd::Cancelled);
            (below, above, end)
        });
        Ok(())
    }

    /// The next end from above, as the worker's session is to write it. Waits for ever while nothing is
    /// asked. Cancel safe.
    pub(super) async fn ended(&mut self) -> (String, HitlEnd) {
        loop {
            match self.ends.join_next().await {
                Some(Ok((below, above, end))) if self.open.get(&below) == Some(&above) => {
                    self.open.remove(&below);
                    return (below.clone(), renamed(end, &below));
                }
                // Taken back before.
                Some(_) => {}
                None => return std::future::pending().await,
            }
        }
    }

    /// It was settled below: nobody above need answer any more.
    pub(super) async fn settled(&mut self, below: &str) {
        if let Some(above) = self.open.remove(below) {
            self.take_back(above).await;
        }
    }

    /// Takes everything back.
    pub(super) async fn withdraw(mut self) {
        for above in std::mem::take(&mut self.open).into_values() {
            self.take_back(above).await;
        }
    }

    async fn take_back(&self, above: String) {
        // Where the turn above is over, it has settled what was open itself.
        let _ = self.crew.pipe.push(TurnItem::WithdrawHitl(above)).await;
    }
}

fn renamed(end: HitlEnd, below: &str) -> HitlEnd {
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
