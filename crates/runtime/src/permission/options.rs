//! The answers that a question offers. Each label names the scope of its answer.

use harn_model::{Grant, GrantScope, PermissionOption, PermissionOptionKind};

/// Returns the answers for a call; remembered ones only if a grant states their exact scope.
pub(crate) fn options(grant: Option<&Grant>, lasting: bool) -> Vec<PermissionOption> {
    use PermissionOptionKind::{AllowAlways, AllowOnce, RejectAlways, RejectOnce};
    let option = |id: &str, name: String, kind, scope| PermissionOption {
        option_id: id.to_owned(),
        name,
        kind,
        scope,
    };
    let once = |id, name: &str, kind| option(id, name.to_owned(), kind, GrantScope::Once);
    let what = grant.map(harn_policy::describe);
    let session = what.as_ref().map(|what| {
        let name = format!("Allow {what} for this session");
        option("allow_session", name, AllowAlways, GrantScope::Session)
    });
    let always = |id, verb: &str, kind| {
        let what = what.as_ref().filter(|_| lasting)?;
        let name = format!("Always {verb} {what} in this workspace");
        Some(option(id, name, kind, GrantScope::Always))
    };
    let options = [
        Some(once("allow_once", "Allow this once", AllowOnce)),
        session,
        always("allow_always", "allow", AllowAlways),
        Some(once("reject_once", "Reject this once", RejectOnce)),
        always("reject_always", "reject", RejectAlways),
    ];
    options.into_iter().flatten().collect()
}
