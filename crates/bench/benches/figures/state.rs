//! The state wire: how soon a page receives an event, how soon it receives a long session, and what sockets
//! cost while a session streams.

mod latency;
mod long_session;
mod snapshot;
mod stream;

use anyhow::Result;
use tokio::runtime::{self, Runtime};

use crate::{openharness::free_address, setup::Setup, table::Table};

const TOKEN: &str = "a-token-that-only-this-run-knows-of";

pub(crate) fn measure(setup: &Setup, table: &mut Table) -> Result<()> {
    latency::measure(setup, table)?;
    let address = free_address()?;
    let ours = setup.ours_listening(address, TOKEN)?;
    let session = long_session::write(&ours.state.path().join("harn"), setup)?;
    let place = Place {
        ours,
        address,
        session,
    };
    snapshot::measure(setup, &place, table)?;
    stream::measure(&place, table)
}

/// A server that can be started, and its long session.
struct Place {
    ours: crate::setup::Ours,
    address: std::net::SocketAddr,
    session: String,
}

impl Place {
    /// Returns the path and query for a page on the session.
    fn path(&self) -> String {
        format!("/ws?session={}", self.session)
    }
}

/// Returns a runtime with one thread for all clients: the other core is the server's.
fn client_runtime() -> Result<Runtime> {
    let one = runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    Ok(one)
}
