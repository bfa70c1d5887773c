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

use super::refusal::Refusal;

/// What browsers are told they speak, beside the token that they can only offer as another protocol.
const PROTOCOL: &str = "acp";

/// A WebSocket, as it comes out of a handshake.
pub(super) type Socket = WebSocketStream<TokioIo<Upgraded>>;

/// A handshake that is right, and can be answered.
pub(super) struct Upgrade {
    accept: HeaderValue,
    offers_protocol: bool,
    upgraded: OnUpgrade,
}

impl Upgrade {
    /// Whether a request asks for a WebSocket. What else it might like to become is of no interest.
    pub(super) fn is_asked_for(headers: &HeaderMap) -> bool {
        lists(headers, &header::UPGRADE, "websocket")
    }

    /// Reads a handshake.
    pub(super) fn read(request: &mut Request<Body>) -> Result<Self, Refusal> {
        let headers = request.headers();
        let version = headers.get(header::SEC_WEBSOCKET_VERSION);
        let right = request.version() == Version::HTTP_11
            && lists(headers, &header::CONNECTION, "upgrade")
            && version.is_some_and(|version| version == "13");
        let key = headers.get(header::SEC_WEBSOCKET_KEY).filter(|_| right);
        let key = key.ok_or(Refusal::Upgrade)?;
        let accept = HeaderValue::from_str(&derive_accept_key(key.as_bytes()));
        Ok(Self {
            accept: accept.map_err(|_| Refusal::Upgrade)?,
            offers_protocol: lists(headers, &header::SEC_WEBSOCKET_PROTOCOL, PROTOCOL),
            upgraded: hyper::upgrade::on(request),
        })
    }

    /// The answer, and the socket that there will be once it is sent.
    pub(super) fn accept(
        self,
        config: WebSocketConfig,
    ) -> (Response, impl Future<Output = Result<Socket, hyper::Error>>) {
        let mut response = StatusCode::SWITCHING_PROTOCOLS.into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
        headers.insert(header::SEC_WEBSOCKET_ACCEPT, self.accept);
        if self.offers_protocol {
            let protocol = HeaderValue::from_static(PROTOCOL);
            headers.insert(header::SEC_WEBSOCKET_PROTOCOL, protocol);
        }
        let socket = async move {
            let upgraded = TokioIo::new(self.upgraded.await?);
            Ok(WebSocketStream::from_raw_socket(upgraded, Role::Server, Some(config)).await)
        };
        (response, socket)
    }
}

/// Whether a header that is a list has this word in it.
fn lists(headers: &HeaderMap, name: &HeaderName, word: &str) -> bool {
    let values = headers.get_all(name).iter();
    let texts = values.filter_map(|value| value.to_str().ok());
    texts
        .flat_map(|text| text.split(','))
        .any(|listed| listed.trim().eq_ignore_ascii_case(word))
}
