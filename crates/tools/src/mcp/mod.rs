//! The MCP servers of a session: they connect in the background, reconnect after a failure, and end with the session.
//!
//! The values of variables and headers, and secrets in arguments, are sent to their own server only: no log, status or
//! error contains them. A faulty server affects neither other servers nor the session.

mod arguments;
mod catalogue;
mod connection_error;
mod dialer;
mod events;
mod handshake;
mod http_client;
mod link;
mod listing;
mod output;
mod pipe;
mod redact;
mod registry;
mod stdio;
mod supervisor;
mod wire;

use std::sync::Arc;

use harn_model::{ErrorCategory, McpServerSpec, McpServerStatus, ToolSpec};
use harn_runtime::{ToolError, ToolOutput};
use rmcp::model::{CallToolRequest, CallToolRequestParams, ClientRequest, ServerResult};
use serde_json::Value;
use tokio::{sync::watch, time::timeout};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::{McpSettings, StartCheck};
use dialer::McpDialer;
use handshake::McpSessionRoot;
use link::{McpLink, McpRequestError};
use output::failure;
use redact::{Secrets, one_line};
use registry::{McpAvailability, McpRegistry};
use supervisor::McpSupervisor;

/// The longest error of a server, in bytes.
const LONGEST_ERROR: usize = 4096;

/// The MCP servers of one session; no other session has access. Clones share them; dropping the last clone ends the
/// servers. Methods that start servers or call tools need the tokio runtime.
#[derive(Clone)]
pub struct SessionMcpServers {
    book: Arc<McpRegistry>,
    settings: Arc<McpSettings>,
    dial: Arc<dyn McpDialer>,
    end: CancellationToken,
    _last: Arc<DropGuard>,
}

impl SessionMcpServers {
    /// Creates an empty set of servers; nothing is started.
    pub fn new(settings: McpSettings) -> Self {
        let dial = Arc::new(settings.clone());
        Self::with_dialer(settings, dial)
    }

    fn with_dialer(settings: McpSettings, dial: Arc<dyn McpDialer>) -> Self {
        let end = CancellationToken::new();
        Self {
            book: Arc::default(),
            settings: Arc::new(settings),
            dial,
            _last: Arc::new(end.clone().drop_guard()),
            end,
        }
    }

    /// Adds servers. A new one connects in the background, a changed one reconnects, an equal one stays; one that was
    /// given up is tried again.
    pub fn add(&self, specs: Vec<McpServerSpec>) {
        self.add_checked(specs, None);
    }

    /// Adds servers that connect only while a check passes, also after a failure.
    pub fn add_checked(&self, specs: Vec<McpServerSpec>, may_start: Option<&StartCheck>) {
        for spec in specs {
            if !self.book.has_active(&spec) {
                self.start(spec, may_start.cloned());
            }
        }
    }

    fn start(&self, spec: McpServerSpec, may_start: Option<StartCheck>) {
        let token = self.end.child_token();
        let secrets = Secrets::from_spec(&spec);
        let guard = token.clone().drop_guard();
        let Some(ticket) = self.book.put(spec.clone(), secrets.clone(), guard) else {
            return;
        };
        let keeper = McpSupervisor {
            book: self.book.clone(),
            dial: self.dial.clone(),
            home: McpSessionRoot::new(&self.settings.cwd),
            connect: self.settings.deadlines.connect,
            ticket,
            secrets,
            may_start,
            spec,
        };
        tokio::spawn(async move { token.run_until_cancelled(keeper.supervise()).await });
    }

    /// Ends a server and removes it.
    pub fn remove(&self, name: &str) {
        self.book.remove(name);
    }

    /// Returns the status of each server, by name.
    pub fn statuses(&self) -> Vec<McpServerStatus> {
        self.book.statuses()
    }

