//! Supervises one server of a session: connects, lists its tools, and reconnects.

use std::{pin::pin, sync::Arc, time::Duration};

use futures::future::BoxFuture;
use harn_model::{McpServerSpec, McpState, McpTransport};
use tokio::{sync::Notify, time::timeout};

use super::{
    connection_error::McpConnectionError,
    dialer::McpDialer,
    handshake::{FIRST, McpSessionRoot},
    link::McpLink,
    listing::{self, ToolListing},
    redact::{Secrets, one_line},
    registry::{McpRegistry, McpServerTicket},
    stdio::McpProcess,
    wire::McpWire,
};
use crate::{StartCheck, TrustRefusal};

/// The pause before the first retry; each further pause is twice the last, up to the longest.
const SHORTEST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// How many retries in a row are made.
const MOST_TRIES: u32 = 5;
/// How long a connection must last for its earlier failures to be forgotten.
const STEADY: Duration = Duration::from_secs(60);
/// The pause after a list that the server requested by a notification. Each further pause is twice the last, up to the
/// longest, until the server is quiet for a while: a server that changes without end is asked less and less.
const BETWEEN_LISTS: Duration = Duration::from_secs(1);
const LONGEST_BETWEEN_LISTS: Duration = Duration::from_secs(60);
const QUIET: Duration = Duration::from_secs(60);
/// How long the output of an ended process is still read.
const DRAIN: Duration = Duration::from_millis(100);
const DEAD: &str = "its process ended";
/// The longest reason, in bytes.
const LONGEST_REASON: usize = 2048;

/// Connects one server and reconnects it until it is given up.
pub(super) struct McpSupervisor {
    pub(super) book: Arc<McpRegistry>,
    pub(super) dial: Arc<dyn McpDialer>,
    pub(super) home: McpSessionRoot,
    pub(super) connect: Duration,
    pub(super) ticket: McpServerTicket,
    pub(super) spec: McpServerSpec,
    pub(super) secrets: Secrets,
    /// Checks the files that the server is made of; none if they need no trust.
    pub(super) may_start: Option<StartCheck>,
}

/// A connection after the handshake and the first list of tools.
struct McpConnection {
    link: McpLink,
    /// Carries the messages; ends with the reason.
    carry: BoxFuture<'static, String>,
    changed: Arc<Notify>,
    listed: ToolListing,
    /// Whether the server declares tools; the list may be empty at first.
    tools: bool,
}

impl McpSupervisor {
    /// Runs until the server is given up. If the future is dropped, the connection and the process end.
    pub(super) async fn supervise(self) {
        let mut failures = 0;
        loop {
            self.set_state(McpState::Connecting, None);
            let trouble = match self.connect_in_time().await {
                Ok((connection, process)) => {
                    let (trouble, steady) = self.serve_connection(connection, process).await;
                    if steady {
                        failures = 0;
                    }
                    trouble
                }
                Err(trouble) => trouble,
            };
            failures += 1;
            let reason = self.secrets.redact(&trouble.to_string());
            let reason = one_line(&reason, LONGEST_REASON);
            tracing::debug!(server = self.spec.name, "MCP server: {reason}");
            if trouble.is_final() || failures > MOST_TRIES {
                return self.set_state(McpState::GivenUp, Some(reason));
            }
            self.set_state(McpState::Failed, Some(reason));
            tokio::time::sleep(retry_delay(failures)).await;
        }
    }

    fn set_state(&self, state: McpState, error: Option<String>) {
        self.book.update(&self.ticket, |page| {
            page.state = state;
            page.link = None;
            // A server that reconnects keeps its last error in its status.
            if error.is_some() || state != McpState::Connecting {
                page.error = error;
            }
            if state == McpState::GivenUp {
                page.tools = None;
            }
        });
    }

    async fn connect_in_time(
        &self,
    ) -> Result<(McpConnection, Option<McpProcess>), McpConnectionError> {
        self.check_start().await?;
        // Dialing waits for nothing, so it needs no deadline.
        let (wire, process) = self.dial.dial(&self.spec, &self.secrets).await?;
        let connecting = run_until_exit(process.as_ref(), self.connect(wire));
        let trouble = match timeout(self.connect, connecting).await {
            Ok(Some(Ok(connection))) => return Ok((connection, process)),
            Ok(Some(Err(trouble))) => trouble,
            Ok(None) => McpConnectionError::Ended(DEAD.to_owned()),
            Err(_) => McpConnectionError::Late(self.connect),
        };
        Err(with_exit_report(trouble, process).await)
    }

    /// Checks that the files of the server are still those that the user trusts: it may have ended because one changed.
    async fn check_start(&self) -> Result<(), McpConnectionError> {
        let Some(check) = self.may_start.clone() else {
            return Ok(());
        };
        let checked = tokio::task::spawn_blocking(move || check()).await;
        let checked = checked.unwrap_or(Err(TrustRefusal::Untrusted));
        checked.map_err(McpConnectionError::Untrusted)
    }

