//! Built-in tools that read, list and change files.

use harn_model::{ErrorCategory, ToolCallStatus, ToolContent, ToolExecutor};
use serde_json::json;

use crate::toolbox::{
    fake_host::Desk,
    support::{Rig, Turn, allow_with, assert_failed, shown_text},
};

fn diff(turn: &Turn) -> (Option<String>, String) {
    let content = turn.only_call().1.content.as_deref().unwrap_or_default();
    match content.first() {
        Some(ToolContent::Diff {
            old_text, new_text, ..
        }) => (old_text.clone(), new_text.clone()),
        other => panic!("no diff: {other:?}"),
    }
}

#[tokio::test]
async fn edit_is_shown_asked_about_and_made() {
    let mut rig = Rig::new(&[("a.txt", "one\ntwo\nthree\n")]).await;
    let edit = json!({"path": "a.txt", "old_text": "two", "new_text": "2"});
    let turn = rig.call_allowed("edit_file", edit).await;
    let (call, end) = turn.only_call();
    assert_eq!(call.title.as_deref(), Some("Edit a.txt"));
    assert_eq!(
        turn.permission_question().unwrap().tool_call.content.len(),
        1
    );
    assert_eq!(end.status, ToolCallStatus::Completed);
    let expected = (
        Some("one\ntwo\nthree\n".to_owned()),
        "one\n2\nthree\n".to_owned(),
    );
    assert_eq!(diff(&turn), expected);
    assert_eq!(rig.read_file("a.txt").unwrap(), "one\n2\nthree\n");

    let patch = "--- a/a.txt\n+++ b/a.txt\n@@ -2,2 +2,3 @@\n 2\n three\n+four\n";
    let turn = rig
        .call_allowed("edit_file", json!({"path": "a.txt", "patch": patch}))
        .await;
    assert_eq!(diff(&turn).1, "one\n2\nthree\nfour\n");
    assert_eq!(rig.read_file("a.txt").unwrap(), "one\n2\nthree\nfour\n");
}

#[tokio::test]
async fn impossible_edit_fails_without_a_question() {
    let mut rig = Rig::new(&[("a.txt", "one\none\n")]).await;
    let failed = ErrorCategory::ToolError;
    let unfit = ErrorCategory::SchemaValidation;
    for (edit, category, words) in [
        (
            json!({"path": "a.txt", "old_text": "one", "new_text": "1"}),
            failed,
            "occurs 2 times",
        ),
        (
            json!({"path": "a.txt", "old_text": "two", "new_text": "2"}),
            failed,
            "`old_text` was not found",
        ),
        (
            json!({"path": "a.txt", "old_text": "one\n", "new_text": "one\n", "replace_all": true}),
            failed,
            "changes nothing",
        ),
        (
            json!({"path": "none.txt", "old_text": "a", "new_text": "b"}),
            failed,
            "the file does not exist",
        ),
        (
            json!({"path": "a.txt", "patch": "@@ -1 +1 @@\n-two\n+2\n"}),
            failed,
            "hunk 1 does not apply",
        ),
        (
            json!({"path": "a.txt", "old_text": "one"}),
            unfit,
            "`new_text` is missing",
        ),
        (
            json!({"path": "a.txt"}),
            unfit,
            "give `old_text` and `new_text`, or `patch`",
        ),
        (
            json!({"path": "a.txt", "old_text": "", "new_text": "x"}),
            unfit,
            "`old_text`",
        ),
        (
            json!({"path": "a.txt", "patch": "x", "old_text": "one", "new_text": "1"}),
            unfit,
            "give either `patch`",
        ),
    ] {
        let turn = rig.call("edit_file", edit).await;
        assert_failed(&turn, category, words);
    }
    assert_eq!(rig.read_file("a.txt").unwrap(), "one\none\n");
}

#[tokio::test]
async fn edit_uses_the_arguments_of_the_answer() {
    let mut rig = Rig::new(&[("a.txt", "one\n"), ("b.txt", "two\n")]).await;
    let edit = json!({"path": "a.txt", "old_text": "one", "new_text": "1"});
    let other = json!({"path": "b.txt", "old_text": "two", "new_text": "2"});
    let turn = rig
        .call_answered("edit_file", edit.clone(), allow_with(Some(other)))
        .await;
    assert_eq!(diff(&turn), (Some("two\n".to_owned()), "2\n".to_owned()));
    assert_eq!(rig.read_file("a.txt").unwrap(), "one\n");
    assert_eq!(rig.read_file("b.txt").unwrap(), "2\n");

    let elsewhere = json!({"path": "../c.txt", "old_text": "one", "new_text": "1"});
    let turn = rig
        .call_answered("edit_file", edit, allow_with(Some(elsewhere)))
        .await;
    assert_failed(
        &turn,
        ErrorCategory::PermissionDenied,
        "outside the session's directories",
    );
}

