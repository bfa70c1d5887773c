//! How a server is reached: lines over pipes or streamable HTTP, behind one face.

use futures::future::BoxFuture;
use rmcp::{
    RoleClient,
    model::{ClientJsonRpcMessage, ServerJsonRpcMessage},
    transport::{
        Transport as _,
        streamable_http_client::{StreamableHttpClientTransport, StreamableHttpError},
    },
};

use super::{
    lines::{End, Lines},
    streamable::{Failed, Requests},
};

/// A way to a server.
pub(super) enum Wire {
    Lines(Lines),
    Http(Box<Http>),
}

/// A server that is spoken to by HTTP.
pub(super) type Http = StreamableHttpClientTransport<Requests>;

/// A message did not get there.
#[derive(Debug)]
pub(super) struct NotSent {
    /// Why, in words.
    pub(super) why: String,
    /// Whether there is nobody to send another one to.
    pub(super) gone: bool,
    /// Whether we are not let in.
    pub(super) forbidden: bool,
}

impl Wire {
    /// Sends a message. The future may take as long as the answer does.
    pub(super) fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> BoxFuture<'static, Result<(), NotSent>> {
        match self {
            Self::Lines(lines) => {
                let sent = lines.send(&message);
                Box::pin(async move { sent.await.map_err(NotSent::from) })
            }
            Self::Http(http) => {
                let sent = http.send(message);
                Box::pin(async move { sent.await.map_err(NotSent::from) })
            }
        }
    }

    /// The next message, or why there is none. Cancel safe.
    pub(super) async fn receive(&mut self) -> Result<ServerJsonRpcMessage, String> {
        match self {
            Self::Lines(lines) => lines.receive().await.map_err(End::words),
            Self::Http(http) => {
                let message = rmcp::transport::Transport::<RoleClient>::receive(&mut **http).await;
                message.ok_or_else(|| End::Closed.words())
            }
        }
    }
}

impl From<End> for NotSent {
    fn from(end: End) -> Self {
        Self {
            why: end.words(),
            gone: true,
            forbidden: false,
        }
    }
}

impl From<StreamableHttpError<Failed>> for NotSent {
    fn from(error: StreamableHttpError<Failed>) -> Self {
        let (gone, forbidden) = match &error {
            StreamableHttpError::Client(failed) => (failed.gone, false),
            StreamableHttpError::TransportChannelClosed => (true, false),
            StreamableHttpError::AuthRequired(_) => (false, true),
            // One request may fail and the next be answered.
            _ => (false, false),
        };
        let why = match error {
            StreamableHttpError::Client(failed) => failed.to_string(),
            other => other.to_string(),
        };
        Self {
            why,
            gone,
            forbidden,
        }
    }
}
