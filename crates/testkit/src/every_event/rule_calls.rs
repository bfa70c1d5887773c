//! Calls that are asked about, and calls that rules decide.

use harn_model::{Decision, GrantScope, PermissionOption, PermissionOptionKind, ToolCall};
use harn_runtime::Question;
use serde_json::json;

use super::{StoryCall, StoryStep};

/// Returns calls under rules: allowed, refused, asked about, remembered; and an approval by a person.
pub(super) fn judged_calls() -> Vec<StoryStep> {
    use StoryStep::Judge;
    let allowed = |option: &str, args| {
        Some(Decision::Allowed {
            option_id: option.to_owned(),
            args,
        })
    };
    let rejected = Decision::Rejected {
        option_id: Some("reject_once".to_owned()),
        reason: Some("not today".to_owned()),
    };
    vec![
        Judge(StoryCall::Path("home/ada/engine/src/limit.rs"), None),
        Judge(StoryCall::Path("home/ada/engine/.git/config"), None),
        Judge(
            StoryCall::Command("cargo test"),
            allowed("allow_session", None),
        ),
        Judge(StoryCall::Command("cargo test"), None),
        Judge(
            StoryCall::Command("cargo publish"),
            allowed(
                "allow_once",
                Some(json!({"command": "cargo publish --dry-run"})),
            ),
        ),
        Judge(StoryCall::Command("git push --force"), Some(rejected)),
        StoryStep::Consult("release"),
    ]
}

/// Returns a question with every kind of answer.
pub(super) fn question(tool_call: ToolCall) -> Question {
    let option = |option_id: &str, name: &str, kind| PermissionOption {
        option_id: option_id.to_owned(),
        name: name.to_owned(),
        kind,
        scope: GrantScope::Once,
    };
    Question {
        tool_call,
        options: vec![
            option("once", "Allow this once", PermissionOptionKind::AllowOnce),
            option(
                "file",
                "Allow for this file",
                PermissionOptionKind::AllowAlways,
            ),
            option("no", "Reject this once", PermissionOptionKind::RejectOnce),
            option(
                "never",
                "Reject from now on",
                PermissionOptionKind::RejectAlways,
            ),
        ],
    }
}