    async fn connect(&self, mut wire: McpWire) -> Result<McpConnection, McpConnectionError> {
        let tools = self.home.perform_handshake(&mut wire).await?;
        let changed = Arc::new(Notify::new());
        let (link, mut carry) = McpLink::open(wire, self.home.clone(), changed.clone(), FIRST);
        let listed = if tools {
            tokio::select! {
                listed = self.list(&link) => listed?,
                why = &mut carry => return Err(McpConnectionError::Ended(why)),
            }
        } else {
            ToolListing::default()
        };
        Ok(McpConnection {
            link,
            carry,
            changed,
            listed,
            tools,
        })
    }

    /// Serves a connection until it ends. Returns the reason and whether the connection lasted.
    async fn serve_connection(
        &self,
        mut held: McpConnection,
        process: Option<McpProcess>,
    ) -> (McpConnectionError, bool) {
        self.set_ready(&held.link, held.listed);
        let mut steady = false;
        let mut lasted = pin!(tokio::time::sleep(STEADY));
        let mut listing = pin!(self.list_again(&held.link, &held.changed, held.tools));
        let ended = run_until_exit(process.as_ref(), async {
            loop {
                tokio::select! {
                    why = &mut held.carry => break why,
                    () = &mut lasted, if !steady => steady = true,
                    () = &mut listing => {}
                }
            }
        });
        let why = ended.await.unwrap_or_else(|| DEAD.to_owned());
        // Open requests fail now, without waiting for the process to end.
        drop(held.carry);
        (
            with_exit_report(McpConnectionError::Ended(why), process).await,
            steady,
        )
    }

    fn set_ready(&self, link: &McpLink, listed: ToolListing) {
        let ToolListing { tools, cut } = listed;
        let error = cut.then(|| {
            format!(
                "it has too many tools; only the first {} are used",
                tools.len()
            )
        });
        self.book.update(&self.ticket, |page| {
            page.state = McpState::Ready;
            page.link = Some(link.clone());
            page.error = error;
            page.tools = Some(tools.into());
        });
    }

    async fn list(&self, link: &McpLink) -> Result<ToolListing, McpConnectionError> {
        let is_local = matches!(self.spec.transport, McpTransport::Stdio { .. });
        listing::list_tools(link, is_local).await
    }

    /// Lists the tools again after each notification of a change; never returns.
    async fn list_again(&self, link: &McpLink, changed: &Notify, tools: bool) {
        let mut pause = BETWEEN_LISTS;
        loop {
            if timeout(QUIET, changed.notified()).await.is_err() {
                pause = BETWEEN_LISTS;
                changed.notified().await;
            }
            if !tools {
                continue;
            }
            match timeout(self.connect, self.list(link)).await {
                Ok(Ok(listed)) => self.set_ready(link, listed),
                // Keep the old list.
                Ok(Err(_)) | Err(_) => {
                    tracing::debug!(
                        server = self.spec.name,
                        "MCP server: it did not list its tools"
                    );
                }
            }
            // Notifications during the pause count as one change.
            tokio::time::sleep(pause).await;
            pause = pause.saturating_mul(2).min(LONGEST_BETWEEN_LISTS);
        }
    }
}

/// Runs `work` until it is done or the process exits. Output from before the exit is still read, for a limited time:
/// child processes may keep the pipe open for ever.
async fn run_until_exit<T>(
    process: Option<&McpProcess>,
    work: impl Future<Output = T>,
) -> Option<T> {
    let mut work = pin!(work);
    let Some(process) = process else {
        return Some(work.await);
    };
    tokio::select! {
        done = &mut work => Some(done),
        () = process.wait_for_exit() => timeout(DRAIN, work).await.ok(),
    }
}

/// Adds to an error how the process ended and its last output.
async fn with_exit_report(
    trouble: McpConnectionError,
    process: Option<McpProcess>,
) -> McpConnectionError {
    let Some(process) = process else {
        return trouble;
    };
    let obituary = process.end_and_describe().await;
    if obituary.is_empty() {
        return trouble;
    }
    McpConnectionError::Ended(format!("{trouble} ({obituary})"))
}

fn retry_delay(failures: u32) -> Duration {
    let factor = 2_u32.saturating_pow(failures.saturating_sub(1));
    SHORTEST_PAUSE.saturating_mul(factor).min(LONGEST_PAUSE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_half_a_minute() {
        let seconds = (1..=7).map(|failures| retry_delay(failures).as_secs());
        assert_eq!(Vec::from_iter(seconds), [1, 2, 4, 8, 16, 30, 30]);
    }
}
