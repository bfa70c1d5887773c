//! Handles to a session, with separate types for watching and driving.

use std::{ops::Deref, path::PathBuf, sync::Arc};

use harn_journal::{JournalError, SessionMeta};
use harn_model::{
    AskId, ConfigOption, ContentBlock, Decision, HitlResponse, LiveAuthor, McpServerSpec,
    McpServerStatus, MessageId, PermissionRoute, Seq, SessionId, SessionView, SlashCommand,
    SystemReminder, Timestamp, TurnId, TurnStarted,
};
use tokio::sync::{mpsc, oneshot};

use super::{
    control::{ControlRequest, ReminderRevocation},
    live::LiveRequest,
    roster::SeatId,
    settings::SettingChange,
    shared_session::{SharedSession, lock},
};
use crate::{
    EquipmentChange, HitlError, HostPort, IdKind, PromptError, SeatTerm, Subscription,
    hitl::HitlEnd, permission::with_command,
};

/// A request to a session task.
pub(crate) enum TaskRequest {
    Prompt(QueuedPrompt),
    Cancel(TurnId),
    /// An answer; one with a term counts only while that seat still receives the questions.
    Answer(AskId, Decision, Option<SeatTerm>),
    HitlRespond(
        Box<HitlResponse>,
        Option<SeatTerm>,
        oneshot::Sender<Result<Seq, HitlError>>,
    ),
    HitlEnd {
        id: String,
        end: HitlEnd,
        /// Whether to send the question to the user as text.
        said: bool,
        term: Option<SeatTerm>,
    },
    Routed(Box<PermissionRoute>),
    Control(Box<ControlRequest>),
    /// A request of a client on the session.
    Live(Box<LiveRequest>),
    /// A connection has ended.
    Leave(SeatId, Option<oneshot::Sender<()>>),
    /// Reminders that the parent session passes on to its workers.
    Inherit(Vec<SystemReminder>),
    /// The parent session revoked a reminder that it had passed on.
    Forget(ReminderRevocation),
    /// The session's equipment changed.
    Equipped(EquipmentChange),
    /// Wakes an idle agent.
    Resume,
    Set(SettingChange, oneshot::Sender<Seq>),
    Unarchive(oneshot::Sender<Result<(), JournalError>>),
    /// The directories to use in addition to its own.
    SetDirectories(Vec<PathBuf>),
    /// Requests a reply when everything before this is processed.
    DealtWith(oneshot::Sender<Seq>),
    Close {
        reply: oneshot::Sender<()>,
        /// Whether the journal records it: a client closed the session, the process is not just exiting.
        told: bool,
    },
}

/// A prompt that waits for its turn.
pub(crate) struct QueuedPrompt {
    pub(crate) turn: TurnId,
    pub(crate) message: MessageId,
    pub(crate) blocks: Arc<[ContentBlock]>,
    /// Whether its sender may use session commands, not only the agent's.
    pub(crate) commands: bool,
    /// The client that sent it, if it attached under a name.
    pub(crate) author: Option<Box<LiveAuthor>>,
}

impl QueuedPrompt {
    /// Returns the start of its turn, as the events of a prompt contain it.
    pub(crate) fn turn_started(&self) -> Box<TurnStarted> {
        Box::new(TurnStarted {
            message_id: self.message.clone(),
            prompt: self.blocks.to_vec(),
            live_session: self.author.clone(),
        })
    }
}

/// A prompt for an agent, with conditions for its acceptance.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PromptSubmission {
    /// The content of the prompt.
    pub blocks: Vec<ContentBlock>,
    /// Its message id, unique in the session; generated if it is missing.
    pub message: Option<MessageId>,
    /// How many unfinished prompts, running or waiting, may be ahead of it; by default the hub's limit. With
    /// 0 it runs at once or is rejected.
    pub behind: Option<usize>,
}

impl From<Vec<ContentBlock>> for PromptSubmission {
    fn from(blocks: Vec<ContentBlock>) -> Self {
        Self {
            blocks,
            ..Self::default()
        }
    }
}

/// A handle that may watch a session.
#[derive(Clone)]
pub struct Observer {
    pub(crate) shared: Arc<SharedSession>,
}

impl Observer {
    /// Returns the id of the session.
    pub fn id(&self) -> &SessionId {
        &self.shared.meta.thread_id
    }

    /// Returns the metadata it was created with.
    pub fn meta(&self) -> &SessionMeta {
        &self.shared.meta
    }

    /// Returns its current state.
    pub fn view(&self) -> SessionView {
        self.shared.view().clone()
    }

    /// Returns its title, if it has one.
    pub fn title(&self) -> Option<String> {
        self.shared.view().title.clone()
    }

