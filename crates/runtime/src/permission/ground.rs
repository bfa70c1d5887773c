//! Where a session's paths lead. Everyone below a session is judged by its directories, so that a worker in
//! a folder of it meets the same rules and the same protected names; and reaches no further than its own.

use harn_policy::{LocatedPath, PathScope, locate_all};

use crate::session::SharedSession;

/// Finds where paths lead for a session. Looks at the disk.
pub(crate) fn locate(session: &SharedSession, inputs: &[String]) -> Vec<LocatedPath> {
    let probe = &*session.config.probe;
    let roots = session.roots();
    let own = locate_all(&roots, inputs, probe);
    let top = session.root().roots();
    if session.lineage.is_none() || top == roots {
        return own;
    }
    let seen_from_the_top = |own: LocatedPath| {
        let (PathScope::Inside, Some(place)) = (own.standing, &own.place) else {
            return own;
        };
        let absolute = place.absolute().to_string_lossy().into_owned();
        let mut found = harn_policy::locate(&top, &absolute, probe);
        found.info.input = own.info.input;
        found.protected |= own.protected;
        found
    };
    own.into_iter().map(seen_from_the_top).collect()
}
