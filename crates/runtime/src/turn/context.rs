//! `TurnContext`: everything that an agent may do during a turn.

use std::{
    any::Any,
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use harn_model::{
    AgentEvent, AskId, Author, ContentBlock, Decision, Grant, JudgedAct, PermissionAsked,
    PermissionOption, Plan, PlanEntry, PolicyDecision, SessionId, ToolCall, TurnId, WorkerId,
    WorkerUpdate, plain_text,
};
use harn_policy::{PolicyError, SessionMode};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::{ToolBuilder, TurnItem, TurnPipe, UnreadSteering};
use crate::{
    AgentError, Equipment, Host, IdKind, Observer, Worker, WorkerBuilder, WorkerError,
    permission::{CallJudgement, ProposedCall, judge, options},
    session::SharedSession,
    worker::WorkerCrew,
};

/// A turn, as its agent sees it. Cheap to clone; several tasks may use clones, and the events of each stay in order.
///
/// ```
/// # mod harn_serve {
/// #     pub use harn_runtime::*;
/// #     pub use harn_runtime::model::*;
/// # }
/// use harn_serve::{AgentError, TurnContext};
///
/// async fn greet(cx: &TurnContext) -> Result<(), AgentError> {
///     cx.think("The user wants a greeting.").await?;
///     cx.say(format!("Hello from {}.", cx.cwd().display())).await
/// }
/// ```
#[derive(Clone)]
pub struct TurnContext {
    parts: Arc<TurnParts>,
}

/// The parts of a context, shared by its clones.
#[derive(Clone)]
pub(crate) struct TurnParts {
    pub(crate) turn: TurnId,
    pub(crate) prompt: Arc<[ContentBlock]>,
    pub(crate) host: Host,
    pub(crate) observer: Observer,
    pub(crate) pipe: Arc<TurnPipe>,
    pub(crate) cancel: CancellationToken,
    pub(crate) crew: Arc<WorkerCrew>,
    /// How often the agent passed the start of an iteration.
    pub(crate) iteration: Arc<AtomicU64>,
    /// Steering that was delivered but that the agent has not read.
    pub(crate) unread: UnreadSteering,
}

/// A question whether a call may run.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// The call.
    pub tool_call: ToolCall,
    /// The possible answers.
    pub options: Vec<PermissionOption>,
}

impl TurnContext {
    pub(crate) fn new(parts: TurnParts) -> Self {
        Self {
            parts: Arc::new(parts),
        }
    }

    pub(crate) fn parts(&self) -> &TurnParts {
        &self.parts
    }

    /// Returns the prompt.
    pub fn prompt(&self) -> &[ContentBlock] {
        &self.parts.prompt
    }

    /// Returns the prompt as text.
    pub fn prompt_text(&self) -> String {
        plain_text(&self.parts.prompt)
    }

    /// Returns the id of the session.
    pub fn session_id(&self) -> &SessionId {
        self.parts.observer.id()
    }

    /// Returns the id of this turn.
    pub fn turn_id(&self) -> &TurnId {
        &self.parts.turn
    }

    /// Returns the session's working directory.
    pub fn cwd(&self) -> &Path {
        &self.parts.observer.shared.cwd
    }

    /// Returns the session's further directories, absolute.
    pub fn additional_directories(&self) -> Vec<PathBuf> {
        let roots = self.parts.observer.shared.roots();
        roots.dirs().iter().skip(1).cloned().collect()
    }

    /// Returns the host: files, commands and tools.
    pub fn host(&self) -> &Host {
        &self.parts.host
    }

    /// Returns the equipment of the session if it has this type.
    pub fn equipment<T: Equipment>(&self) -> Option<Arc<T>> {
        let equipment: Arc<dyn Any + Send + Sync> = self.parts.observer.shared.equipment.clone();
        equipment.downcast().ok()
    }

    /// Returns the same turn with another prompt, for an agent that delegates to another agent.
    #[must_use]
    pub fn with_prompt(&self, prompt: Vec<ContentBlock>) -> Self {
        Self::new(TurnParts {
            prompt: prompt.into(),
            ..self.parts.as_ref().clone()
        })
    }

    /// Returns the iteration of the turn, from 0: how often the agent has passed its start.
    pub fn iteration(&self) -> u64 {
        self.parts.iteration.load(Ordering::Relaxed)
    }

