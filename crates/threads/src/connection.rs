//! One client on its lines: what it asks for, and the threads that are followed for it.

use std::path::PathBuf;

use harn_lines::{Disconnected, Line, Outgoing};
use harn_runtime::Hub;
use tokio::sync::mpsc;

/// How to serve a client.
#[derive(Clone, Debug)]
pub struct ThreadsConfig {
    /// Where threads work that do not say where; absolute.
    pub directory: PathBuf,
    /// What `initialize` tells of us.
    pub version: String,
}

/// Serves one client until its input ends. Does not shut the hub down.
pub async fn serve_connection(
    hub: Hub,
    config: ThreadsConfig,
    mut incoming: mpsc::Receiver<Line>,
    outgoing: Outgoing,
) -> Result<(), Disconnected> {
    let _ = (hub, config, outgoing);
    while incoming.recv().await.is_some() {}
    Ok(())
}
