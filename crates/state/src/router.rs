//! The routes, and the checks that admit a request.

use std::{path::PathBuf, sync::Arc};

use axum::{
    Router,
    body::Body,
    extract::State,
    http::{Request, Uri},
    response::Response,
    routing::{get, post},
};
use harn_lines::{
    pace::{ClientQuotas, ClientSlot},
    ws::{WebSocketUpgrade, socket_config},
};
use harn_model::Principal;
use harn_runtime::Hub;
use tokio_util::sync::CancellationToken;

use crate::{
    assistant::{self, AssistantContext},
    client::{ClientOptions, DocumentClient},
    error::StateError,
    listing::ListingFeeds,
    methods::{output, query::QueryParams, timeline},
    page,
    room::NAMELESS,
    rooms::Rooms,
    session_choice::{LastSessions, NoSessionMemory, SessionChoice, SessionMemory},
    socket,
};

/// The WebSocket subprotocol of this front-end. A browser can send its token only as another subprotocol.
const PROTOCOL: &str = "harn.state.v1";

/// The configuration of this front-end: what it serves, and its limits.
#[derive(Clone)]
pub struct StateConfig {
    /// The sessions, as their owner sees them.
    pub hub: Hub,
    /// The absolute working directory of new sessions whose client names none.
    pub directory: PathBuf,
    /// Remembers across restarts which session a client returns to if it names none.
    pub memory: Arc<dyn SessionMemory>,
    /// The maximum number of open sockets and responses.
    pub connections: usize,
    /// The maximum length of a frame or request from a client, in bytes.
    pub message_bytes: usize,
    /// The maximum number of frames per second from a client, on average.
    pub messages_per_second: u32,
    /// Closes every socket, with a close frame, and ends every open response.
    pub ending: CancellationToken,
}

impl StateConfig {
    /// Returns a configuration with the usual limits.
    pub fn new(hub: Hub, directory: PathBuf) -> Self {
        Self {
            hub,
            directory,
            memory: Arc::new(NoSessionMemory),
            connections: 1024,
            message_bytes: 16 * 1024 * 1024,
            messages_per_second: 100,
            ending: CancellationToken::new(),
        }
    }
}

struct DocumentService {
    config: StateConfig,
    rooms: Arc<Rooms>,
    sessions: Arc<LastSessions>,
    listings: ListingFeeds,
    places: ClientQuotas<Principal>,
}

/// Returns the routes. Each request, except for the page, must carry its [`Principal`] as an extension.
pub fn routes(config: StateConfig) -> Router {
    let served = Arc::new(DocumentService {
        places: ClientQuotas::new(config.connections),
        sessions: Arc::new(LastSessions::new(config.memory.clone())),
        config,
        rooms: Arc::default(),
        listings: ListingFeeds::default(),
    });
    Router::new()
        .route("/ws", get(handle_socket))
        .route("/ws/sessions", get(handle_sessions))
        .route("/assistant", post(handle_assistant))
        .route("/state/timeline", get(handle_timeline))
        .route("/state/output", get(handle_output))
        .with_state(served)
        .merge(page::routes())
}

async fn handle_socket(
    State(served): State<Arc<DocumentService>>,
    mut request: Request<Body>,
) -> Result<Response, StateError> {
    let hub = served.hub(&request)?;
    let coming = parse_client_options(request.uri())?;
    let (upgrade, member) = served.upgrade(&hub, &mut request)?;
    let config = &served.config;
    let (rooms, directory) = (served.rooms.clone(), config.directory.clone());
    // Before the upgrade, so that a rejected client receives the reason.
    let client = DocumentClient::connect(hub, rooms, &served.sessions, coming, directory).await?;
    let (response, socket) = upgrade.accept(socket_config(config.message_bytes));
    let (per_second, ending) = (config.messages_per_second, config.ending.clone());
    tokio::spawn(async move {
        let _member = member;
        if let Ok(socket) = socket.await {
            socket::serve(socket, client, per_second, ending).await;
        }
    });
    Ok(response)
}

async fn handle_sessions(
    State(served): State<Arc<DocumentService>>,
    mut request: Request<Body>,
) -> Result<Response, StateError> {
    let hub = served.hub(&request)?;
    let (upgrade, member) = served.upgrade(&hub, &mut request)?;
    let board = served
        .listings
        .open_feed(&hub, &served.config.directory)
        .await?;
    let (response, socket) = upgrade.accept(socket_config(served.config.message_bytes));
    let ending = served.config.ending.clone();
    tokio::spawn(async move {
        let _member = member;
        if let Ok(socket) = socket.await {
            socket::serve_sessions(socket, board, ending).await;
        }
    });
    Ok(response)
}

async fn handle_assistant(
    State(served): State<Arc<DocumentService>>,
    request: Request<Body>,
) -> Result<Response, StateError> {
    let config = &served.config;
    let hub = served.hub(&request)?;
    let visit = AssistantContext {
        rooms: served.rooms.clone(),
        sessions: served.sessions.clone(),
        directory: config.directory.clone(),
        limit: config.message_bytes,
        coming: parse_client_options(request.uri())?,
        detached: parse_detach(request.uri())?,
        member: served.reserve_slot(&hub)?,
        hub,
        ending: config.ending.clone(),
    };
    assistant::respond(visit, request).await
}

async fn handle_timeline(
    State(served): State<Arc<DocumentService>>,
    request: Request<Body>,
) -> Result<Response, StateError> {
    let hub = served.hub(&request)?;
    let _member = served.reserve_slot(&hub)?;
    timeline::respond(hub, request.uri().query().unwrap_or_default()).await
}

