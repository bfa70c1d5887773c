//! The session modes, as front-ends show them. The policy defines what a mode means.

use harn_model::Mode;
use harn_policy::SessionMode;

/// Asks before anything that is not read-only. The default.
pub const ASK_MODE: &str = "ask";
/// Refuses anything that is not read-only, without asking.
pub const READ_ONLY_MODE: &str = "read-only";
/// Changes the workspace's files without asking.
pub const ACCEPT_EDITS_MODE: &str = "accept-edits";
/// Acts without asking inside the workspace.
pub const AUTO_MODE: &str = "auto";

/// Returns all modes, the default first.
pub fn modes() -> Vec<Mode> {
    SessionMode::ALL
        .into_iter()
        .map(SessionMode::describe)
        .collect()
}
