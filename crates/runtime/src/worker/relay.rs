//! Relays a worker's questions to its parent session: questions about its tool calls here, requests to a person in
//! `hitl`. If the parent is a worker too, its own relay passes them on, up to the root session, which has a client to
//! ask.

use std::{collections::HashMap, hash::Hash, sync::Arc};

use harn_model::{AgentEvent, AskId, Decision, LineageEntry, PermissionAsked, WorkerCall};
use tokio::{sync::oneshot, task::JoinSet};

use super::WorkerCrew;
use crate::{AgentError, IdKind, turn::TurnItem};

/// The open questions of one kind of one cycle: their ids and their answers.
pub(super) struct QuestionRelay<Id, Answer> {
    pub(super) crew: Arc<WorkerCrew>,
    pub(super) entry: LineageEntry,
    /// The worker's open questions, with their ids in the parent session.
    open: HashMap<Id, Id>,
    /// Answered questions: the id below, the id above, and the answer.
    answers: JoinSet<(Id, Id, Answer)>,
    withdraw: fn(Id) -> TurnItem,
}

/// The relay of questions about tool calls.
pub(super) type AskRelay = QuestionRelay<AskId, Decision>;

impl<Id: Clone + Eq + Hash + Send + 'static, Answer: Send + 'static> QuestionRelay<Id, Answer> {
    /// Returns a relay without open questions; `withdraw` builds the item that withdraws one.
    pub(super) fn new(
        crew: Arc<WorkerCrew>,
        entry: LineageEntry,
        withdraw: fn(Id) -> TurnItem,
    ) -> Self {
        Self {
            crew,
            entry,
            open: HashMap::new(),
            answers: JoinSet::new(),
            withdraw,
        }
    }

    /// Waits for the answer to a relayed question. A dropped reply means that the parent turn settled without an
    /// answer, which counts as `unanswered`.
    pub(super) fn await_answer(
        &mut self,
        (below, above): (Id, Id),
        reply: oneshot::Receiver<Answer>,
        unanswered: Answer,
    ) {
        self.open.insert(below.clone(), above.clone());
        self.answers
            .spawn(async move { (below, above, reply.await.unwrap_or(unanswered)) });
    }

    /// Returns the next answer from the parent. Waits forever while no question is open. Cancel safe.
    pub(super) async fn next_answer(&mut self) -> (Id, Answer) {
        loop {
            match self.answers.join_next().await {
                // A withdrawn question is answered too; the answer must not go to the next question of its id.
                Some(Ok((below, above, answer))) if self.open.get(&below) == Some(&above) => {
                    self.open.remove(&below);
                    return (below, answer);
                }
                Some(_) => {}
                None => return std::future::pending().await,
            }
        }
    }

    /// Withdraws a question in the parent session because the worker's session settled it.
    pub(super) async fn withdraw_settled(&mut self, below: &Id) {
        if let Some(above) = self.open.remove(below) {
            self.withdraw_one(above).await;
        }
    }

    pub(super) async fn withdraw_all(mut self) {
        for above in std::mem::take(&mut self.open).into_values() {
            self.withdraw_one(above).await;
        }
    }

    async fn withdraw_one(&self, above: Id) {
        // If the parent turn is over, it has settled its questions itself.
        let _ = self.crew.pipe.push((self.withdraw)(above)).await;
    }
}

impl AskRelay {
    /// Sends a question of the worker to the parent session.
    pub(super) async fn send_question(
        &mut self,
        asked: &PermissionAsked,
    ) -> Result<(), AgentError> {
        let above = AskId::new(self.crew.session.config.ids.mint(IdKind::Ask));
        let mut lineage = vec![self.entry.clone()];
        lineage.extend_from_slice(&asked.lineage);
        let mut ask = PermissionAsked {
            ask_id: above.clone(),
            lineage,
            ..asked.clone()
        };
        // Two sessions may use one id; the client sees both as one session.
        let call = &mut ask.tool_call.tool_call_id;
        *call = format!("{}/{call}", self.entry.worker_id).into();
        let (reply, decision) = oneshot::channel();
        let announced = WorkerCall::new_asked(ask.lineage.clone(), ask.tool_call.clone());
        let announced = TurnItem::Event(AgentEvent::WorkerCall(Box::new(announced)));
        let item = TurnItem::Ask(Box::new(ask), reply);
        self.crew.pipe.push_all(vec![announced, item]).await?;
        self.await_answer((asked.ask_id.clone(), above), decision, Decision::Cancelled);
        Ok(())
    }
}
