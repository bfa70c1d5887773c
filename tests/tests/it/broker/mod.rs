//! Each question of a turn is settled once, and only an explicit approval lets a call run, whatever the clients
//! do: random answers, late, repeated, contradictory or missing, to workers too, over connections that are lost
//! and re-established.
//!
//! The effect of each answer is a separate table here, which shares nothing with the code that reads answers.

mod agent;
mod answer;
mod case;
mod player;
mod records;
mod rule_book;

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::Value;

use answer::{ALL, Answer, Worth};
use case::{Case, Company, Question, case};
use player::{Stage, replay};

async fn check(case: Case) {
    let profile = case.profile;
    let mut stage = Stage::open(case).await;
    stage.play().await;
    stage.close().await;

    let session = stage.test.hub().live_session(&stage.session).unwrap();
    assert!(session.view().open_turn.is_none());
    let mut ran: BTreeMap<usize, Value> = BTreeMap::new();
    for (number, arguments) in std::mem::take(&mut *stage.ran.lock().unwrap()) {
        assert!(
            ran.insert(number, arguments).is_none(),
            "question {number} ran twice"
        );
    }
    for (number, known) in stage.known.iter().enumerate() {
        let shown = || format!("question {number}: {known:?}\n{}", stage.transcript());
        match ran.get(&number) {
            Some(arguments) => {
                let mut meant = known.may_run.iter();
                let meant = meant.any(|answer| answer.arguments(number) == *arguments);
                assert!(meant, "it ran and nobody allowed that: {}", shown());
            }
            None => assert!(
                !known.must_run,
                "it was allowed and did not run: {}",
                shown()
            ),
        }
    }
    if stage.stays {
        let stops: Vec<_> = stage.stops.iter().filter_map(Value::as_str).collect();
        match stage.cancelled {
            Some(true) => assert_eq!(stops, ["cancelled"]),
            Some(false) => assert_eq!(stops, ["end_turn"]),
            None => assert_eq!(stops.len(), 1),
        }
    }

    // A client that connects later receives every call settled once, and no question.
    let seen = replay(&stage.test, profile, &stage.session).await;
    let of = |kind: &'static str| {
        seen.iter()
            .filter(move |update| update["sessionUpdate"] == *kind)
    };
    for call in of("tool_call") {
        let ended = of("tool_call_update").filter(|update| {
            let status = update["status"].as_str().unwrap_or_default();
            update["toolCallId"] == call["toolCallId"] && ["completed", "failed"].contains(&status)
        });
        assert_eq!(ended.count(), 1, "{call}\n{}", stage.transcript());
    }
    stage.test.hub().shutdown().await;
    assert_eq!(
        records::check(&stage.test),
        ran.len(),
        "{}",
        stage.transcript()
    );
}

fn run_with_paused_clock<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build();
    runtime.unwrap().block_on(work)
}

/// Fewer cases than usual, because each is a whole session; `PROPTEST_CASES` overrides the number.
fn cases() -> u32 {
    #[expect(
        clippy::disallowed_methods,
        reason = "a test has no composition root that could hand it in"
    )]
    let asked = std::env::var("PROPTEST_CASES").ok();
    asked.and_then(|cases| cases.parse().ok()).unwrap_or(64)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: cases(),
        failure_persistence: None,
        max_shrink_iters: 400,
        ..ProptestConfig::default()
    })]

    #[test]
    fn call_runs_only_after_explicit_approval_and_each_question_is_settled_once(case in case()) {
        run_with_paused_clock(check(case));
    }
}

/// Returns a question that gets these answers from the only client.
fn question(depth: usize, first: &[Answer]) -> Question {
    Question {
        depth,
        wave: 0,
        first: first.to_vec(),
        second: Vec::new(),
        second_is_faster: false,
        rank: 0,
        stale: false,
    }
}

/// Every form of an answer in every profile, alone, before an approval and after a refusal, from a session and
/// a worker.
#[test]
fn every_answer_has_the_effect_in_the_table() {
    for profile in ["harn", "meta", "acp"] {
        for answer in ALL {
            let scripts = [
                vec![answer],
                vec![answer, Answer::AllowOnce],
                vec![Answer::RejectOnce, answer],
            ];
            let questions = scripts.iter().enumerate();
            let questions = questions.map(|(depth, script)| question(depth % 2, script));
            let mut questions: Vec<_> = questions.collect();
            // A cancel ends the turn: later questions are not asked.
            if answer.expected_effect(profile) == Worth::Cancels {
                questions.truncate(1);
            }
            let company = Company::Alone;
            run_with_paused_clock(check(Case {
                profile,
                questions,
                company,
            }));
        }
    }
}

/// A client that did not prompt and fails to answer leaves the question open for the prompting client; its
/// approval and its refusal count.
#[test]
fn failed_answer_of_another_client_leaves_the_question_open() {
    for profile in ["harn", "meta", "acp"] {
        for answer in ALL {
            let questions = vec![Question {
                second: vec![answer],
                second_is_faster: true,
                ..question(0, &[Answer::AllowOnce])
            }];
            let company = Company::Two;
            run_with_paused_clock(check(Case {
                profile,
                questions,
                company,
            }));
        }
    }
}
