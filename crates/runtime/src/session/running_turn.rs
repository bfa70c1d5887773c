//! The state of a running turn, owned by the session task.

use std::{
    collections::{HashMap, HashSet},
    pin::Pin,
    sync::{Arc, atomic::AtomicU64},
    time::Duration,
};

use harn_model::{
    AskId, ContentBlock, Decision, PermissionAsked, StopReason, ToolCallId, TurnId, TurnOutcome,
};
use tokio::{
    sync::oneshot,
    task::{JoinError, JoinHandle},
    time::{Instant, Sleep},
};
use tokio_util::sync::CancellationToken;

use super::{
    handle::QueuedPrompt,
    shared_session::{SharedSession, or_never},
    task::DaemonWaits,
};
use crate::{
    Agent, AgentError, Host, Observer, TurnContext,
    equipment::command_name,
    hitl::OpenHitl,
    permission::{self, PermissionsCommand},
    turn::{TurnItem, TurnParts, TurnPipe, UnreadSteering},
    worker::WorkerCrew,
};

pub(crate) struct RunningTurn {
    pub(crate) id: TurnId,
    pub(crate) prompt: Arc<[ContentBlock]>,
    pub(crate) pipe: Arc<TurnPipe>,
    pub(crate) asks: HashMap<AskId, PendingAsk>,
    /// Allowed calls: they count as started, so an interruption does not skip them.
    pub(crate) allowed: HashSet<ToolCallId>,
    pub(crate) hitl: OpenHitl,
    pub(crate) waits: DaemonWaits,
    /// What interrupted the agent since its last seam: "a message" or "a reminder".
    pub(crate) interrupted: Option<&'static str>,
    /// The number of iterations of the turn, including those of earlier prompts.
    pub(crate) iteration: Arc<AtomicU64>,
    /// Steering that was delivered but that the agent has not read.
    pub(crate) unread: UnreadSteering,
    agent: JoinHandle<Result<StopReason, AgentError>>,
    /// The result of the agent, once it has stopped.
    returned: Option<AgentResult>,
    cancel: CancellationToken,
    crew: Arc<WorkerCrew>,
    /// The deadline to stop: for a cancelled agent, and once it has returned or was given up, for its workers.
    deadline: Option<Pin<Box<Sleep>>>,
    /// Whether the agent has returned or was given up.
    leaving: bool,
    /// Whether the watchdog stopped the agent because it did nothing.
    tripped: bool,
    /// How long all workers below may take to stop after they were given up.
    farewell: Duration,
}

/// The state that one call of the agent passes to the next call in its turn.
#[derive(Default)]
pub(crate) struct TurnCarryover {
    waits: DaemonWaits,
    iteration: Arc<AtomicU64>,
    unread: UnreadSteering,
}

type AgentResult = Result<Result<StopReason, AgentError>, JoinError>;

/// How long a closing session waits for a cancelled agent.
pub(crate) const CLOSE_PATIENCE: Duration = Duration::from_millis(500);

/// How long a session may take to write its end, after everything below it has stopped or was given up. Each level has
/// this much more time than the level below, so that no session gives up workers that are about to finish.
const FAREWELL: Duration = Duration::from_millis(250);

pub(crate) struct PendingAsk {
    pub(crate) ask: Box<PermissionAsked>,
    pub(crate) reply: oneshot::Sender<Decision>,
    /// When the runtime settles it without an answer.
    pub(crate) expires: Option<Instant>,
}

impl PendingAsk {
    /// Whether the session's own agent asks, not a worker.
    pub(crate) fn is_own(&self) -> bool {
        self.ask.lineage.is_empty()
    }
}

/// The reason why a running turn wakes the session task.
pub(crate) enum TurnWake {
    /// The agent pushed items.
    Items,
    /// The agent was cancelled and did not return in time.
    Overdue,
    /// This question was not answered in time.
    Unanswered(AskId),
    /// No person answered this request in time.
    HitlOverdue(String),
    /// The agent stopped waiting by itself.
    StoppedWaiting,
    /// The agent and all its workers have stopped or were given up.
    Over,
}