    /// Returns the tools of all servers, by name: `mcp__SERVER__TOOL`. Their annotations are the server's claims; the
    /// policy decides whether they may run. A server that reconnects keeps its tools.
    pub fn tools(&self) -> Vec<ToolSpec> {
        let catalogue = self.book.catalogue();
        catalogue.values().map(|entry| entry.spec.clone()).collect()
    }

    /// Calls a tool by its name in [`SessionMcpServers::tools`]. Waits up to a deadline for a server that is
    /// connecting. If the future is dropped, the server receives a cancellation. A call is never sent twice: it may
    /// have had its effect.
    pub async fn call(&self, tool: &str, args: Value) -> Result<ToolOutput, ToolError> {
        let catalogue = self.book.catalogue();
        let Some(entry) = catalogue.get(tool) else {
            let message = format!("unknown tool `{tool}` of an MCP server");
            return Err(ToolError::new(message));
        };
        let mut params = CallToolRequestParams::new(entry.tool.clone());
        params.arguments = match args {
            Value::Object(args) => Some(args),
            Value::Null => None,
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                let message = format!("the arguments of `{tool}` must be a JSON object");
                return Err(ToolError::with_category(
                    ErrorCategory::SchemaValidation,
                    message,
                ));
            }
        };
        let server = entry.server.as_str();
        let (link, secrets) = self.link_within_deadline(server).await?;
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let deadline = self.settings.deadlines.call;
        let Ok(answer) = timeout(deadline, link.ask(request)).await else {
            let seconds = deadline.as_secs();
            let message = format!("MCP server `{server}`: no answer within {seconds} s");
            return Err(ToolError::with_category(ErrorCategory::Timeout, message));
        };
        let told = |what: &str| {
            let what = one_line(&secrets.redact(what), LONGEST_ERROR);
            failure(server, &what)
        };
        match answer {
            Ok(ServerResult::CallToolResult(result)) => {
                output::convert_result(server, result, &secrets)
            }
            Ok(_) => Err(told("its answer is not a tool result")),
            Err(McpRequestError::Refused(error)) => Err(told(&error.message)),
            Err(McpRequestError::NotSent(why)) => Err(told(&why)),
            Err(McpRequestError::Gone) => Err(told(
                "it disconnected during the call, which may have had effects",
            )),
        }
    }

    /// Resolves when no server is connecting.
    pub async fn wait_until_settled(&self) {
        let mut changes = self.changes();
        while !self.book.is_settled() {
            if changes.changed().await.is_err() {
                return;
            }
        }
    }

    /// Returns a counter of changes to a status or a list of tools.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.book.changes()
    }

    /// Ends all servers with all their processes at once, and rejects new ones.
    pub fn close(&self) {
        self.end.cancel();
        self.book.close();
    }

    /// Returns the connection to a server and its secrets. A server that replaces it during a call has others.
    async fn link_within_deadline(&self, server: &str) -> Result<(McpLink, Secrets), ToolError> {
        let wait = self.settings.deadlines.reconnect;
        match timeout(wait, self.wait_for_link(server)).await {
            Ok(link) => link,
            Err(_) => {
                let mut what = "it is not connected; the agent is trying to reconnect".to_owned();
                if let McpAvailability::Coming(Some(error)) = self.book.availability(server) {
                    what = format!("{what}. Its last error: {error}");
                }
                Err(failure(server, &what))
            }
        }
    }

    async fn wait_for_link(&self, server: &str) -> Result<(McpLink, Secrets), ToolError> {
        let mut changes = self.changes();
        loop {
            match self.book.availability(server) {
                McpAvailability::Ready(link, secrets) => return Ok((link, secrets)),
                McpAvailability::Coming(_) => {}
                McpAvailability::Lost(error) => {
                    let what = error.unwrap_or_else(|| "the session no longer has it".to_owned());
                    return Err(failure(server, &what));
                }
            }
            if changes.changed().await.is_err() {
                return Err(failure(server, "the session is over"));
            }
        }
    }
}

#[cfg(test)]
mod tests;
