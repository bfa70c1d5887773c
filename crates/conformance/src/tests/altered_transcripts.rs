//! Transcripts of `fixtures/acp` with a line lost, doubled or moved: the checker must report every line that
//! mattered.

use std::{fs, path::PathBuf};

use serde_json::Value;

use super::*;

fn transcript(name: &str) -> Vec<String> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let path = root
        .join("../../fixtures/acp")
        .join(format!("{name}.jsonl"));
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(str::to_owned).collect()
}

fn check(lines: &[String]) -> Vec<(usize, ConformanceRule)> {
    findings(lines.iter().map(String::as_str))
}

/// Returns the kind of a line: the name of the update, the method, or `answer`.
fn line_kind(line: &str) -> String {
    let entry: Value = serde_json::from_str(line).unwrap();
    let message = &entry["message"];
    let update = message["params"]["update"]["sessionUpdate"].as_str();
    let name = update.or(message["method"].as_str());
    name.unwrap_or("answer").to_owned()
}

/// Only these can be lost without a finding: the conversation makes sense without them.
const FREE: [&str; 10] = [
    "agent_message_chunk",
    "agent_thought_chunk",
    "available_commands_update",
    "config_option_update",
    "current_mode_update",
    "plan",
    "session/cancel",
    "session_info_update",
    "usage_update",
    "user_message_chunk",
];

const GOOD: [&str; 4] = ["turn", "permission-allowed", "load-after-restart", "resume"];

#[test]
fn good_transcripts_break_no_rule() {
    // A session that is loaded while open shows its calls twice, so `fork` is only in this test.
    let back = ["load", "plain", "question"].map(|name| format!("coming-back-{name}"));
    let back = back.iter().map(String::as_str);
    for name in GOOD.into_iter().chain(["fork"]).chain(back) {
        assert_eq!(check(&transcript(name)), [], "{name}");
    }
}

#[test]
fn lost_line_is_reported() {
    for name in GOOD {
        let lines = transcript(name);
        for at in 0..lines.len() {
            let mut spoiled = lines.clone();
            let lost = line_kind(&spoiled.remove(at));
            let found = check(&spoiled);
            match lost.as_str() {
                free if FREE.contains(&free) => {
                    assert_eq!(found, [], "{name} without line {}", at + 1)
                }
                "tool_call" => {
                    let unheard = |(_, rule): &(usize, ConformanceRule)| {
                        *rule == ConformanceRule::UpdateBeforeCall
                    };
                    assert!(found.iter().any(unheard), "{name} {at}: {found:?}");
                }
                // The update that ended the call.
                "tool_call_update" => {
                    let rules: Vec<_> = found.iter().map(|(_, rule)| *rule).collect();
                    assert!(
                        rules.is_empty() || rules.contains(&ConformanceRule::CallLeftOpen),
                        "{name} {at}: {found:?}"
                    );
                }
                "session/prompt"
                | "session/new"
                | "session/load"
                | "session/resume"
                | "session/fork"
                | "session/request_permission" => {
                    let lost_request = |(_, rule): &(usize, ConformanceRule)| {
                        *rule == ConformanceRule::AnswerWithoutRequest
                    };
                    assert!(found.iter().any(lost_request), "{name} {at}: {found:?}");
                }
                // A missing answer breaks no rule: a recording may end anywhere.
                _ => {}
            }
        }
    }
}

#[test]
fn doubled_line_is_reported() {
    for name in GOOD {
        let lines = transcript(name);
        for at in 0..lines.len() {
            let mut spoiled = lines.clone();
            spoiled.insert(at, lines[at].clone());
            let found = check(&spoiled);
            let line = at + 2;
            let expected = match line_kind(&lines[at]).as_str() {
                "tool_call" => Some(ConformanceRule::CallAnnouncedTwice),
                "session/prompt" | "session/new" | "session/request_permission" => {
                    Some(ConformanceRule::IdInUse)
                }
                "answer" if lines[at].contains("\"message\"") => {
                    Some(ConformanceRule::AnsweredTwice)
                }
                _ => None,
            };
            if let Some(rule) = expected {
                assert!(found.contains(&(line, rule)), "{name} {line}: {found:?}");
            }
        }
    }
}

#[test]
fn update_after_the_answer_of_its_turn_is_reported() {
    let lines = transcript("turn");
    let last = lines.len() - 1;
    for at in 0..last {
        if line_kind(&lines[at]) != "tool_call_update" {
            continue;
        }
        let mut spoiled = lines.clone();
        let late = spoiled.remove(at);
        spoiled.push(late);
        let rules: Vec<_> = check(&spoiled).into_iter().map(|(_, rule)| rule).collect();
        assert!(
            rules.contains(&ConformanceRule::CallOutsideTurn),
            "line {}: {rules:?}",
            at + 1
        );
    }
}

/// Any prefix of a good transcript is a good transcript, and no noise makes the checker panic.
#[test]
fn prefixes_break_no_rule_and_noise_does_not_panic() {
    let lines = transcript("turn");
    for end in 0..lines.len() {
        assert_eq!(check(&lines[..end]), []);
    }
    let mut checker = Checker::new();
    for line in &lines {
        for end in (0..line.len())
            .step_by(7)
            .filter(|end| line.is_char_boundary(*end))
        {
            checker.check_line(&line[..end]);
            checker.check_line(&line[end..]);
        }
    }
    assert!(checker.messages() > lines.len());
}