impl RunningTurn {
    /// Starts the agent on a prompt.
    pub(crate) fn start(
        shared: &Arc<SharedSession>,
        prompt: QueuedPrompt,
        carried: TurnCarryover,
    ) -> Self {
        let pipe = Arc::new(TurnPipe::default());
        let cancel = CancellationToken::new();
        let crew = Arc::new(WorkerCrew::new(
            shared.clone(),
            prompt.turn.clone(),
            pipe.clone(),
            cancel.clone(),
        ));
        let mut cx = TurnContext::new(TurnParts {
            turn: prompt.turn.clone(),
            prompt: prompt.blocks.clone(),
            host: Host::new(shared.clone(), pipe.clone(), cancel.clone()),
            observer: Observer {
                shared: shared.clone(),
            },
            pipe: pipe.clone(),
            cancel: cancel.clone(),
            crew: crew.clone(),
            iteration: carried.iteration.clone(),
            unread: carried.unread.clone(),
        });
        // A worker's prompt is from an agent, which must not revoke a person's grants.
        let of_a_person = shared.lineage.is_none() && prompt.commands;
        let (agent, equipment) = match of_a_person
            .then(|| command_agent(shared, &prompt.blocks))
            .flatten()
        {
            Some(command) => (command, None),
            None => (shared.agent.clone(), Some(shared.equipment.clone())),
        };
        let levels = shared
            .config
            .max_worker_depth
            .saturating_sub(shared.depth());
        let levels = u32::try_from(levels).unwrap_or(u32::MAX);
        Self {
            id: prompt.turn,
            prompt: prompt.blocks,
            pipe,
            asks: HashMap::new(),
            allowed: HashSet::new(),
            hitl: OpenHitl::default(),
            interrupted: None,
            waits: carried.waits,
            iteration: carried.iteration,
            unread: carried.unread,
            agent: tokio::spawn(async move {
                if let Some(equipment) = equipment {
                    equipment.refresh_at_boundary(&cx).await?;
                }
                agent.turn(&mut cx).await
            }),
            returned: None,
            cancel,
            crew,
            deadline: None,
            leaving: false,
            tripped: false,
            farewell: FAREWELL.saturating_mul(levels.saturating_add(1)),
        }
    }

    /// Returns the state for the agent's next call.
    pub(crate) fn carryover(&self) -> TurnCarryover {
        TurnCarryover {
            waits: self.waits.for_the_next_call(),
            iteration: self.iteration.clone(),
            unread: self.unread.clone(),
        }
    }

