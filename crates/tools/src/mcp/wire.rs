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
    lines::McpPipe,
    streamable::{McpHttpClient, McpHttpError},
};

/// A way to a server.
pub(super) enum McpWire {
    Lines(McpPipe),
    Http(Box<StreamableHttpClientTransport<McpHttpClient>>),
}

/// The reason given where a server closed its connection.
pub(super) const CLOSED: &str = "it closed the connection";

/// A message did not get there.
#[derive(Debug)]
pub(super) struct McpSendError {
    pub(super) why: String,
    /// Whether there is nobody to send another one to.
    pub(super) gone: bool,
    /// Whether we are not let in.
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

    /// The next message, or why there is none. Cancel safe.
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
            // One request may fail and the next be answered.
            other => Self {
                gone: matches!(other, StreamableHttpError::TransportChannelClosed),
                forbidden: matches!(other, StreamableHttpError::AuthRequired(_)),
                why: other.to_string(),
            },
        }
    }
}
