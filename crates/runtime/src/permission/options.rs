//! The answers that a question offers. Each label names how far its answer reaches.

use harn_model::{Grant, GrantScope, PermissionOption, PermissionOptionKind};

/// Answers for a call; those that are remembered only where a grant says what exactly.
pub(crate) fn options(grant: Option<&Grant>, lasting: bool) -> Vec<PermissionOption> {
    use PermissionOptionKind::{AllowAlways, AllowOnce, RejectAlways, RejectOnce};
    let option = |id: &str, name: String, kind, scope| PermissionOption {
        option_id: id.to_owned(),
        name,
        kind,
        scope,
    };
    let once = |id, name: &str, kind| option(id, name.to_owned(), kind, GrantScope::Once);
    let mut options = vec![once("allow_once", "Allow this once", AllowOnce)];
    let what = grant.map(harn_policy::describe);
    if let Some(what) = &what {
        let name = format!("Allow {what} for this session");
        options.push(option(
            "allow_session",
            name,
            AllowAlways,
            GrantScope::Session,
        ));
    }
    if let Some(what) = what.as_ref().filter(|_| lasting) {
        let name = format!("Always allow {what} in this workspace");
        options.push(option(
            "allow_always",
            name,
            AllowAlways,
            GrantScope::Always,
        ));
    }
    options.push(once("reject_once", "Reject this once", RejectOnce));
    if let Some(what) = what.as_ref().filter(|_| lasting) {
        let name = format!("Always reject {what} in this workspace");
        options.push(option(
            "reject_always",
            name,
            RejectAlways,
            GrantScope::Always,
        ));
    }
    options
}