async fn handle_output(
    State(served): State<Arc<DocumentService>>,
    request: Request<Body>,
) -> Result<Response, StateError> {
    let hub = served.hub(&request)?;
    let _member = served.reserve_slot(&hub)?;
    output::respond(hub, request.uri().query().unwrap_or_default()).await
}

impl DocumentService {
    /// Reads a WebSocket handshake and reserves a slot for the connection.
    fn upgrade(
        &self,
        hub: &Hub,
        request: &mut Request<Body>,
    ) -> Result<(WebSocketUpgrade, ClientSlot), StateError> {
        if !WebSocketUpgrade::is_asked_for(request.headers()) {
            return Err(StateError::Upgrade);
        }
        let upgrade = WebSocketUpgrade::read(request, PROTOCOL)?;
        Ok((upgrade, self.reserve_slot(hub)?))
    }

    /// Reserves a slot for one more connection.
    fn reserve_slot(&self, hub: &Hub) -> Result<ClientSlot, StateError> {
        let member = self.places.join(hub.principal());
        member.ok_or(StateError::TooMany)
    }

    /// Returns the sessions of the principal that sent a request. A request without a principal is rejected.
    fn hub(&self, request: &Request<Body>) -> Result<Hub, StateError> {
        let principal = request.extensions().get::<Principal>();
        let principal = principal.cloned().ok_or(StateError::Nobody)?;
        Ok(self.config.hub.for_principal(principal))
    }
}

/// Parses the options of a client from its URL.
fn parse_client_options(uri: &Uri) -> Result<ClientOptions, StateError> {
    let given = QueryParams::parse(uri.query().unwrap_or_default())?;
    let said = |name| Ok::<_, StateError>(given.optional(name)?.filter(|it| !it.is_empty()));
    let watches = match said("role")? {
        None | Some("controller") => false,
        Some("observer") => true,
        Some(_) => {
            let (name, wanted) = ("role", "controller or observer");
            return Err(StateError::BadQuery { name, wanted });
        }
    };
    let name = said("client")?.map(str::to_owned);
    if name.as_deref().is_some_and(|name| !is_name(name)) {
        let (name, wanted) = (
            "client",
            "a name of at most 64 letters, digits, - . _ and :",
        );
        return Err(StateError::BadQuery { name, wanted });
    }
    Ok(ClientOptions {
        session: said("session")?.map_or(SessionChoice::Last, SessionChoice::parse),
        cwd: said("cwd")?.map(Into::into),
        name,
        watches,
    })
}

/// Parses from the URL whether the turns of a request continue when its client disconnects.
fn parse_detach(uri: &Uri) -> Result<bool, StateError> {
    let given = QueryParams::parse(uri.query().unwrap_or_default())?;
    match given.optional("detach")? {
        None | Some("" | "false") => Ok(false),
        Some("true") => Ok(true),
        Some(_) => {
            let (name, wanted) = ("detach", "true or false");
            Err(StateError::BadQuery { name, wanted })
        }
    }
}

/// Whether a name can be shown to other clients, and is not the one of unnamed clients.
fn is_name(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._:".contains(&b);
    name.len() <= 64 && name.bytes().all(plain) && name != NAMELESS
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn the_url_sets_the_options_of_a_client() {
        let long = format!("client={}", "n".repeat(64));
        let longer = format!("client={}", "n".repeat(65));
        let queries = [
            "",
            "session=s1",
            "session=",
            "session=new",
            "session=s1&cwd=%2Fwork%2Fa%20b&client=ann&role=observer",
            "role=controller",
            "client=a.b-c_d:1",
            &long,
            &longer,
            "client=",
            "client=a b",
            "client=a%20b",
            "client=%C3%A9va",
            "client=%00",
            "client=<b>",
            "role=king",
            "role=Observer",
            "session=a&session=b",
            "session=a%2F..%2F..%2Fetc",
            "token=t&_=1",
            "session=%ff",
        ];
        let mut told = String::new();
        for query in queries {
            let Ok(uri) = format!("/ws?{query}").parse::<Uri>() else {
                told.push_str(&format!("{query}: is no URI\n"));
                continue;
            };
            let query = query.replace(&"n".repeat(60), "…");
            match parse_client_options(&uri) {
                Ok(coming) => {
                    let ClientOptions {
                        session,
                        cwd,
                        name,
                        watches,
                    } = coming;
                    let name = name.map(|name| name.replace(&"n".repeat(60), "…"));
                    told.push_str(&format!(
                        "{query}: {session:?} {cwd:?} {name:?} {watches}\n"
                    ));
                }
                Err(error) => told.push_str(&format!("{query}: {error}\n")),
            }
        }
        expect![[r#"
            : Last None None false
            session=s1: Named("s1") None None false
            session=: Last None None false
            session=new: New None None false
            session=s1&cwd=%2Fwork%2Fa%20b&client=ann&role=observer: Named("s1") Some("/work/a b") Some("ann") true
            role=controller: Last None None false
            client=a.b-c_d:1: Last None Some("a.b-c_d:1") false
            client=…nnnn: Last None Some("…nnnn") false
            client=…nnnnn: client must be a name of at most 64 letters, digits, - . _ and :
            client=: Last None None false
            client=a b: is no URI
            client=a%20b: client must be a name of at most 64 letters, digits, - . _ and :
            client=%C3%A9va: client must be a name of at most 64 letters, digits, - . _ and :
            client=%00: client must be a name of at most 64 letters, digits, - . _ and :
            client=<b>: is no URI
            role=king: role must be controller or observer
            role=Observer: role must be controller or observer
            session=a&session=b: session is given more than once; give it once
            session=a%2F..%2F..%2Fetc: Named("a/../../etc") None None false
            token=t&_=1: Last None None false
            session=%ff: the query must be name=value pairs with & between them, as percent-encoded UTF-8
        "#]].assert_eq(&told);
    }
}