    /// Returns the size of the model's context in tokens, if the agent reported it.
    pub fn context_tokens(&self) -> Option<u64> {
        let view = self.parts.observer.shared.view();
        view.usage.as_ref().map(|usage| usage.size)
    }

    /// Returns the ids of the session's active skills, each with the name it was activated under.
    pub fn active_skills(&self) -> BTreeMap<String, String> {
        self.parts.observer.shared.view().skills.clone()
    }

    /// Returns the session's mode.
    pub fn mode(&self) -> String {
        self.parts.observer.mode()
    }

    /// Returns the value of one of the agent's own options.
    pub fn option(&self, id: &str) -> Option<String> {
        self.parts.observer.option(id)
    }

    /// Whether the turn was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.parts.cancel.is_cancelled()
    }

    /// Resolves when the turn is cancelled.
    pub async fn cancelled(&self) {
        self.parts.cancel.cancelled().await;
    }

    /// Reports an event. The journal has it before any client sees it; this waits only while the session task
    /// is behind. Refuses events that an agent must not report and invalid artifacts.
    pub async fn emit(&self, event: AgentEvent) -> Result<(), AgentError> {
        if let Author::Runtime(how) = event.author() {
            let refusal = format!("an agent cannot report this itself: {how}");
            return Err(AgentError::Failed(refusal));
        }
        if let AgentEvent::UserMessage { message_id, .. } = &event {
            let view = self.parts.observer.shared.view();
            if view.pending.message(message_id).is_some() {
                let refusal = "a pending message is delivered at a seam".to_owned();
                return Err(AgentError::Failed(refusal));
            }
        }
        if let AgentEvent::Artifact(artifact) = &event {
            artifact.check().map_err(AgentError::Failed)?;
        }
        self.parts.pipe.push(TurnItem::Event(event)).await
    }

    /// Sends a message to the user.
    pub async fn say(&self, text: impl Into<String>) -> Result<(), AgentError> {
        self.emit(AgentEvent::message(text)).await
    }

    /// Emits a thought.
    pub async fn think(&self, text: impl Into<String>) -> Result<(), AgentError> {
        self.emit(AgentEvent::thought(text)).await
    }

    /// Shows a plan, which replaces the previous one.
    pub async fn plan(&self, entries: Vec<PlanEntry>) -> Result<(), AgentError> {
        let plan = Plan::Entries(entries);
        self.emit(AgentEvent::Plan { plan }).await
    }

    /// Starts the description of a tool call.
    pub fn tool(&self, name: impl Into<String>) -> ToolBuilder {
        ToolBuilder::new(self.clone(), name.into())
    }

    /// Starts the description of a worker, which works on a task in its own session during this turn.
    pub fn worker(&self, name: impl Into<String>) -> WorkerBuilder {
        WorkerBuilder::new(self.parts.crew.clone(), name.into())
    }

    /// Returns the last update of every worker that the session ever had, by id.
    pub fn workers(&self) -> Vec<WorkerUpdate> {
        let view = self.parts.observer.shared.view();
        view.workers.values().map(|last| (**last).clone()).collect()
    }

    /// Returns a worker of the session, of this turn or an earlier one.
    pub fn find_worker(&self, id: &WorkerId) -> Result<Worker, WorkerError> {
        Worker::find(self.parts.crew.clone(), id)
    }

    /// Asks the controller of the session and waits for the decision. A tool call through
    /// [`TurnContext::tool`] asks by itself where the rules require it.
    pub async fn ask(&self, question: Question) -> Result<Decision, AgentError> {
        let judged = JudgedAct {
            line: ProposedCall::from(&question.tool_call).shown_command(),
            paths: Vec::new(),
        };
        self.send_question(question, judged, None, None).await
    }

    /// Asks the controller about a judged call.
    pub(super) async fn ask_about_call(
        &self,
        tool_call: ToolCall,
        judged: &CallJudgement,
    ) -> Result<Decision, AgentError> {
        let grant = judged.grant.clone();
        let lasting = self.can_remember();
        let question = Question {
            tool_call,
            options: options(grant.as_ref(), lasting),
        };
        let (shown, receipt) = (judged.shown.clone(), judged.receipt.to_question_receipt());
        self.send_question(question, shown, Some(receipt), grant)
            .await
    }

    async fn send_question(
        &self,
        mut question: Question,
        judged: JudgedAct,
        policy_decision: Option<PolicyDecision>,
        grant: Option<Grant>,
    ) -> Result<Decision, AgentError> {
        let config = &self.parts.observer.shared.config;
        let requested_at = config.clock.now();
        let deadline = u64::try_from(config.ask_deadline.as_millis()).unwrap_or(u64::MAX);
        let title = question.tool_call.title.as_mut();
        if let Some(title) = title {
            *title = harn_policy::visible_line(title);
        }
        // The runtime sets id and lineage: an agent can neither use the answer to another question nor
        // impersonate a worker.
        let ask = PermissionAsked {
            ask_id: AskId::new(self.mint(IdKind::Ask)),
            tool_call: question.tool_call,
            options: question.options,
            lineage: Vec::new(),
            policy_decision,
            judged,
            grant,
            requested_at,
            deadline: Some(requested_at.saturating_add(deadline)),
            pending: 0,
        };
        let (reply, decision) = oneshot::channel();
        let item = TurnItem::Ask(Box::new(ask), reply);
        self.parts.pipe.push(item).await?;
        // A dropped reply means that the runtime settled the turn.
        decision.await.map_err(|_| AgentError::Cancelled)
    }

    pub(super) async fn judge(&self, act: ProposedCall) -> CallJudgement {
        judge(&self.parts.observer.shared, act).await
    }

    /// Pushes an item that only the runtime may write.
    pub(crate) async fn push(&self, item: TurnItem) -> Result<(), AgentError> {
        self.parts.pipe.push(item).await
    }

    pub(super) async fn push_all(&self, items: Vec<TurnItem>) -> Result<(), AgentError> {
        self.parts.pipe.push_all(items).await
    }

    pub(crate) fn session_mode(&self) -> SessionMode {
        self.parts.observer.shared.mode()
    }

    /// Returns the rules in force as text; empty if there are none.
    pub(crate) async fn rules_text(&self) -> Result<String, PolicyError> {
        self.run_with_rules(|shared| {
            let policy = shared.config.rules.policy(&shared.cwd)?;
            let source = policy.source();
            let none = *source == harn_policy::ToolApprovalPolicy::default();
            Ok(if none {
                String::new()
            } else {
                source.to_toml()
            })
        })
        .await
    }

    /// Returns the grants of the session and of the workspace.
    pub(crate) async fn grants(&self) -> (Vec<Grant>, Result<Vec<Grant>, PolicyError>) {
        let session = self.parts.observer.shared.root().view().grants.clone();
        let lasting = self.run_with_rules(|shared| shared.config.rules.grants(&shared.cwd));
        (session, lasting.await)
    }

    /// Whether grants can outlast the session.
    pub(crate) fn can_remember(&self) -> bool {
        self.parts.observer.shared.config.rules.can_remember()
    }

    /// Stores a grant for its workspace before it returns.
    pub(crate) async fn keep_for_workspace(&self, grant: Grant) -> Result<(), PolicyError> {
        self.run_with_rules(move |shared| {
            let at = shared.config.clock.now();
            shared.config.rules.remember(&grant, at)
        })
        .await
    }

    /// Revokes a grant of the workspace.
    pub(crate) async fn revoke_stored_grant(&self, id: &str) -> Result<bool, PolicyError> {
        let id = id.to_owned();
        self.run_with_rules(move |shared| shared.config.rules.revoke(&id))
            .await
    }

    /// Runs `work` on a blocking thread, because rules are stored in files.
    async fn run_with_rules<T: Send + 'static>(
        &self,
        work: impl FnOnce(&SharedSession) -> Result<T, PolicyError> + Send + 'static,
    ) -> Result<T, PolicyError> {
        let shared = self.parts.observer.shared.clone();
        let done = tokio::task::spawn_blocking(move || work(&shared)).await;
        done.unwrap_or_else(|error| {
            Err(PolicyError::Syntax {
                origin: "rules".to_owned(),
                message: error.to_string(),
            })
        })
    }

    /// Waits until everything emitted so far is written.
    pub async fn flush(&self) -> Result<(), AgentError> {
        self.parts.pipe.flush().await
    }

    pub(super) fn mint(&self, kind: IdKind) -> String {
        self.parts.observer.shared.config.ids.mint(kind)
    }
}
