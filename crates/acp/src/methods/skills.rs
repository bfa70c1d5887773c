//! `skills/update`: the skills of a host have changed.

use crate::connection::Peer;

/// Notifies every session that this connection controls; a host without the bridge has no skills of its own.
pub(crate) fn notify_skills_updated(peer: &Peer) {
    if !peer.facts().offers.tools {
        return tracing::debug!("ignored a skills/update of a host without the bridge");
    }
    for open in peer.open_sessions() {
        if open.session.has_control() {
            open.session.notify_skills_updated();
        }
    }
}
