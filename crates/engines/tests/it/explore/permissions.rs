//! `/write`: shows a change, asks, and writes only if it is allowed.

use harn_model::{
    Actor, AgentEvent, ContentBlock, Decision, DeliveryMode, ErrorCategory, StopReason,
    ToolCallStatus, ToolContent, ToolKind,
};

use serde_json::json;

use crate::explore::test_session::{Rig, Turn, assert_failed};

fn rejection() -> Decision {
    Decision::Rejected {
        option_id: Some("reject_once".to_owned()),
        reason: None,
    }
}

fn diff(rig: &Rig, path: &str, old: Option<&str>, new: &str) -> ToolContent {
    ToolContent::Diff {
        path: rig.path_of(path).display().to_string(),
        old_text: old.map(str::to_owned),
        new_text: new.to_owned(),
    }
}

fn asked_content(turn: &Turn) -> Vec<ToolContent> {
    turn.permission_question()
        .unwrap()
        .tool_call
        .content
        .clone()
}

#[tokio::test]
async fn an_allowed_change_is_shown_and_made() {
    let mut rig = Rig::new(&[("notes.md", "old\n")]).await;
    let turn = rig.play_allowing("/write notes.md new text").await;
    let expected = diff(&rig, "notes.md", Some("old\n"), "new text");
    assert_eq!(asked_content(&turn), std::slice::from_ref(&expected));
    let (call, end) = turn.only_call();
    assert_eq!(call.kind, Some(ToolKind::Edit));
    assert_eq!(call.title.as_deref(), Some("Write notes.md"));
    assert_eq!(call.raw_input["path"], "notes.md");
    assert_eq!(
        call.locations[0].path,
        rig.path_of("notes.md").display().to_string()
    );
    assert_eq!(end.status, ToolCallStatus::Completed);
    assert_eq!(end.content.as_deref(), Some(&[expected][..]));
    assert_eq!(rig.get("notes.md").as_deref(), Some("new text"));
    assert_eq!(turn.answer(), "Wrote `notes.md`.");
    assert_eq!(turn.stop_reason(), StopReason::EndTurn);
}

#[tokio::test]
async fn a_new_file_has_no_old_text() {
    let mut rig = Rig::new(&[]).await;
    let turn = rig
        .play_allowing("/write deep/er/notes.md\nline 1\nline 2\n")
        .await;
    let expected = diff(&rig, "deep/er/notes.md", None, "line 1\nline 2\n");
    assert_eq!(asked_content(&turn), [expected]);
    assert_eq!(turn.titles(), ["Create deep/er/notes.md"]);
    assert_eq!(
        rig.get("deep/er/notes.md").as_deref(),
        Some("line 1\nline 2\n")
    );
}

#[tokio::test]
async fn a_refused_change_is_not_made() {
    let mut rig = Rig::new(&[("notes.md", "old")]).await;
    let turn = rig
        .play_answering("/write notes.md new", rejection(), |_| ())
        .await;
    assert_eq!(rig.get("notes.md").as_deref(), Some("old"));
    let (_, end) = turn.only_call();
    assert_failed(end, "permission was not granted");
    assert_eq!(end.error_category, Some(ErrorCategory::PermissionDenied));
    assert_eq!(turn.answer(), "Not written: permission was not granted.");
    assert_eq!(turn.stop_reason(), StopReason::EndTurn);
}

#[tokio::test]
async fn a_cancel_while_asking_ends_the_turn() {
    let mut rig = Rig::new(&[("notes.md", "old")]).await;
    for prompt in ["/write notes.md new", "/run touch made"] {
        let id = rig.begin(vec![ContentBlock::text(prompt)]).await;
        rig.collect_until(|event| matches!(event, harn_model::AgentEvent::PermissionAsked(_)))
            .await;
        rig.session.cancel(id).await;
        let turn = rig.finish().await;
        assert_eq!(turn.stop_reason(), StopReason::Cancelled);
        assert_eq!(
            turn.updates().last().unwrap().error_category,
            Some(ErrorCategory::Cancelled)
        );
    }
    assert_eq!(rig.get("notes.md").as_deref(), Some("old"));
    assert_eq!(rig.get("made"), None);
    // The next prompt runs.
    assert!(rig.play("/read notes.md").await.answer().contains("old"));
}

#[tokio::test]
async fn read_only_mode_refuses_without_asking() {
    let mut rig = Rig::new(&[("notes.md", "old")]).await;
    rig.session.set_mode("read-only").await.unwrap();
    for prompt in ["/write notes.md new", "/run touch made"] {
        let turn = rig.play(prompt).await;
        let (_, end) = turn.only_call();
        assert_failed(end, "mode is read-only");
        assert_eq!(end.error_category, Some(ErrorCategory::PermissionDenied));
        assert!(
            turn.answer().contains("mode is read-only"),
            "{}",
            turn.answer()
        );
        assert_eq!(turn.stop_reason(), StopReason::EndTurn);
    }
    assert_eq!(rig.get("notes.md").as_deref(), Some("old"));
    assert_eq!(rig.get("made"), None);
}

#[tokio::test]
async fn file_changed_while_asking_is_not_overwritten() {
    let mut rig = Rig::new(&[("notes.md", "old")]).await;
    let allowed = Decision::Allowed {
        option_id: "allow_once".to_owned(),
        args: None,
    };
    let edit = |rig: &Rig| rig.put("notes.md", "edited meanwhile");
    let turn = rig
        .play_answering("/write notes.md new", allowed, edit)
        .await;
    assert_failed(
        turn.only_call().1,
        "changed while the permission was pending",
    );
    assert_eq!(rig.get("notes.md").as_deref(), Some("edited meanwhile"));
}

