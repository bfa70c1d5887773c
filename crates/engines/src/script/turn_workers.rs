//! The workers of a turn, which its steps find by name.

use std::sync::Arc;

use async_trait::async_trait;
use harn_model::{StopReason, WorkerUpdate};
use harn_runtime::{Agent, AgentError, AgentProfile, TurnContext, Worker};

use super::{
    player,
    scenario::{NewWorker, ScenarioStep},
    scenario_workers::{ScenarioWorkers, WorkerName},
};

pub(super) struct TurnWorkers {
    cast: Arc<ScenarioWorkers>,
    cx: TurnContext,
    /// The workers that the turn started or triggered, the newest last.
    at_work: Vec<(String, Worker)>,
}

impl TurnWorkers {
    pub(super) fn new(cast: Arc<ScenarioWorkers>, cx: TurnContext) -> Self {
        Self {
            cast,
            cx,
            at_work: Vec::new(),
        }
    }

    /// Starts a worker. Rejects a name that a running worker has, because the name would be ambiguous.
    pub(super) async fn start(&mut self, new: &NewWorker) -> Result<(), AgentError> {
        let name = &new.name.text;
        if self
            .newest_update(name)
            .is_some_and(|last| last.event.is_running())
        {
            return Err(AgentError::Failed(format!(
                "a worker {name:?} is running already; wait for it or choose another name"
            )));
        }
        let mut worker = self.cx.worker(name).task(&new.task);
        if let Some(mode) = &new.mode {
            worker = worker.mode(mode);
        }
        if new.retriggerable {
            worker = worker.retriggerable();
        }
        let worker = worker.agent(self.worker_agent(&new.steps)).start().await?;
        self.at_work.push((name.clone(), worker));
        Ok(())
    }

    /// Triggers a waiting worker to play once more.
    pub(super) async fn trigger(
        &mut self,
        name: &WorkerName,
        task: &str,
        steps: Option<&Arc<[ScenarioStep]>>,
    ) -> Result<(), AgentError> {
        let worker = self.find(name)?;
        // The decoder rejects a file in which the steps are ambiguous.
        let steps = steps.or_else(|| self.cast.steps(&name.text)).cloned();
        let worker = worker.agent(self.worker_agent(&steps.unwrap_or_default()));
        worker.trigger(task).await?;
        self.at_work.push((name.text.clone(), worker));
        Ok(())
    }

    /// Waits until these workers are done, or all that the turn started or triggered.
    pub(super) async fn wait_until_finished(&self, names: &[WorkerName]) -> Result<(), AgentError> {
        if names.is_empty() {
            for (_, worker) in &self.at_work {
                worker.wait_until_finished().await;
            }
        }
        for name in names {
            self.find(name)?.wait_until_finished().await;
        }
        Ok(())
    }

    /// Returns the newest worker of a name, from this turn or an earlier one.
    pub(super) fn find(&self, name: &WorkerName) -> Result<Worker, AgentError> {
        match self.newest_update(&name.text) {
            Some(last) => Ok(self.cx.find_worker(&last.worker_id)?),
            None => Err(AgentError::Failed(format!(
                "this session has no worker {:?}; start it first",
                name.text
            ))),
        }
    }

    /// Returns the last update of the newest worker of a name.
    fn newest_update(&self, name: &str) -> Option<WorkerUpdate> {
        let mut known = self.cx.workers();
        // A worker without a session is only an update from an emit step.
        known.retain(|w| w.worker_name == name && w.metadata.child_run_id.is_some());
        let at_work = self.at_work.iter().rev().find(|(known, _)| known == name);
        let of_turn = at_work.and_then(|(_, worker)| {
            let id = worker.id();
            known.iter().position(|last| last.worker_id == *id)
        });
        match of_turn {
            Some(at) => Some(known.swap_remove(at)),
            None => known
                .into_iter()
                .max_by(|a, b| start_order(a).cmp(&start_order(b))),
        }
    }

    fn worker_agent(&self, steps: &Arc<[ScenarioStep]>) -> Arc<dyn Agent> {
        Arc::new(ScriptWorkerAgent {
            steps: steps.clone(),
            cast: self.cast.clone(),
        })
    }
}

/// A sort key that grows with a worker's start; the id orders workers with the same start.
fn start_order(worker: &WorkerUpdate) -> (&Option<String>, &str) {
    (&worker.metadata.started_at, worker.worker_id.as_str())
}

/// The agent of a worker: plays its steps and ignores the task.
struct ScriptWorkerAgent {
    steps: Arc<[ScenarioStep]>,
    cast: Arc<ScenarioWorkers>,
}

#[async_trait]
impl Agent for ScriptWorkerAgent {
    fn profile(&self) -> AgentProfile {
        AgentProfile {
            name: "script-worker".to_owned(),
            title: "Script worker".to_owned(),
            ..AgentProfile::default()
        }
    }

    async fn turn(&self, cx: &mut TurnContext) -> Result<StopReason, AgentError> {
        player::play(&self.steps, &self.cast, cx).await
    }
}
