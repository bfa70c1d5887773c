//! One connected client: its facts, its open sessions, and the tasks that serve it.

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
    attached_session::AttachedSession,
    lock::lock,
    methods::setup,
    ordering::ConnectionOrder,
    router::Router,
    terminal_auth::{TerminalAuth, TerminalAuthSupport},
    transport::{ClientDisconnected, ConnectionInput, PieceSender},
};

/// The configuration of a client's connection.
#[derive(Clone, Debug, Default)]
pub struct AcpConfig {
    /// The choice of its profile.
    pub profile: ProfileChoice,
    /// Whether it is asked for tools, operations and skills.
    pub host_bridge: HostBridgeChoice,
    /// Whether it gets event ids without asking for them, because its transport needs them.
    pub event_ids: bool,
    /// The event after which the first request that opens a session continues, if the request names none.
    pub last_event_id: Option<EventId>,
    /// The time limits of its answers.
    pub deadlines: HostDeadlines,
    /// Whether it runs on this machine and can open its files: it is sent absolute paths, and is not asked for
    /// a file that is not on this disk.
    pub on_this_machine: bool,
    /// The command that it may run in a terminal, as an authentication method; only if the client started the
    /// process.
    pub terminal_auth: Option<TerminalAuth>,
}

/// The reason why a connection ended before its input did.
#[derive(Debug, thiserror::Error)]
pub enum ConnectionError {
    /// The client stopped reading.
    #[error(transparent)]
    Disconnected(#[from] ClientDisconnected),
    /// The protocol failed.
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
        // Each is boxed: the futures that wait for them would contain them several times over, for every
        // client.
        let protocol = Agent
            .v1()
            .name("harn-serve")
            .with_handler(Router::new(peer.clone()));
        let protocol = Box::pin(protocol.connect_to(far));
        let order = &peer.order;
        let read = Box::pin(async {
            // Dropped at the end of this block: the SDK answers nothing once its own input ends, and requests
            // read before the input ended are answered. A prompt is not waited for.
            let to_sdk = to_sdk;
            let refollow = |wanted| setup::refollow(&peer, wanted);
            if !order.read(incoming, &to_sdk, refollow).await {
                return Ok(());
            }
            let turn_runs = peer
                .open_sessions()
                .iter()
                .any(|open| open.has_active_prompt());
            let limit = match turn_runs {
                true => LAST_ANSWERS_BESIDE_A_TURN,
                false => LAST_ANSWERS,
            };
            if timeout(limit, order.wait_until_answered()).await.is_err() {
                tracing::debug!("the input ended with unanswered requests");
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
        // However it ends, the peer is marked as left before the connection is torn down, which fails every
        // pending request.
        let served = async {
            tokio::try_join!(
                peer.mark_left_after(read),
                peer.mark_left_after(protocol),
                peer.mark_left_after(write)
            )
        };
        let ended = tokio::select! {
            result = served => result.map(|_| ()),
            () = peer.mark_left_after(order.outgoing.closed()) => Err(ClientDisconnected.into()),
        };
        // Cancelled first: no update about the detach can reach this client.
        peer.ended.cancel();
        peer.leave_sessions().await;
        ended
    })
}

/// The time limit of requests that were read before the input ended. A process has a second to end, of which a
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
    /// The number of this connection in the process.
    number: u64,
    wire: OnceLock<ConnectionTo<Client>>,
    sessions: Mutex<HashMap<SessionId, Arc<AttachedSession>>>,
    left: AtomicBool,
    ended: CancellationToken,
}

/// The client's declarations at `initialize`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InitializeFacts {
    pub(crate) dialect: Dialect,
    pub(crate) offers: HostOffers,
    /// Whether it declared `_meta.harn`, and so reads the scope of a permission option.
    pub(crate) declares_harn: bool,
    /// How it runs commands of the agent's program in a terminal.
    pub(crate) terminal_auth: TerminalAuthSupport,
}

impl Peer {
    /// Stores the first `initialize`; a repeated one changes nothing.
    pub(crate) fn learn(&self, facts: InitializeFacts) -> InitializeFacts {
        *self.facts.get_or_init(|| facts)
    }

