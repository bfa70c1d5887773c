//! `skills/update`: a host has other skills than before.

use crate::connection::Peer;

/// Heard by every session that this connection drives; a host without the bridge has no skills of its own.
pub(crate) fn updated(peer: &Peer) {
    if !peer.facts().offers.tools {
        return tracing::debug!("ignored a skills/update of a host without the bridge");
    }
    for open in peer.open() {
        if open.session.has_control() {
            open.session.skills_updated();
        }
    }
}