    /// Whether a client cancelled it; false if the watchdog stopped it.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled() && !self.tripped
    }

    /// Whether the turn may still ask questions: not while it ends.
    pub(crate) fn may_ask(&self) -> bool {
        !self.cancel.is_cancelled() && !self.leaving
    }

    /// Cancels the agent and its workers, and starts the deadline. The caller answers open questions.
    pub(crate) fn cancel(&mut self, patience: Duration) {
        self.tripped = false;
        self.stop(patience);
    }

    fn stop(&mut self, patience: Duration) {
        self.cancel.cancel();
        if self.deadline.is_none() {
            self.deadline = Some(Box::pin(tokio::time::sleep(patience)));
        }
    }

    /// Stops an agent that does nothing. Its turn ends normally, because no client cancelled it.
    pub(crate) fn trip_watchdog(&mut self, patience: Duration) {
        self.tripped = true;
        self.stop(patience);
    }

    /// Cancels with a shorter deadline.
    pub(crate) fn shorten_deadline(&mut self, patience: Duration) {
        self.cancel.cancel();
        let sooner = Box::pin(tokio::time::sleep(patience));
        // A turn that is ending has its own deadline.
        if !self.leaving
            && self
                .deadline
                .as_ref()
                .is_none_or(|deadline| sooner.deadline() < deadline.deadline())
        {
            self.deadline = Some(sooner);
        }
    }

    /// Continues without the agent.
    pub(crate) fn give_up(&mut self) {
        self.agent.abort();
        self.stop_workers(self.farewell);
    }

    /// Stops the workers if they still run, and sets their deadline.
    fn stop_workers(&mut self, patience: Duration) {
        self.leaving = true;
        self.crew.stop_all();
        self.deadline = Some(Box::pin(tokio::time::sleep(patience)));
    }

    /// Waits for the next wake; items go into `items`. Cancel safe.
    pub(crate) async fn wake(&mut self, items: &mut Vec<TurnItem>) -> TurnWake {
        loop {
            let overdue = or_never(self.deadline.as_mut());
            let gone = self.leaving && self.returned.is_some();
            let pending = self.asks.iter();
            let unanswered = wait_first_expired(pending.map(|(id, ask)| (ask.expires, id)));
            tokio::select! {
                biased;
                // First, because otherwise an agent that never stops emitting would never be given up.
                () = overdue => {
                    return if self.leaving { TurnWake::Over } else { TurnWake::Overdue };
                }
                () = self.pipe.take(items) => return TurnWake::Items,
                result = &mut self.agent, if self.returned.is_none() => {
                    self.returned = Some(result);
                    if !self.leaving {
                        self.stop_workers(CLOSE_PATIENCE + self.farewell);
                    }
                }
                () = self.crew.wait_until_idle(), if gone => return TurnWake::Over,
                id = unanswered => return TurnWake::Unanswered(id),
                id = self.hitl.wait_for_overdue() => return TurnWake::HitlOverdue(id),
                () = self.waits.wait_for_dropped_wait() => return TurnWake::StoppedWaiting,
            }
        }
    }

    /// Ignores the agent and its workers from now on, and stops them.
    pub(crate) fn abandon(&self) {
        self.pipe.close();
        self.crew.stop_all();
        self.agent.abort();
    }

    /// Returns the outcome of the turn from the agent's result. An agent that was given up was cancelled before.
    pub(crate) fn outcome(&mut self) -> TurnOutcome {
        let cancelled = TurnOutcome::stopped(StopReason::Cancelled);
        if self.tripped {
            return TurnOutcome::stopped(StopReason::EndTurn);
        }
        if self.is_cancelled() {
            return cancelled;
        }
        match self.returned.take() {
            None => cancelled,
            Some(Ok(Ok(reason))) => TurnOutcome::stopped(reason),
            Some(Ok(Err(AgentError::Denied { .. } | AgentError::Unanswered { .. }))) => {
                TurnOutcome::stopped(StopReason::EndTurn)
            }
            Some(Ok(Err(AgentError::Cancelled))) => cancelled,
            Some(Ok(Err(error @ (AgentError::Tool(_) | AgentError::Failed(_))))) => {
                TurnOutcome::Failed {
                    message: error.to_string(),
                }
            }
            // The panic's own text may contain anything; it is in the log, not sent to the client.
            Some(Err(_)) => TurnOutcome::Failed {
                message: "the agent stopped unexpectedly; its log has the reason".to_owned(),
            },
        }
    }
}

/// Returns the instant that is so many milliseconds from now.
pub(crate) fn expiry(ms: u64) -> Instant {
    tokio::time::sleep(Duration::from_millis(ms)).deadline()
}

/// Waits until the first of these has expired; forever if none expires. Cancel safe.
pub(crate) async fn wait_first_expired<'a, Id: Clone + 'a>(
    pending: impl Iterator<Item = (Option<Instant>, &'a Id)>,
) -> Id {
    let expiring = pending.filter_map(|(expires, id)| Some((expires?, id)));
    let first = expiring.min_by_key(|(expires, _)| *expires);
    let expired = first.map(|(expires, id)| async move {
        tokio::time::sleep_until(expires).await;
        id.clone()
    });
    or_never(expired).await
}

/// Returns the agent that answers a prompt that is a command of every session or of the equipment. The
/// agent's own command of that name takes precedence over the equipment's.
fn command_agent(shared: &SharedSession, prompt: &[ContentBlock]) -> Option<Arc<dyn Agent>> {
    if permission::is_permissions_command(prompt) {
        return Some(Arc::new(PermissionsCommand));
    }
    let name = command_name(prompt)?;
    let own = shared.own_commands();
    match own.iter().any(|own| own.name == name) {
        true => None,
        false => shared.equipment.agent_for_command(prompt, &shared.agent),
    }
}
