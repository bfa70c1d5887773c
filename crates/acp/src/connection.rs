//! One connected client: what is known of it, the sessions it has open, and the tasks that serve it.

use std::{
    collections::{HashMap, hash_map::Entry},
    path::Path,
    pin::Pin,
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use agent_client_protocol::{Agent, Channel, Client, ConnectionTo};
use harn_model::SessionId;
use harn_runtime::{BoxFuture, Controller, HostDeadlines, HostOffers, Hub, Seat};
use tokio::{sync::mpsc, time::timeout};
use tokio_util::sync::CancellationToken;

use crate::{
    Dialect, EventId, HostBridgeChoice, Profile, ProfileChoice,
    attached::AttachedSession,
    lock::lock,
    methods::setup,
    ordering::ConnectionOrder,
    router::Router,
    terminal_auth::{TerminalAuth, TerminalAuthSupport},
    transport::{ClientDisconnected, ConnectionInput, PieceSender},
};

/// How to serve a client.
#[derive(Clone, Debug, Default)]
pub struct AcpConfig {
    /// Which dialect it gets.
    pub profile: ProfileChoice,
    /// Whether it is asked for tools, operations and skills.
    pub host_bridge: HostBridgeChoice,
    /// Whether it gets event ids without asking for them, because its transport needs them.
    pub event_ids: bool,
    /// What the first request that opens a session goes on after, where it does not say itself.
    pub last_event_id: Option<EventId>,
    /// How long it may take to answer.
    pub deadlines: HostDeadlines,
    /// Whether it is on this machine, so that it can open files of it: it is sent absolute paths, and a file that
    /// is not on this disk is not asked for.
    pub on_this_machine: bool,
    /// The command that it may run in a terminal, as an authentication method; only where the client started the
    /// process.
    pub terminal_auth: Option<TerminalAuth>,
}

/// Why a connection ended before its input did.
#[derive(Debug, thiserror::Error)]
pub enum ConnectionError {
    /// The client stopped listening.
    #[error(transparent)]
    Disconnected(#[from] ClientDisconnected),
    /// The protocol could not go on.
    #[error("the connection failed: {0}")]
    Protocol(String),
}

/// Serves one client until its input ends. Does not shut the hub down.
pub fn serve_connection(
    hub: Hub,
    config: AcpConfig,
    incoming: mpsc::Receiver<ConnectionInput>,
    outgoing: PieceSender,
) -> BoxFuture<'static, Result<(), ConnectionError>> {
    Box::pin(async move {
        let (near, far) = Channel::duplex();
        let (from_sdk, to_sdk) = near.into_parts();
        let last_event_id = Mutex::new(config.last_event_id);
        let number = hub.number_connection();
        let peer = Arc::new(Peer {
            hub,
            config,
            last_event_id,
            order: ConnectionOrder::new(outgoing),
            facts: OnceLock::new(),
            client_name: OnceLock::new(),
            number,
            wire: OnceLock::new(),
            sessions: Mutex::default(),
            left: AtomicBool::new(false),
            ended: CancellationToken::new(),
        });
        let _ended = peer.ended.clone().drop_guard();
        // On the heap each: what waits for them would hold them several times over, for every client there is.
        let protocol = Agent
            .v1()
            .name("harn-serve")
            .with_handler(Router::new(peer.clone()));
        let protocol = Box::pin(protocol.connect_to(far));
        let order = &peer.order;
        let read = Box::pin(async {
            // Held to the end of this block: the SDK answers nothing once its own input ends, and what was asked before
            // the input ended is answered. A prompt is not waited for.
            let to_sdk = to_sdk;
            let refollow = |wanted| setup::refollow(&peer, wanted);
            if !order.read(incoming, &to_sdk, refollow).await {
                return Ok(());
            }
            let turn_runs = peer.open().iter().any(|open| open.has_active_prompt());
            let limit = match turn_runs {
                true => LAST_ANSWERS_BESIDE_A_TURN,
                false => LAST_ANSWERS,
            };
            if timeout(limit, order.answered()).await.is_err() {
                tracing::debug!("the input ended, and some requests are left without an answer");
            }
            Ok(())
        });
        let write = Box::pin(order.write(from_sdk));
        let protocol = async {
            protocol
                .await
                .map_err(|e| ConnectionError::Protocol(e.message))
        };
        let write = async { write.await.map_err(ConnectionError::from) };
        // However it ends, the peer has left before the connection is torn down, which fails every request that is
        // under way.
        let served = async {
            tokio::try_join!(
                peer.leaving_after(read),
                peer.leaving_after(protocol),
                peer.leaving_after(write)
            )
        };
        let ended = tokio::select! {
            result = served => result.map(|_| ()),
            () = peer.leaving_after(order.outgoing.closed()) => Err(ClientDisconnected.into()),
        };
        // Nobody is left to be told of it here.
        peer.ended.cancel();
        peer.get_up().await;
        ended
    })
}

/// How long requests may take that were read before the input ended. A process has a second to end, of which a
/// turn may take 550 ms to settle and the last bytes 150 ms.
pub const LAST_ANSWERS: Duration = Duration::from_millis(600);
const LAST_ANSWERS_BESIDE_A_TURN: Duration = Duration::from_millis(250);

pub(crate) struct Peer {
    pub(crate) hub: Hub,
    pub(crate) config: AcpConfig,
    pub(crate) order: ConnectionOrder,
    last_event_id: Mutex<Option<EventId>>,
    facts: OnceLock<InitializeFacts>,
    client_name: OnceLock<String>,
    /// Which connection of the process it is.
    number: u64,
    wire: OnceLock<ConnectionTo<Client>>,
    sessions: Mutex<HashMap<SessionId, Arc<AttachedSession>>>,
    left: AtomicBool,
    ended: CancellationToken,
}

/// What the client said of itself at `initialize`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InitializeFacts {
    pub(crate) dialect: Dialect,
    pub(crate) offers: HostOffers,
    /// Whether it declared `_meta.harn`, and so reads how long an option holds.
    pub(crate) declares_harn: bool,
    /// How it runs commands of the agent's program in a terminal.
    pub(crate) terminal_auth: TerminalAuthSupport,
}

