//! What a worker asks, put to the session it works for: questions about its tool calls here, questions to a person in
//! `hitl`. That session may be a worker's too: then its own relay passes them on, until they reach somebody who can
//! be asked.

use std::{collections::HashMap, hash::Hash, sync::Arc};

use harn_model::{AgentEvent, AskId, Decision, LineageEntry, PermissionAsked, WorkerCall};
use tokio::{sync::oneshot, task::JoinSet};

use super::WorkerCrew;
use crate::{AgentError, IdKind, turn::TurnItem};

/// The open questions of one kind of one cycle: how they are named, and what answers them.
pub(super) struct QuestionRelay<Id, Answer> {
    pub(super) crew: Arc<WorkerCrew>,
    /// The worker.
    pub(super) entry: LineageEntry,
    /// The worker's questions that are open above, with their names there.
    open: HashMap<Id, Id>,
    /// Which question was answered: its names below and above, and the answer.
    answers: JoinSet<(Id, Id, Answer)>,
    withdraw: fn(Id) -> TurnItem,
}

/// The questions about tool calls.
pub(super) type AskRelay = QuestionRelay<AskId, Decision>;

impl<Id: Clone + Eq + Hash + Send + 'static, Answer: Send + 'static> QuestionRelay<Id, Answer> {
    /// Nothing is open yet; `withdraw` takes a question back.
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

    /// Waits for the answer to a question that was put. A dropped reply means that the turn above settled without
    /// one, which counts as `unanswered`.
    pub(super) fn expect(
        &mut self,
        (below, above): (Id, Id),
        reply: oneshot::Receiver<Answer>,
        unanswered: Answer,
    ) {
        self.open.insert(below.clone(), above.clone());
        self.answers
            .spawn(async move { (below, above, reply.await.unwrap_or(unanswered)) });
    }

    /// The next answer from above. Waits for ever while nothing is asked. Cancel safe.
    pub(super) async fn answered(&mut self) -> (Id, Answer) {
        loop {
            match self.answers.join_next().await {
                // One that was withdrawn is answered too, but to nobody: not to the next of its name.
                Some(Ok((below, above, answer))) if self.open.get(&below) == Some(&above) => {
                    self.open.remove(&below);
                    return (below, answer);
                }
                Some(_) => {}
                None => return std::future::pending().await,
            }
        }
    }

    /// The worker's question was settled below: nobody above need answer any more.
    pub(super) async fn settled(&mut self, below: &Id) {
        if let Some(above) = self.open.remove(below) {
            self.take_back(above).await;
        }
    }

    pub(super) async fn withdraw(mut self) {
        for above in std::mem::take(&mut self.open).into_values() {
            self.take_back(above).await;
        }
    }

    async fn take_back(&self, above: Id) {
        // Where the turn above is over, it has settled its questions itself.
        let _ = self.crew.pipe.push((self.withdraw)(above)).await;
    }
}

impl AskRelay {
    /// Puts a question of the worker to the session above.
    pub(super) async fn put(&mut self, asked: &PermissionAsked) -> Result<(), AgentError> {
        let above = AskId::new(self.crew.session.config.ids.mint(IdKind::Ask));
        let mut lineage = vec![self.entry.clone()];
        lineage.extend_from_slice(&asked.lineage);
        let mut ask = PermissionAsked {
            ask_id: above.clone(),
            lineage,
            ..asked.clone()
        };
        // Two sessions may use one id; whoever is asked knows them as one session.
        let call = &mut ask.tool_call.tool_call_id;
        *call = format!("{}/{call}", self.entry.worker_id).into();
        let (reply, decision) = oneshot::channel();
        let announced = WorkerCall::asked(ask.lineage.clone(), ask.tool_call.clone());
        let announced = TurnItem::Event(AgentEvent::WorkerCall(Box::new(announced)));
        let item = TurnItem::Ask(Box::new(ask), reply);
        self.crew.pipe.push_all(vec![announced, item]).await?;
        self.expect((asked.ask_id.clone(), above), decision, Decision::Cancelled);
        Ok(())
    }
}