#[tokio::test]
async fn diff_shows_what_the_client_saved() {
    let mut rig = Rig::new(&[("a.txt", "on disk")]).await;
    let desk = Desk::with_editor_text("unsaved\n");
    rig.session.set_host(desk.clone());
    let turn = rig
        .call_allowed("write_file", json!({"path": "a.txt", "content": "new   "}))
        .await;
    assert_eq!(
        diff(&turn),
        (Some("unsaved\n".to_owned()), "new\n".to_owned())
    );
    let (_, end) = turn.only_call();
    assert_eq!(end.executor, Some(ToolExecutor::HostBridge));
    assert!(
        shown_text(end).contains("saved a different text"),
        "{}",
        shown_text(end)
    );
    let turn = rig
        .call_allowed("write_file", json!({"path": "a.txt", "content": "plain\n"}))
        .await;
    assert_eq!(shown_text(turn.only_call().1), "");
    assert_eq!(
        rig.read_file("a.txt").unwrap(),
        "on disk",
        "the client has it"
    );
}

#[tokio::test]
async fn file_is_read_one_page_at_a_time() {
    let long: String = (1..=3000).map(|n| format!("line {n}\n")).collect();
    let mut rig = Rig::new(&[("long.txt", &long)]).await;
    std::fs::write(rig.path("binary"), b"a\0b").unwrap();
    let turn = rig.call("read_file", json!({"path": "long.txt"})).await;
    let text = shown_text(turn.only_call().1);
    assert!(
        text.contains("\nline 2000\n```\n\nThese are lines 1 to 2000 of 3000; the next is 2001.\n")
    );
    let page = json!({"path": "long.txt", "line": 2999, "lines": 1});
    let turn = rig.call("read_file", page).await;
    assert!(shown_text(turn.only_call().1).starts_with("```\nline 2999\n```\n"));
    let turn = rig.call("read_file", json!({"path": "binary"})).await;
    assert_failed(&turn, ErrorCategory::ToolError, "this is a binary file");
    let turn = rig.call("read_file", json!({"path": "/etc/passwd"})).await;
    assert_failed(
        &turn,
        ErrorCategory::PermissionDenied,
        "outside the session's directories",
    );
}

#[tokio::test]
async fn files_are_listed_and_found() {
    let mut rig = Rig::new(&[
        (".gitignore", "*.log\n"),
        ("src/lib.rs", "pub fn apple() {}\n"),
        ("src/deep/pear.rs", ""),
        ("a.log", "apple"),
    ])
    .await;
    let turn = rig.call("list_files", json!({})).await;
    assert_eq!(turn.agent_text(), r#"["src/"]"#);
    assert_eq!(
        turn.only_call().0.title.as_deref(),
        Some("List the workspace")
    );
    let turn = rig.call("list_files", json!({"path": "src"})).await;
    assert_eq!(turn.agent_text(), r#"["deep/","lib.rs"]"#);
    let turn = rig.call("list_files", json!({"path": "none"})).await;
    assert_failed(&turn, ErrorCategory::ToolError, "cannot be read");
    let turn = rig.call("list_files", json!({"path": ".."})).await;
    assert_failed(
        &turn,
        ErrorCategory::PermissionDenied,
        "outside the session's directories",
    );

    let turn = rig.call("glob", json!({"pattern": "**/*"})).await;
    assert_eq!(
        turn.agent_text(),
        r#"{"files":["src/deep/pear.rs","src/lib.rs"],"more":false}"#
    );
    let turn = rig
        .call("glob", json!({"pattern": "**/*", "limit": 1}))
        .await;
    assert!(shown_text(turn.only_call().1).ends_with("These are the first 1; there are more.\n"));
    let turn = rig.call("glob", json!({"pattern": "/etc/*"})).await;
    assert_failed(&turn, ErrorCategory::ToolError, "absolute path");

    let turn = rig.call("grep", json!({"pattern": "ap+le"})).await;
    assert_eq!(
        shown_text(turn.only_call().1),
        "- `src/lib.rs:1` — `pub fn apple() {}`\n"
    );
    let turn = rig
        .call("search", json!({"query": "where is the apple?"}))
        .await;
    let (call, end) = turn.only_call();
    assert_eq!(call.raw_input, json!({"query": "where is the apple?"}));
    assert!(
        shown_text(end).starts_with("- `src/lib.rs:1`"),
        "{}",
        shown_text(end)
    );
}
