//! The MCP handshake, and the answers to requests of a server.

#![expect(deprecated, reason = "servers of today still ask for roots")]

use std::path::Path;

use rmcp::model::{
    ClientCapabilities, ClientJsonRpcMessage, ClientNotification, ClientRequest, ClientResult,
    ErrorCode, ErrorData, Implementation, InitializeRequest, InitializeRequestParams,
    InitializedNotification, JsonRpcMessage, ListRootsResult, ProtocolVersion, RequestId, Root,
    RootsCapabilities, ServerRequest, ServerResult,
};

use super::{
    connection_error::McpConnectionError,
    wire::{McpSendError, McpWire},
};

pub(super) const FIRST: i64 = 0;

/// The session's working directory, as a root for its servers.
#[derive(Clone)]
pub(super) struct McpSessionRoot {
    root: Option<Root>,
}

impl McpSessionRoot {
    pub(super) fn new(cwd: &Path) -> Self {
        let url = reqwest::Url::from_file_path(cwd).ok();
        Self {
            root: url.map(|url| Root::new(url.to_string())),
        }
    }

    /// Performs the handshake, which MCP requires before any other request. Returns whether the server has tools.
    pub(super) async fn perform_handshake(
        &self,
        wire: &mut McpWire,
    ) -> Result<bool, McpConnectionError> {
        let mut capabilities = ClientCapabilities::default();
        capabilities.roots = self.root.is_some().then(RootsCapabilities::default);
        let us = Implementation::new("harn-serve", env!("CARGO_PKG_VERSION"));
        let params = InitializeRequestParams::new(capabilities, us)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE);
        let request = ClientRequest::InitializeRequest(InitializeRequest::new(params));
        let first = RequestId::Number(FIRST);
        let sent = wire.send(JsonRpcMessage::request(request, first.clone()));
        sent.await.map_err(connection_error)?;
        let has_tools = loop {
            match wire.receive().await.map_err(McpConnectionError::Ended)? {
                JsonRpcMessage::Response(response) => {
                    let ServerResult::InitializeResult(result) = response.result else {
                        let why = "its answer to `initialize` has the wrong type";
                        return Err(McpConnectionError::Ended(why.to_owned()));
                    };
                    break result.capabilities.tools.is_some();
                }
                JsonRpcMessage::Error(error) => {
                    return Err(McpConnectionError::Refused(
                        error.error.message.into_owned(),
                    ));
                }
                // Answered one at a time, so that a server that does not read the answers blocks itself.
                JsonRpcMessage::Request(request) => {
                    let reply = self.reply(&request.request, request.id);
                    wire.send(reply).await.map_err(connection_error)?;
                }
                JsonRpcMessage::Notification(_) => {}
            }
        };
        let ready = ClientNotification::InitializedNotification(InitializedNotification::default());
        let sent = wire.send(JsonRpcMessage::notification(ready));
        sent.await.map_err(connection_error)?;
        Ok(has_tools)
    }

    /// Answers a server's request: pings and roots only. This client offers neither sampling nor elicitation.
    pub(super) fn reply(&self, request: &ServerRequest, id: RequestId) -> ClientJsonRpcMessage {
        let respond = |result| JsonRpcMessage::response(result, id.clone());
        let method = match request {
            ServerRequest::PingRequest(_) => return respond(ClientResult::empty(())),
            ServerRequest::ListRootsRequest(_) => {
                let roots = ListRootsResult::new(self.root.iter().cloned().collect());
                return respond(ClientResult::ListRootsResult(roots));
            }
            ServerRequest::CreateMessageRequest(_) => "sampling/createMessage",
            ServerRequest::ElicitRequest(_) => "elicitation/create",
            // The enum is rmcp's and may grow; a new method is unknown here.
            _ => "this method",
        };
        let error = ErrorData::new(
            ErrorCode::METHOD_NOT_FOUND,
            format!("this client does not offer {method}"),
            None,
        );
        JsonRpcMessage::error(error, Some(id))
    }
}

fn connection_error(error: McpSendError) -> McpConnectionError {
    if error.forbidden {
        McpConnectionError::Forbidden
    } else {
        McpConnectionError::Unreachable(error.why)
    }
}