impl Peer {
    /// Remembers the first `initialize`; a repeated one changes nothing.
    pub(crate) fn learn(&self, facts: InitializeFacts) -> InitializeFacts {
        *self.facts.get_or_init(|| facts)
    }

    /// What is known; a client that never said gets plain ACP and is asked for nothing.
    pub(crate) fn facts(&self) -> InitializeFacts {
        self.facts.get().copied().unwrap_or(InitializeFacts {
            dialect: Profile::Acp.into(),
            offers: HostOffers::default(),
            declares_harn: false,
            terminal_auth: TerminalAuthSupport::default(),
        })
    }

    /// Remembers what the client calls itself, as much of it as one reads.
    pub(crate) fn learn_name(&self, name: &str) {
        const LIMIT: usize = 64;
        let plain = name.chars().filter(|c| !c.is_control());
        self.client_name.get_or_init(|| plain.take(LIMIT).collect());
    }

    /// What the client calls itself, or what it is.
    pub(crate) fn client_name(&self) -> &str {
        let name = self.client_name.get().map(String::as_str);
        name.filter(|name| !name.is_empty()).unwrap_or("client")
    }

    /// What it is called on a session, as long as no client of it says otherwise.
    pub(crate) fn seat_name(&self) -> String {
        format!("{}-{}", self.client_name(), self.number)
    }

    /// The folder that paths of sessions are below, where the client can open files of this machine.
    pub(crate) fn session_root(&self) -> Option<Arc<Path>> {
        let root = self.hub.session_root();
        root.filter(|_| self.config.on_this_machine).map(Arc::from)
    }

