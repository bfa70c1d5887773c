//! Resolves a session's paths. A worker's paths are judged by the root session's directories, so that the
//! same rules and protected names apply; and the worker reaches no further than its own directories.

use harn_policy::{LocatedPath, PathScope, SessionRoots, locate_all};

use crate::session::SharedSession;

/// Returns the directories of a session, with the paths whose content decides what its equipment runs.
pub(crate) fn guarded_roots(session: &SharedSession) -> SessionRoots {
    let configuration = session.equipment.configuration_paths();
    SessionRoots::clone(&session.roots()).with_configuration(configuration)
}

/// Resolves paths for a session. Reads the disk.
pub(crate) fn locate(session: &SharedSession, inputs: &[String]) -> Vec<LocatedPath> {
    let probe = &*session.config.probe;
    let roots = guarded_roots(session);
    let own = locate_all(&roots, inputs, probe);
    let top = guarded_roots(session.root());
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
        found.configures |= own.configures;
        found
    };
    own.into_iter().map(seen_from_the_top).collect()
}
