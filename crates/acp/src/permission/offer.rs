//! Selection of the options that a client receives. ACP has one kind for "in this session" and "in this
//! workspace", and some clients key options by kind, so only a client that reads `_meta.harn` receives both.

use harn_model::{PermissionAsked, PermissionOption, PermissionOptionKind};

/// Returns the request with the options for a client. A client that did not declare `_meta.harn` receives at
/// most one lasting option of each kind, the narrowest.
pub(crate) fn select_options(ask: &PermissionAsked, declares_harn: bool) -> PermissionAsked {
    let mut ask = ask.clone();
    if !declares_harn {
        let all = std::mem::take(&mut ask.options);
        let offered = all.iter().filter(|option| is_narrowest(option, &all));
        ask.options = offered.cloned().collect();
    }
    ask
}

fn is_narrowest(option: &PermissionOption, all: &[PermissionOption]) -> bool {
    match option.kind {
        PermissionOptionKind::AllowOnce | PermissionOptionKind::RejectOnce => true,
        kind @ (PermissionOptionKind::AllowAlways | PermissionOptionKind::RejectAlways) => {
            let same = all.iter().filter(|other| other.kind == kind);
            let narrowest = same.min_by_key(|other| other.scope);
            narrowest.is_some_and(|narrowest| std::ptr::eq(narrowest, option))
        }
    }
}