    /// Its place at a session, where it has one.
    pub(crate) fn seat(&self, session: &Controller) -> Option<Arc<Seat>> {
        let attached = self.attached(session.id())?;
        let seat = attached.session.clone();
        seat.is_same(session).then_some(seat)
    }

    /// Its clients leave their sessions with it.
    async fn get_up(&self) {
        for attached in self.open() {
            attached.session.leave().await;
        }
    }

    /// What the connection goes on after: the first who asks is told.
    pub(crate) fn take_last_event_id(&self) -> Option<EventId> {
        lock(&self.last_event_id).take()
    }

    pub(crate) fn set_wire(&self, wire: &ConnectionTo<Client>) {
        self.wire.get_or_init(|| wire.clone());
    }

    /// The way to ask the client something; there once it has said anything.
    pub(crate) fn wire(&self) -> Option<&ConnectionTo<Client>> {
        self.wire.get()
    }

    /// Runs a part of the connection, with whose end the client has left.
    async fn leaving_after<T>(&self, part: impl Future<Output = T>) -> T {
        let ended = part.await;
        self.left.store(true, Ordering::SeqCst);
        ended
    }

    /// Whether the client has left: a request that fails from now on was not answered by it.
    pub(crate) fn has_left(&self) -> bool {
        self.left.load(Ordering::SeqCst)
    }

    pub(crate) fn attached(&self, id: &SessionId) -> Option<Arc<AttachedSession>> {
        lock(&self.sessions).get(id).cloned()
    }

    /// The sessions that are open here.
    pub(crate) fn open(&self) -> Vec<Arc<AttachedSession>> {
        lock(&self.sessions).values().cloned().collect()
    }

    /// The session that is open here, where it is one.
    pub(crate) fn only(&self) -> Option<Arc<AttachedSession>> {
        let sessions = lock(&self.sessions);
        let mut open = sessions.values();
        open.next().filter(|_| open.len() == 0).cloned()
    }

    /// The session among those that are open here in which a person is asked this.
    pub(crate) fn asking(&self, request_id: &str) -> Option<Arc<AttachedSession>> {
        let sessions = lock(&self.sessions);
        let mut open = sessions.values();
        open.find(|open| open.session.hitl(request_id).is_some())
            .cloned()
    }

    /// Takes a session in, unless it is there already; whether it was taken.
    pub(crate) fn attach(&self, attached: &Arc<AttachedSession>) -> bool {
        let id = attached.session.id().clone();
        match lock(&self.sessions).entry(id) {
            Entry::Occupied(_) => false,
            Entry::Vacant(place) => {
                place.insert(attached.clone());
                true
            }
        }
    }

    /// Takes a session in; returns the one whose place it takes.
    pub(crate) fn attach_instead(
        &self,
        attached: &Arc<AttachedSession>,
    ) -> Option<Arc<AttachedSession>> {
        let id = attached.session.id().clone();
        lock(&self.sessions).insert(id, attached.clone())
    }

    /// Lets go of a session, if it is still this one.
    pub(crate) fn detach(&self, attached: &Arc<AttachedSession>) {
        let mut sessions = lock(&self.sessions);
        let id = attached.session.id();
        if sessions
            .get(id)
            .is_some_and(|held| Arc::ptr_eq(held, attached))
        {
            sessions.remove(id);
        }
    }

    /// Runs something for as long as the client is connected.
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.spawn_boxed(Box::pin(work));
    }

    /// Takes one type of future, so that tokio's task is compiled once and not for each caller.
    fn spawn_boxed(&self, work: Pin<Box<dyn Future<Output = ()> + Send>>) {
        let ended = self.ended.clone();
        tokio::spawn(async move {
            tokio::select! {
                biased;
                () = ended.cancelled() => {}
                () = work => {}
            }
        });
    }
}
