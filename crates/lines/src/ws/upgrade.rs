//! The handshake of a WebSocket, which is a `GET` of HTTP/1.1.

use axum::{
    body::Body,
    http::{HeaderMap, HeaderName, HeaderValue, Request, StatusCode, Version, header},
    response::{IntoResponse, Response},
};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        handshake::derive_accept_key,
        protocol::{Role, WebSocketConfig},
    },
};

/// A WebSocket after its handshake.
pub type UpgradedWebSocket = WebSocketStream<TokioIo<Upgraded>>;

/// The error of a request for a WebSocket that is not a valid handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a WebSocket version 13 handshake over HTTP/1.1")]
pub struct NoHandshake;

/// A valid handshake that is not answered yet.
pub struct WebSocketUpgrade {
    accept: HeaderValue,
    /// The subprotocol, if the client offers it. A browser can send its token only as a further subprotocol.
    protocol: Option<&'static str>,
    upgraded: OnUpgrade,
}

impl WebSocketUpgrade {
    /// Whether a request asks for a WebSocket. Other protocols in `Upgrade` are ignored.
    pub fn is_asked_for(headers: &HeaderMap) -> bool {
        header_contains(headers, &header::UPGRADE, "websocket")
    }

    /// Parses the handshake of a client that may offer this subprotocol.
    pub fn read(request: &mut Request<Body>, protocol: &'static str) -> Result<Self, NoHandshake> {
        let headers = request.headers();
        let version = headers.get(header::SEC_WEBSOCKET_VERSION);
        let right = request.version() == Version::HTTP_11
            && header_contains(headers, &header::CONNECTION, "upgrade")
            && version.is_some_and(|version| version == "13");
        let key = headers.get(header::SEC_WEBSOCKET_KEY).filter(|_| right);
        let key = key.ok_or(NoHandshake)?;
        let accept = HeaderValue::from_str(&derive_accept_key(key.as_bytes()));
        Ok(Self {
            accept: accept.map_err(|_| NoHandshake)?,
            protocol: header_contains(headers, &header::SEC_WEBSOCKET_PROTOCOL, protocol)
                .then_some(protocol),
            upgraded: hyper::upgrade::on(request),
        })
    }

    /// Returns the response, and a future of the socket, which resolves after the response is sent.
    pub fn accept(
        self,
        config: WebSocketConfig,
    ) -> (
        Response,
        impl Future<Output = Result<UpgradedWebSocket, hyper::Error>>,
    ) {
        let mut response = StatusCode::SWITCHING_PROTOCOLS.into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
        headers.insert(header::SEC_WEBSOCKET_ACCEPT, self.accept);
        if let Some(protocol) = self.protocol {
            let protocol = HeaderValue::from_static(protocol);
            headers.insert(header::SEC_WEBSOCKET_PROTOCOL, protocol);
        }
        let socket = async move {
            let upgraded = TokioIo::new(self.upgraded.await?);
            Ok(WebSocketStream::from_raw_socket(upgraded, Role::Server, Some(config)).await)
        };
        (response, socket)
    }
}

/// Whether a header that is a list contains this word.
fn header_contains(headers: &HeaderMap, name: &HeaderName, word: &str) -> bool {
    let values = headers.get_all(name).iter();
    let texts = values.filter_map(|value| value.to_str().ok());
    texts
        .flat_map(|text| text.split(','))
        .any(|listed| listed.trim().eq_ignore_ascii_case(word))
}