#[tokio::test]
async fn forbidden_paths_fail_without_a_question() {
    let mut rig = Rig::new(&[("src/a.rs", "x")]).await;
    std::fs::create_dir(rig.path_of(".git")).unwrap();
    let outside = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(outside.path(), rig.path_of("out")).unwrap();
    std::fs::write(rig.path_of("binary"), b"a\0b").unwrap();
    for (path, words) in [
        ("../x", "outside the session's directories"),
        (
            "/tmp/harn-explore-test",
            "outside the session's directories",
        ),
        ("out/x", "outside the session's directories"),
        (".git/hooks/pre-commit", "is never written"),
        ("src", "this is a directory"),
        ("binary", "this is a binary file"),
    ] {
        let turn = rig.play(&format!("/write {path} text")).await;
        assert_failed(turn.only_call().1, words);
        assert!(
            turn.answer().starts_with("Not written: "),
            "{}",
            turn.answer()
        );
    }
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);
    assert_eq!(std::fs::read(rig.path_of("binary")).unwrap(), b"a\0b");
}

fn allow_with_args(args: serde_json::Value) -> Decision {
    Decision::Allowed {
        option_id: "allow_once".to_owned(),
        args: Some(args),
    }
}

#[tokio::test]
async fn arguments_of_the_answer_are_written_and_shown() {
    let mut rig = Rig::new(&[("notes.md", "old"), ("other.md", "there")]).await;
    let answer = allow_with_args(json!({"path": "other.md", "content": "theirs"}));
    let turn = rig
        .play_answering("/write notes.md mine", answer, |_| ())
        .await;
    let (_, end) = turn.only_call();
    let expected = diff(&rig, "other.md", Some("there"), "theirs");
    assert_eq!(end.content.as_deref(), Some(&[expected][..]));
    assert_eq!(turn.answer(), "Wrote `other.md`.");
    assert_eq!(rig.get("notes.md").as_deref(), Some("old"));
    assert_eq!(rig.get("other.md").as_deref(), Some("theirs"));
}

#[tokio::test]
async fn answer_cannot_write_to_a_forbidden_path() {
    let mut rig = Rig::new(&[("notes.md", "old")]).await;
    for (args, words) in [
        (
            json!({"path": "../x", "content": "theirs"}),
            "outside the session's directories",
        ),
        (
            json!({"path": ".git/hooks/pre-commit", "content": "theirs"}),
            "never written",
        ),
        (json!({"content": "theirs"}), "do not describe a file"),
    ] {
        let turn = rig
            .play_answering("/write notes.md mine", allow_with_args(args), |_| ())
            .await;
        assert_failed(turn.only_call().1, words);
    }
    assert_eq!(rig.get("notes.md").as_deref(), Some("old"));
    assert_eq!(rig.get(".git/hooks/pre-commit"), None);
}

#[tokio::test]
async fn command_of_the_answer_is_run() {
    let mut rig = Rig::new(&[]).await;
    let answer = allow_with_args(json!({"command": "touch theirs"}));
    let turn = rig.play_answering("/run touch mine", answer, |_| ()).await;
    assert_eq!(turn.answer(), "`touch theirs` succeeded (exit code 0).");
    assert_eq!(rig.get("mine"), None);
    assert_eq!(rig.get("theirs").as_deref(), Some(""));
    let nothing = allow_with_args(json!({"cmd": "touch theirs"}));
    let turn = rig.play_answering("/run touch mine", nothing, |_| ()).await;
    assert_failed(turn.only_call().1, "the arguments have no command");
}

#[tokio::test]
async fn accept_edits_and_auto_modes_do_not_ask() {
    let mut rig = Rig::new(&[("notes.md", "old")]).await;
    rig.session.set_mode("accept-edits").await.unwrap();
    let turn = rig.play("/write notes.md new").await;
    assert!(turn.permission_question().is_none());
    assert_eq!(rig.get("notes.md").as_deref(), Some("new"));
    rig.session.set_mode("auto").await.unwrap();
    let turn = rig.play("/run cat notes.md").await;
    assert!(turn.permission_question().is_none());
    assert_eq!(turn.answer(), "`cat notes.md` succeeded (exit code 0).");
}

/// Commands that do not stay pass no seam, so a message during the turn becomes its next prompt.
#[tokio::test]
async fn message_during_a_turn_is_answered_next() {
    let mut rig = Rig::new(&[("a.txt", "apple\n")]).await;
    rig.begin(vec![ContentBlock::text("/write b.txt pear")])
        .await;
    let asked = rig
        .collect_until(|event| matches!(event, AgentEvent::PermissionAsked(_)))
        .await;
    let actor = Actor {
        client_id: "test".to_owned(),
        role: "controller".to_owned(),
        source: "test".to_owned(),
    };
    let said = vec![ContentBlock::text("/read a.txt")];
    let said = rig
        .session
        .inject(DeliveryMode::FinishStep, said, actor, |_| ());
    said.await.unwrap();
    let ask = asked.permission_question().unwrap().ask_id.clone();
    rig.session.answer(ask, rejection()).await;
    let turn = rig.finish().await;
    assert_eq!(
        turn.answer(),
        "Not written: permission was not granted.`a.txt` has 1 line:\n\n```\napple\n```\n"
    );
    assert_eq!(turn.stop_reason(), StopReason::EndTurn);
}
