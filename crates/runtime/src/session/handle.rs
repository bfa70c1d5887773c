//! Handles to a session. Watching and driving are different types.

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
    shared::{SharedSession, lock},
};
use crate::{
    EquipmentChange, HitlError, HostPort, IdKind, PromptError, SeatTerm, Subscription,
    hitl::HitlEnd, permission::with_command,
};

/// What a session's task is asked to do.
pub(crate) enum TaskRequest {
    Prompt(QueuedPrompt),
    Cancel(TurnId),
    /// An answer; one that was put to a seat counts while that seat is still asked.
    Answer(AskId, Decision, Option<SeatTerm>),
    HitlRespond(
        Box<HitlResponse>,
        Option<SeatTerm>,
        oneshot::Sender<Result<Seq, HitlError>>,
    ),
    HitlEnd {
        id: String,
        end: HitlEnd,
        /// Whether the question is said as text.
        said: bool,
        term: Option<SeatTerm>,
    },
    Routed(Box<PermissionRoute>),
    Control(Box<ControlRequest>),
    /// A client on the session wants something.
    Live(Box<LiveRequest>),
    /// A connection has ended.
    Leave(SeatId, Option<oneshot::Sender<()>>),
    /// What the session above has its workers keep in mind.
    Inherit(Vec<SystemReminder>),
    /// The session above took a reminder back that came from there.
    Forget(ReminderRevocation),
    /// What the session is equipped with changed.
    Equipped(EquipmentChange),
    /// An agent that waits is to go on.
    Resume,
    Set(SettingChange, oneshot::Sender<Seq>),
    Unarchive(oneshot::Sender<Result<(), JournalError>>),
    /// The directories beside its own that it is to have.
    SetDirectories(Vec<PathBuf>),
    /// Somebody wants to know when all before this is dealt with.
    DealtWith(oneshot::Sender<Seq>),
    Close {
        reply: oneshot::Sender<()>,
        /// Whether the journal tells of it: somebody asked for it, the process is not just ending.
        told: bool,
    },
}

/// A prompt that waits for its turn.
pub(crate) struct QueuedPrompt {
    pub(crate) turn: TurnId,
    pub(crate) message: MessageId,
    pub(crate) blocks: Arc<[ContentBlock]>,
    /// Whether who sent it may give the session commands, and not only its agent.
    pub(crate) commands: bool,
    /// The client that sent it, where one did under a name.
    pub(crate) author: Option<Box<LiveAuthor>>,
}

impl QueuedPrompt {
    /// What its turn begins with, as the events of a prompt tell it.
    pub(crate) fn begins(&self) -> Box<TurnStarted> {
        Box::new(TurnStarted {
            message_id: self.message.clone(),
            prompt: self.blocks.to_vec(),
            live_session: self.author.clone(),
        })
    }
}

/// What somebody says to an agent, and what is to be known of it beforehand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PromptSubmission {
    /// What is said.
    pub blocks: Vec<ContentBlock>,
    /// The id it has as a message; one that no other message of the session has. Without it, one is minted.
    pub message: Option<MessageId>,
    /// How many prompts may be before it that have not ended, running or waiting; without it, as many as
    /// the hub takes. Behind none of them it is the one that runs, or nothing comes of it.
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

/// May watch a session.
#[derive(Clone)]
pub struct Observer {
    pub(crate) shared: Arc<SharedSession>,
}

impl Observer {
    /// The session.
    #[must_use]
    pub fn id(&self) -> &SessionId {
        &self.shared.meta.thread_id
    }

    /// What it was created with.
    #[must_use]
    pub fn meta(&self) -> &SessionMeta {
        &self.shared.meta
    }

    /// What it looks like now.
    #[must_use]
    pub fn view(&self) -> SessionView {
        self.shared.view().clone()
    }

    /// Its title, once it has one.
    #[must_use]
    pub fn title(&self) -> Option<String> {
        self.shared.view().title.clone()
    }

    /// When the last event was written; zero before the first.
    #[must_use]
    pub fn updated_at(&self) -> Timestamp {
        self.shared.view().updated_at
    }

    /// Whether the last turn that ended failed, or a crash cut it short.
    #[must_use]
    pub fn last_turn_failed(&self) -> bool {
        self.shared.view().last_turn_failed()
    }

    /// The last event that was written.
    #[must_use]
    pub fn last_seq(&self) -> Seq {
        self.shared.view().last_seq
    }

    /// Its mode; that of a worker's session is never laxer than the one of the session it works for.
    #[must_use]
    pub fn mode(&self) -> String {
        self.shared.mode().id().to_owned()
    }

    /// The value of an option of its agent.
    #[must_use]
    pub fn option(&self, id: &str) -> Option<String> {
        let set = self.shared.view().config.get(id).cloned();
        set.or_else(|| find(&self.shared.profile.options, id).map(|o| o.default.clone()))
    }

    /// The options of its agent with their values.
    #[must_use]
    pub fn options(&self) -> Vec<(ConfigOption, String)> {
        let view = self.shared.view();
        let value = |o: &ConfigOption| view.config.get(&o.id).unwrap_or(&o.default).clone();
        let options = self.shared.profile.options.iter();
        options.map(|o| (o.clone(), value(o))).collect()
    }

