//! The state wire: how soon a page has what happened, how soon it has a long session, and what sockets cost
//! while a session streams.

mod latency;
mod past;
mod snapshot;
mod stream;

use anyhow::Result;
use tokio::runtime::{self, Runtime};

use crate::{openharness::free, setup::Setup, table::Table};

const TOKEN: &str = "a-token-that-only-this-run-knows-of";

pub(crate) fn measure(setup: &Setup, table: &mut Table) -> Result<()> {
    latency::measure(setup, table)?;
    let address = free()?;
    let ours = setup.ours_listening(address, TOKEN)?;
    let session = past::write(&ours.state.path().join("harn"), setup)?;
    let place = Place {
        ours,
        address,
        session,
    };
    snapshot::measure(setup, &place, table)?;
    stream::measure(&place, table)
}

/// A server that can be started, and the long session that it has.
struct Place {
    ours: crate::setup::Ours,
    address: std::net::SocketAddr,
    session: String,
}

impl Place {
    /// Where a page of the session comes in.
    fn path(&self) -> String {
        format!("/ws?session={}", self.session)
    }
}

/// One thread for all clients: the other core is the server's.
fn clients() -> Result<Runtime> {
    let one = runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    Ok(one)
}
