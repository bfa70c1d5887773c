//! The description of a worker before it starts.

use std::{path::PathBuf, sync::Arc};

use harn_model::{SessionId, WorkerEvent, WorkerId, WorkerMetadata, WorkerUpdate};

use super::{Worker, WorkerCrew, cycle::CycleRun};
use crate::{Agent, IdKind, NewSession, WorkerError};

/// A worker that has been described but not started.
///
/// ```
/// use std::sync::Arc;
/// use harn_runtime::{Agent, AgentError, TurnContext, async_trait, model::StopReason};
///
/// struct Lead(Arc<dyn Agent>);
///
/// #[async_trait]
/// impl Agent for Lead {
///     async fn turn(&self, cx: &mut TurnContext) -> Result<StopReason, AgentError> {
///         let docs = cx.worker("docs").task("Check the docs").agent(self.0.clone()).start().await?;
///         let code = cx.worker("code").task("Check the code").agent(self.0.clone()).start().await?;
///         for report in [docs.wait_until_finished().await, code.wait_until_finished().await] {
///             cx.say(report.text).await?;
///         }
///         Ok(StopReason::EndTurn)
///     }
/// }
/// ```
#[must_use = "a worker begins with `start`"]
pub struct WorkerBuilder {
    crew: Arc<WorkerCrew>,
    name: String,
    task: String,
    mode: String,
    cwd: PathBuf,
    agent: Option<Arc<dyn Agent>>,
    retriggerable: bool,
}

impl WorkerBuilder {
    pub(crate) fn new(crew: Arc<WorkerCrew>, name: String) -> Self {
        let cwd = crew.session.cwd.to_path_buf();
        Self {
            crew,
            name,
            task: String::new(),
            mode: "sub_agent".to_owned(),
            cwd,
            agent: None,
            retriggerable: false,
        }
    }

    /// Sets the task; also the prompt of its first cycle.
    pub fn task(mut self, task: impl Into<String>) -> Self {
        self.task = task.into();
        self
    }

    /// Sets how it runs, for clients that track it; `sub_agent` by default.
    pub fn mode(mut self, mode: impl Into<String>) -> Self {
        self.mode = mode.into();
        self
    }

    /// Sets the directory it works in; the session's own by default. It must exist and be inside one of the
    /// session's directories.
    pub fn cwd(mut self, cwd: impl Into<PathBuf>) -> Self {
        // A relative path starts at the session's directory.
        self.cwd = self.crew.session.cwd.join(cwd.into());
        self
    }

    /// Sets the agent that does the work; by default the agent that serves all sessions.
    pub fn agent(mut self, agent: Arc<dyn Agent>) -> Self {
        self.agent = Some(agent);
        self
    }

    /// After a successful cycle the worker waits for a [trigger](Worker::trigger) instead of ending.
    pub fn retriggerable(mut self) -> Self {
        self.retriggerable = true;
        self
    }

    /// Starts the worker. When this returns, its session exists and its first event is written; it then runs
    /// concurrently until it is done or the turn ends.
    pub async fn start(self) -> Result<Worker, WorkerError> {
        for (what, text) in [
            ("name", &self.name),
            ("task", &self.task),
            ("mode", &self.mode),
        ] {
            if text.trim().is_empty() {
                return Err(WorkerError::Blank(what));
            }
        }
        let config = self.crew.session.config.clone();
        let claim = self
            .crew
            .claim_new(WorkerId::new(config.ids.mint(IdKind::Worker)))?;
        let session = SessionId::new(config.ids.mint(IdKind::Session));
        let roots = self.crew.session.roots();
        let own = config.store.session_paths(&session);
        let update = WorkerUpdate {
            worker_id: claim.id.clone(),
            worker_name: self.name,
            worker_task: self.task.clone(),
            worker_mode: self.mode.clone(),
            event: WorkerEvent::WorkerSpawned,
            cycle: 0,
            retriggerable: self.retriggerable,
            metadata: WorkerMetadata {
                task: self.task.clone(),
                mode: self.mode,
                child_run_id: Some(session.clone()),
                child_run_path: own.as_ref().map(|place| place.session.clone()),
                snapshot_path: own.map(|place| place.events),
                ..WorkerMetadata::default()
            },
            audit: None,
        };
        let new = NewSession {
            cwd: self.cwd,
            additional_directories: roots.dirs().iter().skip(1).cloned().collect(),
        };
        let (id, agent) = (claim.id.clone(), self.agent.clone());
        let worker = Worker::new(self.crew, id, session.clone(), agent);
        worker
            .run(CycleRun {
                claim,
                session,
                new: Some(new),
                update,
                prompt: self.task,
                agent: self.agent,
            })
            .await?;
        Ok(worker)
    }
}
