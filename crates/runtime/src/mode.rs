//! The session modes that work today. A mode is enforced where a tool asks to run, not by the agent.

use harn_model::{Mode, ToolKind};

/// Asks before anything that is not read-only. The default.
pub const ASK_MODE: &str = "ask";
/// Refuses anything that is not read-only, without asking.
pub const READ_ONLY_MODE: &str = "read-only";

/// All modes, the default first.
#[must_use]
pub fn modes() -> Vec<Mode> {
    vec![
        Mode {
            id: ASK_MODE.to_owned(),
            name: "Ask".to_owned(),
            description: "Ask before changing files or running commands".to_owned(),
        },
        Mode {
            id: READ_ONLY_MODE.to_owned(),
            name: "Read only".to_owned(),
            description: "Refuse to change files or run commands".to_owned(),
        },
    ]
}

/// Whether `mode` is one of [`modes`].
pub(crate) fn is_known(mode: &str) -> bool {
    matches!(mode, ASK_MODE | READ_ONLY_MODE)
}

/// Why `mode` refuses a tool of this kind outright, if it does.
pub(crate) fn refusal(mode: &str, kind: ToolKind) -> Option<&'static str> {
    (mode == READ_ONLY_MODE && !kind.is_read_only())
        .then_some("the session is in read-only mode; switch to the ask mode to allow this")
}
