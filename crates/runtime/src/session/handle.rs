//! Handles to a session. Watching and driving are different types.

use std::{
    collections::{BTreeMap, VecDeque},
    ops::Deref,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use harn_journal::SessionMeta;
use harn_model::{
    AskId, Command, ConfigOption, ContentBlock, Decision, ExecutionKind, HitlRequest, HitlResponse,
    LiveAuthor, MessageId, MutationScope, MutationSession, PermissionRoute, Seq, SessionId,
    SessionView, SystemReminder, Timestamp, TurnId,
};
use harn_policy::{Policy, Roots, SessionMode};
use serde_json::Value;
use tokio::sync::{Semaphore, mpsc, oneshot};

use super::{
    control::{ControlRequest, Forgotten},
    live::{Live, LiveRequest},
    roster::SeatId,
};
use crate::{
    Agent, AgentProfile, HitlError, HostPort, HubConfig, IdKind, PromptError, SettingError,
    Subscription, Term, hitl::HitlEnd, hub::WeakHub, mode, permission::with_command, publish::Feed,
    worker::ChildOf,
};

/// What a session's task is asked to do.
pub(crate) enum Msg {
    Prompt(QueuedPrompt),
    Cancel(TurnId),
    /// An answer; one that was put to a seat counts while that seat is still asked.
    Answer(AskId, Decision, Option<Term>),
    HitlRespond(
        Box<HitlResponse>,
        Option<Term>,
        oneshot::Sender<Result<Seq, HitlError>>,
    ),
    HitlEnd {
        id: String,
        end: HitlEnd,
        /// Whether the question is said as text.
        said: bool,
        term: Option<Term>,
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
    Forget(Forgotten),
    /// An agent that waits is to go on.
    Resume,
    SetMode(String, oneshot::Sender<Seq>),
    SetOption(String, String, oneshot::Sender<Seq>),
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

/// What the task and its handles share.
pub(crate) struct Shared {
    pub(crate) meta: SessionMeta,
    pub(crate) cwd: Arc<Path>,
    /// Its directories, and what in them is never written.
    pub(crate) roots: Roots,
    /// The rules that were in force at the last call, as audits tell them.
    pub(crate) rules: Mutex<Option<(Arc<Policy>, Option<Value>)>>,
    pub(crate) view: Mutex<SessionView>,
    pub(crate) feed: Arc<Feed>,
    /// Turns that were submitted and have not ended, oldest first. A cancel binds to the oldest at the
    /// moment it is read, so that a late one cannot reach a later turn.
    pub(crate) unfinished: Mutex<VecDeque<TurnId>>,
    pub(crate) host: Mutex<Arc<dyn HostPort>>,
    /// Who is on it. Of this process, like its clients: a session that is opened again is controlled by
    /// nobody.
    pub(crate) live: Live,
    /// What people are being asked: what of the open questions of the view can be answered.
    pub(crate) hitl: Mutex<BTreeMap<String, Arc<HitlRequest>>>,
    pub(crate) config: Arc<HubConfig>,
    /// Who works on its prompts.
    pub(crate) agent: Arc<dyn Agent>,
    pub(crate) profile: Arc<AgentProfile>,
    /// Whose worker it is, while it works for somebody.
    pub(crate) lineage: Option<ChildOf>,
    pub(crate) hub: WeakHub,
    /// Places for workers at every depth below it; those of the session at the top count.
    pub(crate) places: Arc<Semaphore>,
}

impl Shared {
    pub(crate) fn view(&self) -> MutexGuard<'_, SessionView> {
        lock(&self.view)
    }

    /// The session above, for which it works.
    fn parent(&self) -> Option<&Arc<Self>> {
        self.lineage
            .as_ref()
            .map(|child_of| &child_of.parent.shared)
    }

    /// The session at the top: the one that clients know.
    pub(crate) fn root(&self) -> &Self {
        self.above().last().unwrap_or(self)
    }

    /// The sessions above it, the next first.
    fn above(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(self.parent(), |above| above.parent()).map(|above| &**above)
    }

    /// How many sessions are above it.
    pub(crate) fn depth(&self) -> usize {
        self.above().count()
    }

    /// Whether it works for this session, or for one that does.
    pub(crate) fn is_below(&self, session: &SessionId) -> bool {
        self.above().any(|above| above.meta.thread_id == *session)
    }

    /// The mode in force. A worker may never do more than the session it works for.
    pub(crate) fn mode(&self) -> SessionMode {
        let above = self.parent().map(|above| above.mode());
        let chosen = self.view().mode.as_deref().map(|id| {
            // A mode of a later version may be anything; the strictest is safe.
            SessionMode::of(id).unwrap_or(SessionMode::ReadOnly)
        });
        match (chosen, above) {
            (Some(chosen), Some(above)) => chosen.min(above),
            (Some(mode), None) | (None, Some(mode)) => mode,
            (None, None) => self.config.default_mode,
        }
    }

    /// The worker that acts in it, by name.
    pub(crate) fn worker_name(&self) -> Option<&str> {
        self.lineage.as_ref().map(|child_of| &*child_of.worker_name)
    }

    /// Notes which rules are in force.
    pub(crate) fn note_policy(&self, policy: &Arc<Policy>) {
        let mut noted = lock(&self.rules);
        if noted
            .as_ref()
            .is_some_and(|(of, _)| Arc::ptr_eq(of, policy))
        {
            return;
        }
        *noted = Some((policy.clone(), told(policy)));
    }

    /// Refuses what the agent does not take.
    pub(crate) fn check(&self, blocks: &[ContentBlock]) -> Result<(), PromptError> {
        if blocks.is_empty() {
            return Err(PromptError::Empty);
        }
        let takes = self.profile.prompt;
        let refused = blocks.iter().find(|block| match block {
            ContentBlock::Text { .. } | ContentBlock::ResourceLink(_) => false,
            ContentBlock::Image { .. } => !takes.image,
            ContentBlock::Audio { .. } => !takes.audio,
            ContentBlock::Resource(_) => !takes.embedded,
        });
        match refused {
            Some(block) => Err(PromptError::Unsupported { kind: block.kind() }),
            None => Ok(()),
        }
    }

    /// The right a turn acts under; none where nothing may change. A worker's is lent by the session it
    /// works for.
    pub(crate) fn mutation(&self, turn: &TurnId) -> Option<Arc<MutationSession>> {
        if self.mode() == SessionMode::ReadOnly {
            return None;
        }
        if let Some(child_of) = &self.lineage {
            let lent = child_of.parent.shared.mutation(&child_of.turn)?;
            let own = lent.delegated(Some(&self.meta.thread_id), &child_of.worker_id);
            return Some(Arc::new(own));
        }
        Some(Arc::new(MutationSession {
            session_id: self.meta.thread_id.clone(),
            parent_session_id: None,
            run_id: Some(turn.clone()),
            worker_id: None,
            execution_kind: Some(ExecutionKind::Run),
            mutation_scope: MutationScope::ApplyWorkspace,
            approval_policy: lock(&self.rules)
                .as_ref()
                .and_then(|(_, told)| told.clone()),
        }))
    }
}

/// Rules as an audit tells them, which goes with every call: not where they would be most of it.
fn told(policy: &Policy) -> Option<Value> {
    const MOST: usize = 8 * 1024;
    let source = policy.source();
    if *source == harn_policy::ToolApprovalPolicy::default() {
        return None;
    }
    let told = serde_json::to_value(source).ok()?;
    let bytes = told.to_string().len();
    Some(match bytes {
        ..=MOST => told,
        _ => serde_json::json!({ "omitted_bytes": bytes }),
    })
}

/// A lock that survives a panic of whoever held it: what it guards is replaced whole or appended to.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// May watch a session.
#[derive(Clone)]
pub struct Observer {
    pub(crate) shared: Arc<Shared>,
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
    pub fn commands(&self) -> Vec<Command> {
        let own = self.shared.view().commands.clone();
        with_command(own.unwrap_or_else(|| self.shared.profile.commands.clone()))
    }

    /// What people are being asked, oldest id first. Questions that an agent only tells of are not among
    /// them: nobody here could answer.
    #[must_use]
    pub fn open_hitl(&self) -> Vec<Arc<HitlRequest>> {
        lock(&self.shared.hitl).values().cloned().collect()
    }

    /// Something that a person is being asked, while it is open.
    #[must_use]
    pub fn hitl(&self, request_id: &str) -> Option<Arc<HitlRequest>> {
        lock(&self.shared.hitl).get(request_id).cloned()
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
    pub(super) inbox: mpsc::Sender<Msg>,
}

impl Deref for Controller {
    type Target = Observer;

    fn deref(&self) -> &Observer {
        &self.observer
    }
}

impl Controller {
    pub(crate) fn new(shared: Arc<Shared>, inbox: mpsc::Sender<Msg>) -> Self {
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

    /// Submits a prompt. It runs when the prompts before it have ended; its end is the turn's
    /// [`TurnEnded`](harn_model::AgentEvent::TurnEnded) event. `registered` is called with the turn's id
    /// before the session can hear of it, so that a caller cannot miss the end.
    pub async fn prompt(
        &self,
        blocks: Vec<ContentBlock>,
        registered: impl FnOnce(&TurnId),
    ) -> Result<TurnId, PromptError> {
        self.submit(blocks, None, registered).await
    }

    pub(super) async fn submit(
        &self,
        blocks: Vec<ContentBlock>,
        author: Option<Box<LiveAuthor>>,
        registered: impl FnOnce(&TurnId),
    ) -> Result<TurnId, PromptError> {
        self.shared.check(&blocks)?;
        let permit = self
            .inbox
            .reserve()
            .await
            .map_err(|_| PromptError::Closed)?;
        let turn = TurnId::new(self.shared.config.ids.mint(IdKind::Turn));
        {
            let mut unfinished = lock(&self.shared.unfinished);
            if unfinished.len() > self.shared.config.max_waiting_prompts {
                let waiting = unfinished.len() - 1;
                return Err(PromptError::QueueFull { waiting });
            }
            unfinished.push_back(turn.clone());
        }
        registered(&turn);
        permit.send(Msg::Prompt(QueuedPrompt {
            turn: turn.clone(),
            message: MessageId::new(self.shared.config.ids.mint(IdKind::Message)),
            blocks: blocks.into(),
            commands: true,
            author,
        }));
        Ok(turn)
    }

    /// The turn a cancel would reach now: the oldest that has not ended.
    #[must_use]
    pub fn cancel_target(&self) -> Option<TurnId> {
        lock(&self.shared.unfinished).front().cloned()
    }

    /// Cancels a turn, running or waiting, and no other. Nothing happens if it has ended.
    pub async fn cancel(&self, turn: TurnId) {
        // A closed session has no turn to cancel.
        let _ = self.inbox.send(Msg::Cancel(turn)).await;
    }

    /// Answers a question. The first answer wins; later ones are ignored.
    pub async fn answer(&self, ask: AskId, decision: Decision) {
        // A closed session has settled its questions.
        let _ = self.inbox.send(Msg::Answer(ask, decision, None)).await;
    }

    /// The time, as the session's events are stamped with it.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.shared.config.clock.now()
    }

    /// Answers what a person is asked; written and published when this returns, with the place of its last
    /// event. What has its answer, or never had a question, is unknown.
    pub async fn hitl_respond(&self, response: HitlResponse) -> Result<Seq, HitlError> {
        self.respond(response, None).await
    }

    pub(super) async fn respond(
        &self,
        response: HitlResponse,
        term: Option<Term>,
    ) -> Result<Seq, HitlError> {
        let (reply, done) = oneshot::channel();
        let msg = Msg::HitlRespond(Box::new(response), term, reply);
        let sent = self.inbox.send(msg).await;
        sent.map_err(|_| HitlError::Closed)?;
        done.await.map_err(|_| HitlError::Closed)?
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
        term: Option<Term>,
    ) {
        let msg = Msg::HitlEnd {
            id: request_id.to_owned(),
            end,
            said,
            term,
        };
        // A closed session has settled what was open.
        let _ = self.inbox.send(msg).await;
    }

    /// Tells that a question was put to a client; stays in the transcript.
    pub async fn routed(&self, route: PermissionRoute) {
        // A closed session has settled its questions.
        let _ = self.inbox.send(Msg::Routed(Box::new(route))).await;
    }

    /// Chooses a mode; written and published when this returns, with the place of its event.
    pub async fn set_mode(&self, mode: &str) -> Result<Seq, SettingError> {
        if SessionMode::of(mode).is_none() {
            return Err(SettingError::UnknownMode {
                given: mode.to_owned(),
                known: join(mode::modes().iter().map(|m| m.id.as_str())),
            });
        }
        let (reply, done) = oneshot::channel();
        self.request(Msg::SetMode(mode.to_owned(), reply), done)
            .await
    }

    /// Sets an option of the agent; written and published when this returns, with the place of its
    /// event.
    pub async fn set_option(&self, id: &str, value: &str) -> Result<Seq, SettingError> {
        let options = &self.shared.profile.options;
        let Some(option) = find(options, id) else {
            return Err(SettingError::UnknownOption {
                given: id.to_owned(),
                known: join(options.iter().map(|o| o.id.as_str())),
            });
        };
        if !option.choices.iter().any(|choice| choice.value == value) {
            return Err(SettingError::UnknownValue {
                option: id.to_owned(),
                given: value.to_owned(),
                known: join(option.choices.iter().map(|c| c.value.as_str())),
            });
        }
        let (reply, done) = oneshot::channel();
        let msg = Msg::SetOption(id.to_owned(), value.to_owned(), reply);
        self.request(msg, done).await
    }

    /// Cancels what runs, settles it, and gives the session's lock back.
    pub(crate) async fn close(&self, told: bool) {
        let (reply, done) = oneshot::channel();
        if self.inbox.send(Msg::Close { reply, told }).await.is_ok() {
            // An error means that the task ended on its own, which is as closed.
            let _ = done.await;
        }
    }

    async fn request(&self, msg: Msg, done: oneshot::Receiver<Seq>) -> Result<Seq, SettingError> {
        let sent = self.inbox.send(msg).await;
        sent.map_err(|_| SettingError::Closed)?;
        done.await.map_err(|_| SettingError::Closed)
    }
}

fn find<'a>(options: &'a [ConfigOption], id: &str) -> Option<&'a ConfigOption> {
    options.iter().find(|option| option.id == id)
}

fn join<'a>(words: impl Iterator<Item = &'a str>) -> String {
    words.collect::<Vec<_>>().join(", ")
}
