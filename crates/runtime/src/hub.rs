//! The hub owns the list of open sessions; it creates, opens, forks, closes and deletes them.

mod checks;
mod children;
mod config;
mod fork;
mod listing;
mod session_edits;

use std::{
    collections::{HashMap, VecDeque},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, Weak,
        atomic::{AtomicU64, Ordering},
    },
};

use harn_journal::{JournalError, OpenedLog, SessionLog, SessionMeta};
use harn_model::{Principal, SessionId, SessionView};
use harn_policy::SessionRoots;
use tokio::sync::{OnceCell, Semaphore, mpsc};

use crate::{
    Agent, AgentProfile, BoxFuture, Controller, EquipmentLink, IdKind, NewEquipment, NoHost,
    SessionError,
    publish::SessionFeed,
    session::{LiveRoster, SessionTask, SharedSession, TaskRequest, lock},
    worker::ParentLink,
};

use checks::{check_cwd, check_own, check_own_cwd, is_same_dir};
use session_edits::settle_crash;

pub use config::HubConfig;
pub use listing::{ArchiveFilter, ListedSession, SessionFilter, SessionPage};

/// A session to be created.
#[derive(Clone, Debug)]
pub struct NewSession {
    /// Its working directory, absolute.
    pub cwd: PathBuf,
    /// Further roots, absolute.
    pub additional_directories: Vec<PathBuf>,
}

/// The sessions of one agent that belong to one principal. Cheap to clone.
#[derive(Clone)]
pub struct Hub {
    inner: Arc<HubInner>,
    principal: Principal,
}

/// A session's weak reference to its hub, which may be dropped first.
#[derive(Clone)]
pub(crate) struct WeakHub(Weak<HubInner>, Principal);

impl WeakHub {
    pub(crate) fn upgrade(&self) -> Option<Hub> {
        let principal = self.1.clone();
        self.0.upgrade().map(|inner| Hub { inner, principal })
    }
}

/// The agent of a session, and the parent session of a worker.
#[derive(Clone)]
struct SessionAgent {
    agent: Arc<dyn Agent>,
    profile: Arc<AgentProfile>,
    lineage: Option<ParentLink>,
}

type SessionCell = Arc<OnceCell<Controller>>;

struct HubInner {
    config: Arc<HubConfig>,
    profile: Arc<AgentProfile>,
    /// A cell is filled once its session is open; a second opener waits for the first.
    live: Mutex<Option<HashMap<SessionId, SessionCell>>>,
    /// The number of connections so far.
    connections: AtomicU64,
}

const INBOX: usize = 16;

impl Hub {
    /// Returns a hub with no open session. Touches nothing on disk.
    pub fn new(config: HubConfig) -> Self {
        let profile = Arc::new(config.agent.profile());
        Self {
            inner: Arc::new(HubInner {
                config: Arc::new(config),
                profile,
                live: Mutex::new(Some(HashMap::new())),
                connections: AtomicU64::new(0),
            }),
            principal: Principal::owner(),
        }
    }

    /// Returns the same hub for another principal.
    #[must_use]
    pub fn for_principal(&self, principal: Principal) -> Self {
        let inner = self.inner.clone();
        Self { inner, principal }
    }

    /// Returns the principal whose sessions it shows.
    pub fn principal(&self) -> &Principal {
        &self.principal
    }

    /// Returns a unique number for a new connection.
    pub fn number_connection(&self) -> u64 {
        self.inner.connections.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Returns the absolute folder that contains stored session paths, such as a worker's; `None` if sessions
    /// are not stored in files.
    pub fn session_root(&self) -> Option<PathBuf> {
        let root = self.inner.config.store.root();
        root.filter(|root| root.is_absolute())
    }

    /// Returns the agent's description of itself.
    pub fn profile(&self) -> &AgentProfile {
        &self.inner.profile
    }

    /// Creates a session.
    pub fn create(&self, new: NewSession) -> BoxFuture<'_, Result<Controller, SessionError>> {
        Box::pin(async move {
            check_cwd(&new.cwd)?;
            let meta = self.fresh_meta(self.mint(), new, None);
            self.create_as(meta, self.own_role(), create_empty).await
        })
    }