    /// Returns the stored facts; before `initialize`, those of a plain ACP client without offers.
    pub(crate) fn facts(&self) -> InitializeFacts {
        self.facts.get().copied().unwrap_or(InitializeFacts {
            dialect: Profile::Acp.into(),
            offers: HostOffers::default(),
            declares_harn: false,
            terminal_auth: TerminalAuthSupport::default(),
        })
    }

    /// Stores the client's name, without control characters and cut to a readable length.
    pub(crate) fn learn_name(&self, name: &str) {
        const LIMIT: usize = 64;
        let plain = name.chars().filter(|c| !c.is_control());
        self.client_name.get_or_init(|| plain.take(LIMIT).collect());
    }

    /// Returns the client's name, or `client`.
    pub(crate) fn client_name(&self) -> &str {
        let name = self.client_name.get().map(String::as_str);
        name.filter(|name| !name.is_empty()).unwrap_or("client")
    }

    /// Returns its name on a session, used unless one of its clients has a name there.
    pub(crate) fn seat_name(&self) -> String {
        format!("{}-{}", self.client_name(), self.number)
    }

    /// Returns the folder of all sessions, if the client can open files of this machine.
    pub(crate) fn session_root(&self) -> Option<Arc<Path>> {
        let root = self.hub.session_root();
        root.filter(|_| self.config.on_this_machine).map(Arc::from)
    }

    /// Returns its seat on a session, if it has one.
    pub(crate) fn seat(&self, session: &Controller) -> Option<Arc<Seat>> {
        let attached = self.attached(session.id())?;
        let seat = attached.session.clone();
        seat.is_same(session).then_some(seat)
    }

    /// Detaches its clients from their sessions.
    async fn leave_sessions(&self) {
        for attached in self.open_sessions() {
            attached.session.leave().await;
        }
    }

    /// Takes the event after which the connection continues; only the first caller gets it.
    pub(crate) fn take_last_event_id(&self) -> Option<EventId> {
        lock(&self.last_event_id).take()
    }

    pub(crate) fn set_wire(&self, wire: &ConnectionTo<Client>) {
        self.wire.get_or_init(|| wire.clone());
    }

    /// Returns the handle for requests to the client; available after its first message.
    pub(crate) fn wire(&self) -> Option<&ConnectionTo<Client>> {
        self.wire.get()
    }

    /// Runs a part of the connection; when it ends, the client has left.
    async fn mark_left_after<T>(&self, part: impl Future<Output = T>) -> T {
        let ended = part.await;
        self.left.store(true, Ordering::SeqCst);
        ended
    }

    /// Whether the client has left: it did not answer a request that fails from now on.
    pub(crate) fn has_left(&self) -> bool {
        self.left.load(Ordering::SeqCst)
    }

    pub(crate) fn attached(&self, id: &SessionId) -> Option<Arc<AttachedSession>> {
        lock(&self.sessions).get(id).cloned()
    }

    /// Returns the sessions that are open on this connection.
    pub(crate) fn open_sessions(&self) -> Vec<Arc<AttachedSession>> {
        lock(&self.sessions).values().cloned().collect()
    }

    /// Returns the session that is open on this connection, if there is exactly one.
    pub(crate) fn only_open_session(&self) -> Option<Arc<AttachedSession>> {
        let sessions = lock(&self.sessions);
        let mut open = sessions.values();
        open.next().filter(|_| open.len() == 0).cloned()
    }

    /// Returns the open session that asks a person this question.
    pub(crate) fn find_session_asking(&self, request_id: &str) -> Option<Arc<AttachedSession>> {
        let sessions = lock(&self.sessions);
        let mut open = sessions.values();
        open.find(|open| open.session.hitl(request_id).is_some())
            .cloned()
    }

    /// Adds a session unless it is open already; returns whether it was added.
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

    /// Adds a session; returns the one that it replaces.
    pub(crate) fn replace_attached(
        &self,
        attached: &Arc<AttachedSession>,
    ) -> Option<Arc<AttachedSession>> {
        let id = attached.session.id().clone();
        lock(&self.sessions).insert(id, attached.clone())
    }

    /// Removes a session, if it is still this attachment.
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

    /// Runs a task for as long as the client is connected.
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