    /// Returns the time of the last event; zero before the first.
    pub fn updated_at(&self) -> Timestamp {
        self.shared.view().updated_at
    }

    /// Whether the last turn that ended failed, or a crash interrupted it.
    pub fn last_turn_failed(&self) -> bool {
        self.shared.view().last_turn_failed()
    }

    /// Returns the last written event.
    pub fn last_seq(&self) -> Seq {
        self.shared.view().last_seq
    }

    /// Returns its mode; the mode of a worker's session is never laxer than its parent's.
    pub fn mode(&self) -> String {
        self.shared.mode().id().to_owned()
    }

    /// Returns the value of an option of its agent.
    pub fn option(&self, id: &str) -> Option<String> {
        let set = self.shared.view().config.get(id).cloned();
        set.or_else(|| find_option(&self.shared.profile.options, id).map(|o| o.default.clone()))
    }

    /// Returns the options of its agent with their values.
    pub fn options(&self) -> Vec<(ConfigOption, String)> {
        let view = self.shared.view();
        let value = |o: &ConfigOption| view.config.get(&o.id).unwrap_or(&o.default).clone();
        let options = self.shared.profile.options.iter();
        options.map(|o| (o.clone(), value(o))).collect()
    }

    /// Returns the available slash commands.
    pub fn commands(&self) -> Vec<SlashCommand> {
        let own = self.shared.own_commands();
        with_command(self.shared.with_equipment(own).0)
    }

    /// Returns the status of the session's MCP servers, by name.
    pub fn mcp_servers(&self) -> Vec<McpServerStatus> {
        self.shared.equipment.servers()
    }

    /// Returns the time of the clock that stamps the session's events.
    pub fn now(&self) -> Timestamp {
        self.shared.config.clock.now()
    }

    /// Whether both handles refer to the same open session, not to one that was reopened.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// Returns the turn that a cancel would reach now: the oldest unfinished one.
    #[must_use]
    pub fn cancel_target(&self) -> Option<TurnId> {
        lock(&self.shared.unfinished).front().cloned()
    }

    /// Subscribes to the events that are published next.
    #[must_use]
    pub fn subscribe_from_now(&self) -> Subscription {
        Subscription::from_now(self.shared.feed.clone())
    }

    /// Subscribes to the events after `after`; [`Seq::ZERO`] is the start.
    #[must_use]
    pub fn subscribe(&self, after: Seq) -> Subscription {
        Subscription::new(self.shared.feed.clone(), after)
    }
}

/// A handle that may drive a session.
#[derive(Clone)]
pub struct Controller {
    observer: Observer,
    pub(super) inbox: mpsc::Sender<TaskRequest>,
}

impl Deref for Controller {
    type Target = Observer;

    fn deref(&self) -> &Observer {
        &self.observer
    }
}

impl Controller {
    pub(crate) fn new(shared: Arc<SharedSession>, inbox: mpsc::Sender<TaskRequest>) -> Self {
        Self {
            observer: Observer { shared },
            inbox,
        }
    }

    /// Whether its task has ended, which also releases its journal.
    pub(crate) fn is_closed(&self) -> bool {
        self.inbox.is_closed()
    }

    /// Returns a handle that may only watch.
    pub fn observer(&self) -> Observer {
        self.observer.clone()
    }

    /// Sets the session's host for files, commands and tools, until a seat takes control.
    pub fn set_host(&self, host: Arc<dyn HostPort>) {
        *lock(&self.shared.host) = host;
    }

    /// Adds MCP servers to the session, or replaces those of the same name. They connect in the background;
    /// the next prompt waits for them for a limited time.
    pub fn add_servers(&self, servers: Vec<McpServerSpec>) {
        if !servers.is_empty() {
            self.shared.equipment.add_servers(servers);
        }
    }

    /// Replaces the session's additional directories for all later requests. Absolute paths.
    pub async fn set_directories(&self, additional: Vec<PathBuf>) {
        self.notify(TaskRequest::SetDirectories(additional)).await;
    }

    /// Notifies the session that its host's skills changed; they are reloaded before the agent continues.
    pub fn notify_skills_updated(&self) {
        self.shared.equipment.notify_skills_updated();
    }

    /// Submits a prompt. It runs when the prompts before it have ended; its end is the turn's
    /// [`TurnEnded`](harn_model::AgentEvent::TurnEnded) event. `registered` receives the turn's id before the
    /// session does, so that a caller cannot miss the end.
    pub async fn prompt(
        &self,
        prompt: impl Into<PromptSubmission>,
        registered: impl FnOnce(&TurnId),
    ) -> Result<TurnId, PromptError> {
        self.submit(prompt.into(), None, registered).await
    }