    /// Creates a session; `create` writes the start of its log.
    async fn create_as(
        &self,
        meta: SessionMeta,
        role: SessionAgent,
        create: impl FnOnce(&HubConfig, SessionMeta) -> Result<CreatedLog, JournalError>
        + Send
        + 'static,
    ) -> Result<Controller, SessionError> {
        let id = meta.thread_id.clone();
        let cell = self.get_or_insert_cell(&id)?;
        let config = self.inner.config.clone();
        let open = async {
            let (log, meta, view) = run_blocking(move || create(&config, meta)).await?;
            Ok(self.serve(meta, log, view, role))
        };
        self.fill_cell(&id, cell, open).await
    }

    /// Opens a session, or returns it if it is open. A `cwd` must match the session's own.
    pub async fn open(
        &self,
        id: &SessionId,
        cwd: Option<&Path>,
    ) -> Result<Controller, SessionError> {
        self.open_as(id, cwd, self.own_role(), None).await
    }

    /// Opens a session. If it does not exist and `or_new` is given, creates it.
    fn open_as<'a>(
        &'a self,
        id: &'a SessionId,
        cwd: Option<&'a Path>,
        role: SessionAgent,
        or_new: Option<SessionMeta>,
    ) -> BoxFuture<'a, Result<Controller, SessionError>> {
        Box::pin(async move {
            loop {
                let (cell, role) = (self.get_or_insert_cell(id)?, role.clone());
                let open = async {
                    let (store, wanted) = (self.inner.config.store.clone(), id.clone());
                    let (principal, new) = (self.principal.clone(), or_new.clone());
                    let open = move || {
                        // Before the open: another principal must not even see the lock of this session.
                        check_own(&principal, &store.meta(&wanted)?)?;
                        store.open(&wanted)
                    };
                    let store = self.inner.config.store.clone();
                    let found = run_blocking(move || match (open(), new) {
                        (Err(JournalError::NotFound(_)), Some(meta)) => {
                            match store.create(meta.clone()) {
                                // The session belongs to another principal, or another process created it first.
                                Err(JournalError::Exists(_)) => open(),
                                created => created.map(|log| OpenedLog {
                                    log,
                                    meta,
                                    view: SessionView::default(),
                                    torn_bytes: 0,
                                }),
                            }
                        }
                        (found, _) => found,
                    });
                    let opened = found.await?;
                    // Before the session starts: a refused session must not stay open and locked.
                    check_own_cwd(id, cwd, &opened.meta.directory)?;
                    let settled = settle_crash(&self.inner.config, opened)?;
                    Ok(self.serve(settled.meta, settled.log, settled.view, role))
                };
                let session = self.fill_cell(id, cell, open).await?;
                check_own(&self.principal, session.meta())?;
                // Its task may have ended without being removed from the list yet.
                if session.is_closed() {
                    self.inner.forget_closed(id);
                    continue;
                }
                check_own_cwd(id, cwd, &session.meta().directory)?;
                return Ok(session);
            }
        })
    }

    /// Returns the session if it is open here.
    pub fn live_session(&self, id: &SessionId) -> Option<Controller> {
        let live = lock(&self.inner.live);
        let session = live.as_ref()?.get(id)?.get().cloned();
        session.filter(|session| !session.is_closed() && self.owns_session(session.meta()))
    }

    /// Whether this principal has such a session, open or not.
    pub async fn has(&self, id: &SessionId) -> bool {
        if self.live_session(id).is_some() {
            return true;
        }
        let (store, wanted) = (self.inner.config.store.clone(), id.clone());
        let meta = run_blocking(move || store.meta(&wanted)).await;
        meta.is_ok_and(|meta| self.owns_session(&meta))
    }

    /// Opens the session of this id, or creates it, for clients that compute their session's id. An existing
    /// session keeps its directory.
    pub async fn open_or_create(
        &self,
        id: &SessionId,
        new: NewSession,
    ) -> Result<Controller, SessionError> {
        check_cwd(&new.cwd)?;
        let meta = self.fresh_meta(id.clone(), new, None);
        self.open_as(id, None, self.own_role(), Some(meta)).await
    }

    /// Creates a session that starts with the history of another. Leaves out a turn that still runs there,
    /// and its workers.
    pub fn fork<'a>(
        &'a self,
        id: &'a SessionId,
        new: NewSession,
    ) -> BoxFuture<'a, Result<Controller, SessionError>> {
        Box::pin(async move {
            check_cwd(&new.cwd)?;
            let meta = self.fresh_meta(self.mint(), new, Some(id.clone()));
            let (source, principal) = (id.clone(), self.principal.clone());
            let copy = move |config: &HubConfig, meta| {
                check_own(&principal, &config.store.meta(&source)?)?;
                fork::copy_history(config, &source, meta)
            };
            self.create_as(meta, self.own_role(), copy).await
        })
    }

    /// Closes a session: cancels its turn, settles it and releases its lock. Does nothing if it is not open.
    pub async fn close(&self, id: &SessionId) {
        if let Some(session) = self.live_session(id) {
            session.close(true).await;
        }
        self.close_workers(id).await;
    }

    /// Removes a session permanently, and the sessions of its workers.
    pub async fn delete(&self, id: &SessionId) -> Result<(), SessionError> {
        let (store, wanted) = (self.inner.config.store.clone(), id.clone());
        match run_blocking(move || store.meta(&wanted)).await {
            Ok(meta) => check_own(&self.principal, &meta)?,
            // The owner of the process may remove the remains of a session without readable metadata.
            Err(error) if !self.principal.is_owner() => return Err(error.into()),
            Err(_) => {}
        }
        if let Some(session) = self.live_session(id) {
            session.close(false).await;
        }
        self.close_workers(id).await;
        let (store, id) = (self.inner.config.store.clone(), id.clone());
        Ok(run_blocking(move || store.delete(&id)).await?)
    }

    /// Closes the sessions of all principals and rejects any further open.
    pub fn shutdown(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let live = lock(&self.inner.live).take().unwrap_or_default();
            close_all(live.into_values().filter_map(|cell| cell.get().cloned())).await;
        })
    }

    /// Returns the agent that serves every session, with no parent.
    fn own_role(&self) -> SessionAgent {
        SessionAgent {
            agent: self.inner.config.agent.clone(),
            profile: self.inner.profile.clone(),
            lineage: None,
        }
    }

    fn mint(&self) -> SessionId {
        SessionId::new(self.inner.config.ids.mint(IdKind::Session))
    }

    fn fresh_meta(
        &self,
        thread_id: SessionId,
        new: NewSession,
        parent: Option<SessionId>,
    ) -> SessionMeta {
        SessionMeta {
            v: 1,
            thread_id,
            title: String::new(),
            directory: new.cwd,
            additional_directories: new.additional_directories,
            created: self.inner.config.clock.now(),
            parent,
            worker: None,
            principal: self.principal.recorded_name(),
            failed: false,
            archived: false,
        }
    }

    /// Whether this principal owns a session.
    fn owns_session(&self, meta: &SessionMeta) -> bool {
        self.principal.owns(meta.principal.as_deref())
    }

    fn get_or_insert_cell(&self, id: &SessionId) -> Result<SessionCell, SessionError> {
        let mut live = lock(&self.inner.live);
        let live = live.as_mut().ok_or(SessionError::ShuttingDown)?;
        Ok(live.entry(id.clone()).or_default().clone())
    }

    async fn fill_cell(
        &self,
        id: &SessionId,
        cell: SessionCell,
        open: impl Future<Output = Result<Controller, SessionError>>,
    ) -> Result<Controller, SessionError> {
        match cell.get_or_try_init(|| open).await {
            Ok(session) => Ok(session.clone()),
            Err(error) => {
                self.inner.forget_empty(id, cell);
                Err(error)
            }
        }
    }

    fn serve(
        &self,
        meta: SessionMeta,
        log: Box<dyn SessionLog>,
        view: SessionView,
        role: SessionAgent,
    ) -> Controller {
        let config = self.inner.config.clone();
        let (sender, inbox) = mpsc::channel::<TaskRequest>(INBOX);
        let last = view.last_seq;
        let id = meta.thread_id.clone();
        let owner = meta.principal.clone();
        let owner = owner.map_or_else(Principal::owner, Principal::new);
        let places = config.max_workers_below.min(Semaphore::MAX_PERMITS);
        let equipment = match &role.lineage {
            Some(child_of) => child_of.parent.shared.equipment.clone(),
            None => config.equip.equip(NewEquipment {
                session: id.clone(),
                cwd: meta.directory.clone(),
                files: config.store.files_folder(&id),
                link: EquipmentLink(sender.downgrade()),
            }),
        };
        let directories = std::iter::once(&meta.directory).chain(&meta.additional_directories);
        let roots = SessionRoots::new(directories.cloned().collect(), config.protected.clone());
        let shared = Arc::new(SharedSession {
            cwd: meta.directory.as_path().into(),
            roots: Mutex::new(Arc::new(roots)),
            rules: Mutex::default(),
            meta,
            view: Mutex::new(view),
            feed: Arc::new(SessionFeed::new(last, log.reader(), config.ring_bytes)),
            unfinished: Mutex::new(VecDeque::new()),
            host: Mutex::new(Arc::new(NoHost)),
            live: LiveRoster::default(),
            equipment,
            hitl: Mutex::default(),
            config,
            agent: role.agent,
            profile: role.profile,
            lineage: role.lineage,
            hub: WeakHub(Arc::downgrade(&self.inner), owner),
            places: Arc::new(Semaphore::new(places)),
        });
        let task = SessionTask::new(shared.clone(), log, inbox);
        let hub = Arc::downgrade(&self.inner);
        tokio::spawn(task.run(move || {
            if let Some(hub) = hub.upgrade() {
                hub.forget_closed(&id);
            }
        }));
        Controller::new(shared, sender)
    }
}

