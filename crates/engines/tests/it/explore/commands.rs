//! Commands that need no permission.

use harn_model::{ErrorCategory, StopReason, ToolCallStatus, ToolKind};

use crate::explore::test_session::{Rig, assert_failed, shown_text};

async fn rig() -> Rig {
    let long: String = (1..=100).map(|n| format!("line {n}\n")).collect();
    Rig::new(&[
        ("src/a.rs", "fn apple() {}\nfn pear() {}\n"),
        ("src/b.rs", "// apple pie\n"),
        ("long.txt", &long),
        ("empty.txt", ""),
    ])
    .await
}

#[tokio::test]
async fn profile_lists_commands_and_options() {
    let rig = rig().await;
    let commands = rig.session.commands();
    let names: Vec<_> = commands
        .iter()
        .map(|command| command.name.as_str())
        .collect();
    assert_eq!(
        names,
        [
            "find",
            "explore-all",
            "grep",
            "read",
            "write",
            "run",
            "tools",
            "tool",
            "skills",
            "shells",
            "watch",
            "unwatch",
            "help",
            "permissions"
        ]
    );
    let hints = commands.iter().filter(|command| command.input.is_some());
    assert_eq!(hints.count(), 11);
    let (option, value) = &rig.session.options()[0];
    assert_eq!((option.id.as_str(), value.as_str()), ("results", "5"));
}

#[tokio::test]
async fn find_lists_hits() {
    let mut rig = rig().await;
    let turn = rig.play("/find apple").await;
    let (call, end) = turn.only_call();
    assert_eq!(call.kind, Some(ToolKind::Search));
    assert_eq!(call.title.as_deref(), Some("Search for \"apple\""));
    assert_eq!(end.status, ToolCallStatus::Completed);
    let expected = "- `src/a.rs:1` — `fn apple() {}`\n- `src/b.rs:1` — `// apple pie`\n";
    assert_eq!(turn.answer(), expected);
    assert_eq!(turn.stop_reason(), StopReason::EndTurn);

    let turn = rig.play("/find the").await;
    assert!(
        turn.answer()
            .contains("Nothing in this workspace mentions `the`")
    );
    let turn = rig.play("/find ?!").await;
    assert!(turn.answer().contains("Nothing"), "{}", turn.answer());
}

#[tokio::test]
async fn grep_lists_lines() {
    let mut rig = rig().await;
    let turn = rig.play(r"/grep fn \w+").await;
    let (call, end) = turn.only_call();
    assert_eq!(call.raw_input["pattern"], r"fn \w+");
    assert_eq!(end.raw_output.as_ref().unwrap()["hits"][1]["line"], 2);
    assert_eq!(end.locations.as_ref().unwrap().len(), 2);
    let expected = "2 lines match `fn \\w+`:\n\n- `src/a.rs:1` — `fn apple() {}`\n\
                    - `src/a.rs:2` — `fn pear() {}`\n";
    assert_eq!(turn.answer(), expected);

    let turn = rig.play("/grep line").await;
    let answer = turn.answer();
    assert!(answer.starts_with("More than 40 lines match"), "{answer}");
    assert!(
        answer.contains("10 more are in the call's result"),
        "{answer}"
    );

    let turn = rig.play("/grep (").await;
    let (_, end) = turn.only_call();
    assert_failed(end, "not a regular expression");
    assert_eq!(end.error_category, Some(ErrorCategory::ToolError));
    assert!(
        turn.answer().starts_with("Not searched: "),
        "{}",
        turn.answer()
    );
    assert_eq!(turn.stop_reason(), StopReason::EndTurn);
}

#[tokio::test]
async fn read_shows_a_file_or_a_part_of_it() {
    let mut rig = rig().await;
    let turn = rig.play("/read src/a.rs").await;
    let (call, end) = turn.only_call();
    assert_eq!(call.kind, Some(ToolKind::Read));
    assert_eq!(
        call.locations[0].path,
        rig.path_of("src/a.rs").display().to_string()
    );
    assert_eq!(end.raw_output.as_ref().unwrap()["lines"], 2);
    let block = "```rust\nfn apple() {}\nfn pear() {}\n```\n";
    assert_eq!(turn.answer(), format!("`src/a.rs` has 2 lines:\n\n{block}"));
    assert_eq!(shown_text(end), block);

    let turn = rig.play("/read long.txt:50").await;
    assert_eq!(turn.only_call().0.locations[0].line, Some(50));
    let answer = turn.answer();
    assert!(
        answer.starts_with("`long.txt` has 100 lines; these are 45 to 84:"),
        "{answer}"
    );
    assert!(
        answer.contains("\nline 45\n") && !answer.contains("\nline 85\n"),
        "{answer}"
    );

    let turn = rig.play("/read empty.txt").await;
    assert_eq!(turn.answer(), "`empty.txt` is empty.");
    let absolute = rig.path_of("src/b.rs").display().to_string();
    let turn = rig.play(&format!("/read {absolute}")).await;
    assert!(
        turn.answer().starts_with("`src/b.rs` has 1 line:"),
        "{}",
        turn.answer()
    );
}

#[tokio::test]
async fn read_reports_why_a_file_cannot_be_read() {
    let mut rig = rig().await;
    for (path, category, words) in [
        (
            "none.txt",
            ErrorCategory::ToolError,
            "the file does not exist",
        ),
        ("src", ErrorCategory::ToolError, "this is a directory"),
        (
            "../x",
            ErrorCategory::PermissionDenied,
            "outside the session's directories",
        ),
        (
            "/etc/passwd",
            ErrorCategory::PermissionDenied,
            "outside the session's directories",
        ),
    ] {
        let turn = rig.play(&format!("/read {path}")).await;
        let (_, end) = turn.only_call();
        assert_failed(end, words);
        assert_eq!(end.error_category, Some(category), "{path}");
        let answer = turn.answer();
        assert!(
            answer.starts_with("Not read: ") && answer.contains(words),
            "{answer}"
        );
        assert_eq!(turn.stop_reason(), StopReason::EndTurn);
    }
}

#[tokio::test]
async fn help_and_wrong_commands_list_the_commands() {
    let mut rig = rig().await;
    for (prompt, start) in [
        ("/help", "Ask a question about this workspace"),
        ("/frobnicate", "Unknown command `/frobnicate`."),
    ] {
        let turn = rig.play(prompt).await;
        let answer = turn.answer();
        assert!(answer.starts_with(start), "{answer}");
        assert!(answer.contains("- `/write PATH TEXT`: "), "{answer}");
        assert!(turn.calls().is_empty());
    }
    let turn = rig.play("/write a.txt").await;
    assert!(
        turn.answer().contains("`/write PATH TEXT`"),
        "{}",
        turn.answer()
    );
    assert!(turn.calls().is_empty());
}