    pub(super) async fn submit(
        &self,
        prompt: PromptSubmission,
        author: Option<Box<LiveAuthor>>,
        registered: impl FnOnce(&TurnId),
    ) -> Result<TurnId, PromptError> {
        let config = &self.shared.config;
        self.shared.check_prompt(&prompt.blocks)?;
        let permit = self
            .inbox
            .reserve()
            .await
            .map_err(|_| PromptError::Closed)?;
        let turn = TurnId::new(config.ids.mint(IdKind::Turn));
        {
            let mut unfinished = lock(&self.shared.unfinished);
            // One of them runs.
            let most = config.max_waiting_prompts.saturating_add(1);
            let before = unfinished.len();
            if before >= most || prompt.behind.is_some_and(|behind| before > behind) {
                let waiting = before - 1;
                return Err(PromptError::QueueFull { waiting });
            }
            unfinished.push_back(turn.clone());
        }
        registered(&turn);
        let minted = || MessageId::new(config.ids.mint(IdKind::Message));
        permit.send(TaskRequest::Prompt(QueuedPrompt {
            turn: turn.clone(),
            message: prompt.message.unwrap_or_else(minted),
            blocks: prompt.blocks.into(),
            commands: true,
            author,
        }));
        Ok(turn)
    }

    /// Cancels a turn, running or waiting, and no other. Does nothing if it has ended.
    pub async fn cancel(&self, turn: TurnId) {
        self.notify(TaskRequest::Cancel(turn)).await;
    }

    /// Answers a question. The first answer wins; later ones are ignored.
    pub async fn answer(&self, ask: AskId, decision: Decision) {
        self.notify(TaskRequest::Answer(ask, decision, None)).await;
    }

    /// Answers a request to a person; returns the position of its last event once it is written and
    /// published. Returns an error if no such request is open.
    pub async fn hitl_respond(&self, response: HitlResponse) -> Result<Seq, HitlError> {
        self.respond(response, None).await
    }

    pub(super) async fn respond(
        &self,
        response: HitlResponse,
        term: Option<SeatTerm>,
    ) -> Result<Seq, HitlError> {
        let responded = self
            .request(|reply| TaskRequest::HitlRespond(Box::new(response), term, reply))
            .await;
        responded.unwrap_or(Err(HitlError::Closed))
    }

    /// Ends a request because there is no person to ask. The question is sent to the user as text, and the
    /// agent continues without an answer.
    pub async fn report_hitl_unavailable(&self, request_id: &str, why: impl Into<String>) {
        self.end_hitl(request_id, HitlEnd::withdrawn(why), true, None)
            .await;
    }

    /// Ends a request because the person declined to answer.
    pub async fn decline_hitl(&self, request_id: &str) {
        let end = HitlEnd::declined();
        self.end_hitl(request_id, end, false, None).await;
    }

    pub(crate) async fn end_hitl(
        &self,
        request_id: &str,
        end: HitlEnd,
        said: bool,
        term: Option<SeatTerm>,
    ) {
        let id = request_id.to_owned();
        self.notify(TaskRequest::HitlEnd {
            id,
            end,
            said,
            term,
        })
        .await;
    }

    /// Records in the transcript that a question was sent to a client.
    pub async fn record_route(&self, route: PermissionRoute) {
        self.notify(TaskRequest::Routed(Box::new(route))).await;
    }

    /// Waits until all earlier requests to the session are processed: a prompt has started or waits, an
    /// answer is accepted. Returns the last published event, or `None` if the session has ended.
    pub async fn wait_until_processed(&self) -> Option<Seq> {
        self.request(TaskRequest::DealtWith).await
    }

    /// Cancels the running turn, settles it, and releases the session's lock.
    pub(crate) async fn close(&self, told: bool) {
        // No reply means that the task ended on its own, so the session is closed.
        let _ = self
            .request(|reply| TaskRequest::Close { reply, told })
            .await;
    }

    /// Sends a request without a reply to the session task. An ended session ignores it: nothing runs or
    /// waits in it, and its questions are settled.
    pub(super) async fn notify(&self, msg: TaskRequest) {
        let _ = self.inbox.send(msg).await;
    }

    /// Sends a request and waits for the reply; returns `None` if the session has ended.
    pub(super) async fn request<T>(
        &self,
        msg: impl FnOnce(oneshot::Sender<T>) -> TaskRequest,
    ) -> Option<T> {
        let (reply, done) = oneshot::channel();
        self.inbox.send(msg(reply)).await.ok()?;
        done.await.ok()
    }
}

pub(super) fn find_option<'a>(options: &'a [ConfigOption], id: &str) -> Option<&'a ConfigOption> {
    options.iter().find(|option| option.id == id)
}