impl HubInner {
    /// Returns the open sessions of all principals.
    fn open_sessions(&self) -> Vec<Controller> {
        let live = lock(&self.live);
        let cells = live.iter().flat_map(|live| live.values());
        let open = cells.filter_map(|cell| cell.get().cloned());
        open.filter(|session| !session.is_closed()).collect()
    }

    /// Removes a session that could not be opened, unless another caller is still opening it.
    fn forget_empty(&self, id: &SessionId, cell: SessionCell) {
        let mut live = lock(&self.live);
        // Under the lock, so that the last of several failing callers sees that it is the last.
        drop(cell);
        let is_empty = |held: &SessionCell| Arc::strong_count(held) == 1 && held.get().is_none();
        if let Some(live) = live.as_mut()
            && live.get(id).is_some_and(is_empty)
        {
            live.remove(id);
        }
    }

    /// Removes a session whose task has ended, but not one that was opened after it.
    fn forget_closed(&self, id: &SessionId) {
        let is_closed = |cell: &SessionCell| cell.get().is_some_and(Controller::is_closed);
        if let Some(live) = lock(&self.live).as_mut()
            && live.get(id).is_some_and(is_closed)
        {
            live.remove(id);
        }
    }
}

type CreatedLog = (Box<dyn SessionLog>, SessionMeta, SessionView);

fn create_empty(config: &HubConfig, meta: SessionMeta) -> Result<CreatedLog, JournalError> {
    let log = config.store.create(meta.clone())?;
    Ok((log, meta, SessionView::default()))
}

/// Closes sessions concurrently, without an event in their journals.
async fn close_all(sessions: impl Iterator<Item = Controller>) {
    let mut closing = tokio::task::JoinSet::new();
    for session in sessions {
        closing.spawn(async move { session.close(false).await });
    }
    while closing.join_next().await.is_some() {}
}

async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, JournalError> + Send + 'static,
) -> Result<T, JournalError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => Err(JournalError::Io {
            path: PathBuf::new(),
            source: std::io::Error::other(error),
        }),
    }
}
