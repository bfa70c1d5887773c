//! The session modes, as front-ends show them. What a mode means is the policy's.

use harn_model::Mode;
use harn_policy::SessionMode;

/// Asks before anything that is not read-only. The default.
pub const ASK_MODE: &str = "ask";
/// Refuses anything that is not read-only, without asking.
pub const READ_ONLY_MODE: &str = "read-only";
/// Changes the workspace's files unasked.
pub const ACCEPT_EDITS_MODE: &str = "accept-edits";
/// Does unasked what stays in the workspace.
pub const AUTO_MODE: &str = "auto";

/// All modes, the default first.
#[must_use]
pub fn modes() -> Vec<Mode> {
    SessionMode::ALL
        .into_iter()
        .map(SessionMode::describe)
        .collect()
}
