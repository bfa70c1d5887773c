//! A turn while its agent works on it, as the session's task holds it.

use std::{
    collections::HashMap,
    pin::Pin,
    sync::{Arc, atomic::AtomicU64},
    time::Duration,
};

use harn_model::{AskId, ContentBlock, Decision, PermissionAsked, StopReason, TurnId, TurnOutcome};
use tokio::{
    sync::oneshot,
    task::{JoinError, JoinHandle},
    time::Sleep,
};
use tokio_util::sync::CancellationToken;

use super::handle::{QueuedPrompt, Shared, lock};
use crate::{
    AgentError, Host, Observer, TurnContext,
    turn::{Pipe, TurnItem, TurnParts},
    worker::Crew,
};

pub(crate) struct RunningTurn {
    pub(crate) id: TurnId,
    pub(crate) prompt: Arc<[ContentBlock]>,
    pub(crate) pipe: Arc<Pipe>,
    pub(crate) asks: HashMap<AskId, PendingAsk>,
    agent: JoinHandle<Result<StopReason, AgentError>>,
    cancel: CancellationToken,
    crew: Arc<Crew>,
    /// Runs from the moment the turn is cancelled.
    deadline: Option<Pin<Box<Sleep>>>,
}

pub(crate) struct PendingAsk {
    pub(crate) ask: Box<PermissionAsked>,
    pub(crate) reply: oneshot::Sender<Decision>,
}

/// What woke the session's task while a turn runs.
pub(crate) enum TurnWake {
    /// The agent handed something over.
    Items,
    /// The agent returned.
    Returned(Result<Result<StopReason, AgentError>, JoinError>),
    /// It was cancelled and did not return in time.
    Overdue,
}

impl RunningTurn {
    /// Starts the agent on a prompt.
    pub(crate) fn start(shared: &Arc<Shared>, prompt: QueuedPrompt) -> Self {
        let pipe = Arc::new(Pipe::default());
        let cancel = CancellationToken::new();
        let session = shared.meta.thread_id.clone();
        let crew = Arc::new(Crew::new(
            shared.clone(),
            prompt.turn.clone(),
            pipe.clone(),
            cancel.child_token(),
        ));
        // A client knows the session at the top, and no workers.
        let root = shared.root();
        let host = Host::new(
            root.meta.thread_id.clone(),
            shared.cwd.clone(),
            lock(&root.host).clone(),
            shared.config.local_host.clone(),
            pipe.clone(),
        );
        let mut cx = TurnContext::new(TurnParts {
            session,
            turn: prompt.turn.clone(),
            prompt: prompt.blocks.clone(),
            cwd: shared.cwd.clone(),
            host,
            observer: Observer {
                shared: shared.clone(),
            },
            pipe: pipe.clone(),
            cancel: cancel.clone(),
            ids: shared.config.ids.clone(),
            crew: crew.clone(),
            iteration: AtomicU64::new(0),
        });
        let agent = shared.agent.clone();
        Self {
            id: prompt.turn,
            prompt: prompt.blocks,
            pipe,
            asks: HashMap::new(),
            agent: tokio::spawn(async move { agent.turn(&mut cx).await }),
            cancel,
            crew,
            deadline: None,
        }
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }

    /// Tells the agent to stop and starts the clock. Open asks are answered at once.
    pub(crate) fn cancel(&mut self, deadline: Duration) {
        if self.deadline.is_none() {
            self.deadline = Some(Box::pin(tokio::time::sleep(deadline)));
            self.cancel.cancel();
        }
    }

    /// Waits for something to happen; items go into `items`. Cancel safe.
    pub(crate) async fn wake(&mut self, items: &mut Vec<TurnItem>) -> TurnWake {
        let overdue = async {
            match &mut self.deadline {
                Some(deadline) => deadline.await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            // First, or an agent that never falls silent would never be given up.
            () = overdue => TurnWake::Overdue,
            () = self.pipe.take(items) => TurnWake::Items,
            result = &mut self.agent => TurnWake::Returned(result),
        }
    }

    /// Stops listening to the agent and its workers, whatever they do.
    pub(crate) fn abandon(&self) {
        self.pipe.close();
        self.crew.dismiss();
        self.agent.abort();
    }

    /// What the agent's result means for the turn.
    pub(crate) fn outcome(
        &self,
        result: Result<Result<StopReason, AgentError>, JoinError>,
    ) -> TurnOutcome {
        if self.is_cancelled() {
            return TurnOutcome::stopped(StopReason::Cancelled);
        }
        match result {
            Ok(Ok(reason)) => TurnOutcome::stopped(reason),
            Ok(Err(AgentError::Denied { .. })) => TurnOutcome::stopped(StopReason::EndTurn),
            Ok(Err(AgentError::Cancelled)) => TurnOutcome::stopped(StopReason::Cancelled),
            Ok(Err(error @ (AgentError::Tool(_) | AgentError::Failed(_)))) => TurnOutcome::Failed {
                message: error.to_string(),
            },
            // The panic's own text may hold anything; it went to the log, not to the client.
            Err(_) => TurnOutcome::Failed {
                message: "the agent stopped unexpectedly; its log has the reason".to_owned(),
            },
        }
    }
}
