//! One interface to both transports: lines over pipes, and streamable HTTP.

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
    http_client::{McpHttpClient, McpHttpError},
    pipe::McpPipe,
};

pub(super) enum McpWire {
    Lines(McpPipe),
    Http(Box<StreamableHttpClientTransport<McpHttpClient>>),
}

/// The reason when a server closed its connection.
pub(super) const CLOSED: &str = "it closed the connection";

/// A message was not sent.
#[derive(Debug)]
pub(super) struct McpSendError {
    pub(super) why: String,
    /// Whether further messages cannot be sent either.
    pub(super) gone: bool,
    /// Whether the server answered 401 or 403.
    pub(super) forbidden: bool,
}

impl McpSendError {
    pub(super) fn closed() -> Self {
        Self {
            why: CLOSED.to_owned(),
            gone: true,
            forbidden: false,
        }
    }
}

impl McpWire {
    /// Sends a message. The future may take as long as the answer does.
    pub(super) fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> BoxFuture<'static, Result<(), McpSendError>> {
        match self {
            Self::Lines(lines) => lines.send(&message),
            Self::Http(http) => {
                let sent = http.send(message);
                Box::pin(async move { sent.await.map_err(McpSendError::from) })
            }
        }
    }

    /// Returns the next message, or the reason why there is none. Cancel safe.
    pub(super) async fn receive(&mut self) -> Result<ServerJsonRpcMessage, String> {
        match self {
            Self::Lines(lines) => lines.receive().await,
            Self::Http(http) => {
                let message = rmcp::transport::Transport::<RoleClient>::receive(&mut **http).await;
                message.ok_or_else(|| CLOSED.to_owned())
            }
        }
    }
}

impl From<StreamableHttpError<McpHttpError>> for McpSendError {
    fn from(error: StreamableHttpError<McpHttpError>) -> Self {
        match error {
            StreamableHttpError::Client(failed) => Self {
                why: failed.to_string(),
                gone: failed.gone,
                forbidden: false,
            },
            // After one failed request the next may succeed.
            other => Self {
                gone: matches!(other, StreamableHttpError::TransportChannelClosed),
                forbidden: matches!(other, StreamableHttpError::AuthRequired(_)),
                why: other.to_string(),
            },
        }
    }
}