    /// The slash commands on offer.
    #[must_use]
    pub fn commands(&self) -> Vec<SlashCommand> {
        let own = self.shared.own_commands();
        with_command(self.shared.with_equipment(own).0)
    }

    /// How the MCP servers of the session stand, by name.
    #[must_use]
    pub fn mcp_servers(&self) -> Vec<McpServerStatus> {
        self.shared.equipment.servers()
    }

    /// The time, as the session's events are stamped with it.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.shared.config.clock.now()
    }

    /// Whether both are handles to one session as it is open now, and not to one that was opened again.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// The turn a cancel would reach now: the oldest that has not ended.
    #[must_use]
    pub fn cancel_target(&self) -> Option<TurnId> {
        lock(&self.shared.unfinished).front().cloned()
    }

    /// Follows the session from what is published next.
    #[must_use]
    pub fn subscribe_from_now(&self) -> Subscription {
        Subscription::from_now(self.shared.feed.clone())
    }

    /// Follows the session from just after `after`; [`Seq::ZERO`] is the beginning.
    #[must_use]
    pub fn subscribe(&self, after: Seq) -> Subscription {
        Subscription::new(self.shared.feed.clone(), after)
    }
}

/// May drive a session.
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

    /// Whether its task has ended. Its journal is free then.
    pub(crate) fn is_closed(&self) -> bool {
        self.inbox.is_closed()
    }

    /// A handle that may only watch.
    #[must_use]
    pub fn observer(&self) -> Observer {
        self.observer.clone()
    }

    /// Lends the session a host for files, commands and tools, until a seat is in control.
    pub fn set_host(&self, host: Arc<dyn HostPort>) {
        *lock(&self.shared.host) = host;
    }

    /// Adds MCP servers to the session, or replaces those of the same name. They connect beside whatever
    /// goes on; the next prompt waits for them, for a while.
    pub fn add_servers(&self, servers: Vec<McpServerSpec>) {
        if !servers.is_empty() {
            self.shared.equipment.add_servers(servers);
        }
    }

    /// Replaces the directories beside the session's own, for what is asked of the session after this.
    /// Absolute paths.
    pub async fn set_directories(&self, additional: Vec<PathBuf>) {
        self.notify(TaskRequest::SetDirectories(additional)).await;
    }

    /// The session's host has other skills than before: they are looked at before the agent goes on.
    pub fn skills_updated(&self) {
        self.shared.equipment.skills_updated();
    }

    /// Submits a prompt. It runs when the prompts before it have ended; its end is the turn's
    /// [`TurnEnded`](harn_model::AgentEvent::TurnEnded) event. `registered` is called with the turn's id
    /// before the session can hear of it, so that a caller cannot miss the end.
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
        self.shared.check(&prompt.blocks)?;
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

    /// Cancels a turn, running or waiting, and no other. Nothing happens if it has ended.
    pub async fn cancel(&self, turn: TurnId) {
        self.notify(TaskRequest::Cancel(turn)).await;
    }

    /// Answers a question. The first answer wins; later ones are ignored.
    pub async fn answer(&self, ask: AskId, decision: Decision) {
        self.notify(TaskRequest::Answer(ask, decision, None)).await;
    }

    /// Answers what a person is asked; written and published when this returns, with the place of its last
    /// event. What has its answer, or never had a question, is unknown.
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

    /// Tells that nobody can be asked this. The question is said as text, and who asked goes on without an
    /// answer.
    pub async fn hitl_unavailable(&self, request_id: &str, why: impl Into<String>) {
        self.end_hitl(request_id, HitlEnd::withdrawn(why), true, None)
            .await;
    }

    /// Tells that whoever was asked will not answer.
    pub async fn hitl_declined(&self, request_id: &str) {
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

    /// Tells that a question was put to a client; stays in the transcript.
    pub async fn routed(&self, route: PermissionRoute) {
        self.notify(TaskRequest::Routed(Box::new(route))).await;
    }

    /// Waits until what was asked of the session before this is dealt with: a prompt has begun or waits, an
    /// answer is taken. The last event that was published then; none where the session has ended.
    pub async fn dealt_with(&self) -> Option<Seq> {
        self.request(TaskRequest::DealtWith).await
    }

    /// Cancels what runs, settles it, and gives the session's lock back.
    pub(crate) async fn close(&self, told: bool) {
        // No reply means that the task ended on its own, which is as closed.
        let _ = self
            .request(|reply| TaskRequest::Close { reply, told })
            .await;
    }

    /// Sends the session's task a message without a reply. A session that has ended needs none: nothing runs or
    /// waits in it, and its questions are settled.
    pub(super) async fn notify(&self, msg: TaskRequest) {
        let _ = self.inbox.send(msg).await;
    }

    /// Sends a message and waits for the reply to it; none where the session has ended.
    pub(super) async fn request<T>(
        &self,
        msg: impl FnOnce(oneshot::Sender<T>) -> TaskRequest,
    ) -> Option<T> {
        let (reply, done) = oneshot::channel();
        self.inbox.send(msg(reply)).await.ok()?;
        done.await.ok()
    }
}

pub(super) fn find<'a>(options: &'a [ConfigOption], id: &str) -> Option<&'a ConfigOption> {
    options.iter().find(|option| option.id == id)
}
