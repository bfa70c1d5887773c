//! Tables of frames and the commands in them.

use expect_test::{Expect, expect};
use harn_model::{GrantScope, ToolCall};
use serde_json::json;

use super::*;

/// Formats the commands of a frame, one per line.
fn format_commands(frame: &str) -> String {
    let shown = match parse_commands(frame) {
        Err(refused) => return format!("refused: {refused}\n"),
        Ok(given) => given.into_iter().map(|command| match command {
            Ok(command) => format!("{command:?}\n"),
            Err(refused) => format!("refused: {refused}\n"),
        }),
    };
    shown.collect()
}

#[track_caller]
fn check(frames: &[&str], expected: Expect) {
    let shown: String = frames.iter().map(|frame| format_commands(frame)).collect();
    expected.assert_eq(&shown);
}

fn frame(command: &str) -> String {
    format!(r#"{{"type":"commands","commands":[{command}]}}"#)
}

#[track_caller]
fn check_commands(commands: &[&str], expected: Expect) {
    let frames: Vec<_> = commands.iter().map(|it| frame(it)).collect();
    let frames: Vec<_> = frames.iter().map(String::as_str).collect();
    check(&frames, expected);
}

#[test]
fn every_command_is_parsed() {
    check_commands(
        &[
            r#"{"type":"submit","prompt":"go"}"#,
            r#"{"type":"cancel"}"#,
            r#"{"type":"steer","message":"left"}"#,
            r#"{"type":"approve","toolCallId":"c"}"#,
            r#"{"type":"approve","toolCallId":"c","optionId":"o"}"#,
            r#"{"type":"deny","toolCallId":"c","reason":"no","optionId":null}"#,
            r#"{"type":"resume","sessionId":"s","prompt":"go"}"#,
            r#"{"type":"configure","config":{"permissionMode":"auto","title":"t","effort":1}}"#,
            r#"{"type":"configure","config":{}}"#,
            r#"{"type":"answer","questionId":"q","answer":"80"}"#,
            r#"{"type":"answer","questionId":"q","approved":true,"reason":"fine"}"#,
            r#"{"type":"answer","questionId":"q","accepted":false}"#,
            r#"{"type":"withdraw","messageId":"m"}"#,
            r#"{"type":"takeover"}"#,
            r#"{"type":"handback"}"#,
        ],
        expect![[r#"
            Submit { prompt: "go" }
            Cancel
            Steer { message: "left" }
            Approve { tool_call_id: "c", option_id: None }
            Approve { tool_call_id: "c", option_id: Some("o") }
            Deny { tool_call_id: "c", reason: Some("no"), option_id: None }
            Resume { session_id: "s", prompt: Some("go") }
            Configure { config: SettingChanges { permission_mode: Some("auto"), title: Some("t"), options: {"effort": Number(1)} } }
            Configure { config: SettingChanges { permission_mode: None, title: None, options: {} } }
            Answer { question_id: "q", answer: Some("80"), approved: None, accepted: None, reason: None }
            Answer { question_id: "q", answer: None, approved: Some(true), accepted: None, reason: Some("fine") }
            Answer { question_id: "q", answer: None, approved: None, accepted: Some(false), reason: None }
            Withdraw { message_id: "m" }
            Takeover
            Handback
        "#]],
    );
}

#[test]
fn malformed_frames_are_rejected() {
    check(
        &[
            "",
            "hello",
            "{",
            "7",
            "null",
            "[]",
            "{}",
            r#"{"type":"commands"}"#,
            r#"{"type":"commands","commands":{}}"#,
            r#"{"type":"state","commands":[]}"#,
            r#"{"type":["commands"],"commands":[]}"#,
            r#"{"commands":[{"type":"cancel"}]}"#,
            r#"{"__proto__":{"type":"commands"},"commands":[]}"#,
        ],
        expect![[r#"
            refused: the frame is not JSON; send {"type":"commands","commands":[…]}
            refused: the frame is not JSON; send {"type":"commands","commands":[…]}
            refused: the frame is not JSON; send {"type":"commands","commands":[…]}
            refused: the frame does not contain commands; send {"type":"commands","commands":[…]}
            refused: the frame does not contain commands; send {"type":"commands","commands":[…]}
            refused: the frame does not contain commands; send {"type":"commands","commands":[…]}
            refused: the frame does not contain commands; send {"type":"commands","commands":[…]}
            refused: the frame does not contain commands; send {"type":"commands","commands":[…]}
            refused: the frame does not contain commands; send {"type":"commands","commands":[…]}
            refused: the frame does not contain commands; send {"type":"commands","commands":[…]}
            refused: the frame does not contain commands; send {"type":"commands","commands":[…]}
            refused: the frame does not contain commands; send {"type":"commands","commands":[…]}
            refused: the frame does not contain commands; send {"type":"commands","commands":[…]}
        "#]],
    );
}

#[test]
fn malformed_commands_are_rejected() {
    check_commands(
        &[
            "null",
            "7",
            "\"cancel\"",
            "[]",
            "{}",
            r#"{"type":null}"#,
            r#"{"type":"Cancel"}"#,
            r#"{"type":"__proto__"}"#,
            r#"{"type":"constructor"}"#,
            r#"{"type":"submit"}"#,
            r#"{"type":"submit","prompt":null}"#,
            r#"{"type":"submit","prompt":["go"]}"#,
            r#"{"type":"approve"}"#,
            r#"{"type":"approve","toolCallId":7}"#,
            r#"{"type":"configure"}"#,
            r#"{"type":"configure","config":"auto"}"#,
            r#"{"type":"configure","config":{"title":7}}"#,
            r#"{"type":"answer","questionId":"q","approved":"yes"}"#,
            r#"{"type":"resume"}"#,
        ],
        expect![[r#"
            refused: unknown command type; known types: submit, cancel, steer, approve, deny, resume, configure, answer, withdraw, takeover, handback
            refused: unknown command type; known types: submit, cancel, steer, approve, deny, resume, configure, answer, withdraw, takeover, handback
            refused: unknown command type; known types: submit, cancel, steer, approve, deny, resume, configure, answer, withdraw, takeover, handback
            refused: unknown command type; known types: submit, cancel, steer, approve, deny, resume, configure, answer, withdraw, takeover, handback
            refused: unknown command type; known types: submit, cancel, steer, approve, deny, resume, configure, answer, withdraw, takeover, handback
            refused: unknown command type; known types: submit, cancel, steer, approve, deny, resume, configure, answer, withdraw, takeover, handback
            refused: unknown command type; known types: submit, cancel, steer, approve, deny, resume, configure, answer, withdraw, takeover, handback
            refused: unknown command type; known types: submit, cancel, steer, approve, deny, resume, configure, answer, withdraw, takeover, handback
            refused: unknown command type; known types: submit, cancel, steer, approve, deny, resume, configure, answer, withdraw, takeover, handback
            refused: invalid command submit; it takes prompt, a string
            refused: invalid command submit; it takes prompt, a string
            refused: invalid command submit; it takes prompt, a string
            refused: invalid command approve; it takes toolCallId and optionally optionId, strings
            refused: invalid command approve; it takes toolCallId and optionally optionId, strings
            refused: invalid command configure; it takes config, an object; permissionMode and title in it are strings
            refused: invalid command configure; it takes config, an object; permissionMode and title in it are strings
            refused: invalid command configure; it takes config, an object; permissionMode and title in it are strings
            refused: invalid command answer; it takes questionId, a string, with answer, a string, or approved or accepted, true or false, and optionally reason, a string
            refused: invalid command resume; it takes sessionId and optionally prompt, strings
        "#]],
    );
}

/// Unknown members are ignored, as on all our wires.
#[test]
fn unknown_members_are_ignored() {
    check(
        &[
            r#"{"type":"commands","commands":[{"type":"cancel","why":1}],"id":7,"__proto__":{}}"#,
            r#"{"type":"commands","commands":[]}"#,
            r#"{"type":"commands","commands":[{"type":"no"},{"type":"cancel"},7]}"#,
        ],
        expect![[r#"
            Cancel
            refused: unknown command type; known types: submit, cancel, steer, approve, deny, resume, configure, answer, withdraw, takeover, handback
            Cancel
            refused: unknown command type; known types: submit, cancel, steer, approve, deny, resume, configure, answer, withdraw, takeover, handback
        "#]],
    );
}

/// The key of a setting is only a name, and reaches no other field.
#[test]
fn names_of_settings_reach_no_other_field() {
    let given = frame(
        r#"{"type":"configure","config":{"__proto__":{"title":"t"},"constructor":"c","toString":1}}"#,
    );
    let [Ok(ClientCommand::Configure { config })] = &parse_commands(&given).unwrap()[..] else {
        panic!();
    };
    assert_eq!((&config.title, &config.permission_mode), (&None, &None));
    let names: Vec<_> = config.options.keys().collect();
    assert_eq!(names, ["__proto__", "constructor", "toString"]);
}

#[test]
fn a_frame_with_too_many_commands_is_rejected() {
    let many = |count: usize| frame(&vec![r#"{"type":"cancel"}"#; count].join(","));
    assert_eq!(parse_commands(&many(MOST)).unwrap().len(), MOST);
    let refused = parse_commands(&many(MOST + 1)).unwrap_err().to_string();
    assert_eq!(
        refused,
        "the frame has more than 64 commands; send them in several"
    );
}

#[test]
fn deeply_nested_input_is_rejected() {
    for deep in [
        "[".repeat(1_000_000),
        "{\"a\":".repeat(500_000),
        frame(&format!(
            r#"{{"type":"configure","config":{{"a":{}"#,
            "[".repeat(500_000)
        )),
    ] {
        let refused = parse_commands(&deep).unwrap_err().to_string();
        assert!(refused.starts_with("the frame is not JSON"), "{refused}");
    }
}

#[test]
fn blank_texts_are_rejected() {
    assert_eq!(require_text("prompt", " go ".to_owned()).unwrap(), " go ");
    for nothing in ["", " ", "\n\t\u{2003}"] {
        let refused = require_text("prompt", nothing.to_owned()).unwrap_err();
        assert_eq!(refused.to_string(), "prompt must not be empty");
    }
}

fn ask(kinds: &[PermissionOptionKind]) -> PermissionAsked {
    let options = kinds.iter().map(|kind| PermissionOption {
        option_id: format!("{kind:?}"),
        name: String::new(),
        kind: *kind,
        scope: GrantScope::Once,
    });
    let mut call = ToolCall::new("c", "run_command");
    call.raw_input = json!({"command": "ls"});
    PermissionAsked::new("ask".into(), call, options.collect())
}

#[test]
fn a_decision_names_an_option_of_its_kind() {
    use PermissionOptionKind::{AllowAlways, AllowOnce, RejectAlways, RejectOnce};
    let all = ask(&[AllowAlways, AllowOnce, RejectAlways, RejectOnce]);
    let narrow = ask(&[AllowAlways]);
    let mut told = String::new();
    let mut tell = |what: &str, decision: Result<Decision, ClientCommandError>| match decision {
        Ok(decision) => told.push_str(&format!("{what}: {decision:?}\n")),
        Err(refused) => told.push_str(&format!("{what}: refused: {refused}\n")),
    };
    for option in [
        None,
        Some("AllowAlways"),
        Some("RejectOnce"),
        Some("other"),
        Some(""),
    ] {
        tell(
            &format!("approve {option:?}"),
            approval_decision(&all, option),
        );
        let reason = Some("why".to_owned());
        tell(
            &format!("deny {option:?}"),
            rejection_decision(&all, option, reason),
        );
    }
    tell("approve, always only", approval_decision(&narrow, None));
    tell("deny, always only", rejection_decision(&narrow, None, None));
    expect![[r#"
        approve None: Allowed { option_id: "AllowOnce", args: None }
        deny None: Rejected { option_id: Some("RejectOnce"), reason: Some("why") }
        approve Some("AllowAlways"): Allowed { option_id: "AllowAlways", args: None }
        deny Some("AllowAlways"): refused: optionId "AllowAlways" allows the call; send it with approve
        approve Some("RejectOnce"): refused: optionId "RejectOnce" rejects the call; send it with deny
        deny Some("RejectOnce"): Rejected { option_id: Some("RejectOnce"), reason: Some("why") }
        approve Some("other"): refused: unknown optionId; known optionIds: AllowAlways, AllowOnce, RejectAlways, RejectOnce
        deny Some("other"): refused: unknown optionId; known optionIds: AllowAlways, AllowOnce, RejectAlways, RejectOnce
        approve Some(""): refused: unknown optionId; known optionIds: AllowAlways, AllowOnce, RejectAlways, RejectOnce
        deny Some(""): refused: unknown optionId; known optionIds: AllowAlways, AllowOnce, RejectAlways, RejectOnce
        approve, always only: refused: this call cannot be allowed once
        deny, always only: Rejected { option_id: None, reason: None }
    "#]].assert_eq(&told);
}
