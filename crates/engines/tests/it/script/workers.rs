//! Workers that steps start, wait for, trigger, stop and cancel.

use expect_test::expect;
use harn_model::{AgentEvent, Decision, Seq, SessionId, TurnOutcome, WorkerEvent};

use crate::script::test_session::{Kept, Rig};

/// Summarises a turn: texts, worker updates, handoffs, questions and the end.
fn summarize(events: &[AgentEvent]) -> String {
    let line = |event: &AgentEvent| {
        Some(match event {
            AgentEvent::AgentMessageChunk { content, .. } => format!("say {content}\n"),
            AgentEvent::WorkerUpdate(w) => {
                // The error of a worker that is cancelled with the turn depends on a race.
                let error = w.metadata.error.as_deref();
                let error = error.filter(|_| w.event != WorkerEvent::WorkerCancelled);
                let error = error.map(|e| format!(": {e}")).unwrap_or_default();
                let (name, event, cycle) = (&w.worker_name, w.event, w.cycle);
                format!("{name} {event:?} {cycle}{error}\n")
            }
            AgentEvent::Handoff { handoff, .. } => {
                let (from, task) = (&handoff.source_persona, &handoff.task);
                format!("handoff from {from}: {task}, {}\n", handoff.reason)
            }
            AgentEvent::PermissionAsked(ask) => {
                let names = ask.lineage.iter().map(|entry| entry.worker_name.as_str());
                let names: Vec<_> = names.collect();
                format!(
                    "{} asks for {}\n",
                    names.join(" > "),
                    ask.tool_call.tool_name
                )
            }
            AgentEvent::TurnEnded(end) => match &end.outcome {
                TurnOutcome::Stopped { stop_reason } => format!("end {stop_reason:?}\n"),
                TurnOutcome::Failed { message } => format!("failed: {message}\n"),
            },
            _ => return None,
        })
    };
    events.iter().filter_map(line).collect()
}

async fn play_turn(rig: &mut Rig, prompt: &str) -> String {
    rig.prompt(prompt).await;
    finish_turn(rig).await
}

async fn finish_turn(rig: &mut Rig) -> String {
    let events = rig
        .collect_until(|e| matches!(e, AgentEvent::TurnEnded(_)))
        .await;
    summarize(&events)
}

/// Returns a scenario with one turn of these steps.
fn scenario(steps: &str) -> String {
    format!("name: t\nturns:\n- steps: {steps}\n")
}

/// Returns the summary of the newest worker's session.
async fn summarize_newest_worker(rig: &Rig) -> String {
    let workers = rig.session.view().workers;
    let newest = workers.values().last().expect("a worker");
    let child = newest.metadata.child_run_id.clone().expect("its session");
    summarize_session(rig, &child).await
}

async fn summarize_session(rig: &Rig, id: &SessionId) -> String {
    let child = rig.hub.open(id, None).await.expect("it was kept");
    let mut events = child.subscribe(Seq::ZERO);
    let mut said = Vec::new();
    while events.position() < child.last_seq() {
        let delivery = events.next().await.expect("what was written");
        let events = delivery.events().iter().map(|e| e.event.clone());
        said.extend(events);
    }
    summarize(&said)
}

#[tokio::test]
async fn a_worker_plays_beside_the_turn_and_is_awaited() {
    let kept = Kept::new();
    let steps = "
    - worker: {name: scout, task: Look around, steps: [{say: in the child}]}
    - await_workers: {}
    - say: after
";
    let mut rig = kept.rig(&scenario(steps)).await;
    expect![[r#"
        scout WorkerSpawned 1
        scout WorkerCompleted 1
        say after
        end EndTurn
    "#]]
    .assert_eq(&play_turn(&mut rig, "go").await);
    expect![[r#"
        say in the child
        end EndTurn
    "#]]
    .assert_eq(&summarize_newest_worker(&rig).await);
}

#[tokio::test]
async fn a_worker_that_fails_does_not_fail_the_turn() {
    let kept = Kept::new();
    let steps = "
    - worker: {name: bad, task: Try, mode: delegated_stage, steps: [{fail: no luck}]}
    - await_workers: [bad]
    - say: we go on
";
    let mut rig = kept.rig(&scenario(steps)).await;
    expect![[r#"
        bad WorkerSpawned 1
        bad WorkerFailed 1: no luck
        say we go on
        end EndTurn
    "#]]
    .assert_eq(&play_turn(&mut rig, "go").await);
    let workers = rig.session.view().workers;
    let bad = workers.values().next().expect("a worker");
    assert_eq!(bad.worker_mode, "delegated_stage");
}

#[tokio::test]
async fn unawaited_worker_ends_with_the_turn() {
    let kept = Kept::new();
    let steps = "
    - worker: {name: slow, task: Take long, steps: [{await_cancel: {}}]}
    - say: done
";
    let mut rig = kept.rig(&scenario(steps)).await;
    expect![[r#"
        slow WorkerSpawned 1
        say done
        slow WorkerCancelled 1
        end EndTurn
    "#]]
    .assert_eq(&play_turn(&mut rig, "go").await);
}

#[tokio::test]
async fn a_name_is_taken_while_its_worker_runs() {
    let kept = Kept::new();
    let steps = "
    - worker: {name: a, task: First, steps: []}
    - await_workers: {}
    - worker: {name: a, task: Second, steps: [{await_cancel: {}}]}
    - worker: {name: a, task: Third, steps: []}
";
    let mut rig = kept.rig(&scenario(steps)).await;
    expect![[r#"
        a WorkerSpawned 1
        a WorkerCompleted 1
        a WorkerSpawned 1
        a WorkerCancelled 1
        failed: a worker "a" is running already; wait for it or choose another name
    "#]]
    .assert_eq(&play_turn(&mut rig, "go").await);
}

const LIVES: &str = r#"
name: lives
turns:
  - match: "^start"
    steps:
      - worker: {name: helper, task: Count, retriggerable: true, steps: [{say: one}]}
      - await_workers: [helper]
  - match: "^again"
    steps:
      - trigger: {worker: helper, task: Count on}
      - await_workers: {}
  - match: "^other"
    steps:
      - trigger: {worker: helper, task: Do something else, steps: [{say: two}]}
      - await_workers: [helper]
  - match: "^stop"
    steps: [{stop_worker: {worker: helper, handoff: {reason: enough, target_persona_or_human: {kind: human}}}}]
  - match: "^cancel"
    steps: [{cancel_worker: {worker: helper}}]
"#;

#[tokio::test]
async fn waiting_worker_is_triggered_in_later_turns_and_stopped() {
    let kept = Kept::new();
    let mut rig = kept.rig(LIVES).await;
    let mut all = String::new();
    for prompt in ["start", "again", "other", "stop", "again"] {
        all += &play_turn(&mut rig, prompt).await;
    }
    expect![[r#"
        helper WorkerSpawned 1
        helper WorkerWaitingForInput 1
        end EndTurn
        helper WorkerProgressed 1
        helper WorkerSpawned 2
        helper WorkerWaitingForInput 2
        end EndTurn
        helper WorkerProgressed 2
        helper WorkerSpawned 3
        helper WorkerWaitingForInput 3
        end EndTurn
        handoff from helper: Do something else, enough
        helper WorkerStopped 3
        end EndTurn
        failed: worker worker-1 has ended: stopped
    "#]]
    .assert_eq(&all);
    expect![[r#"
        say one
        end EndTurn
        say one
        end EndTurn
        say two
        end EndTurn
    "#]]
    .assert_eq(&summarize_newest_worker(&rig).await);
}

/// A new process has the steps from the file, and the newest worker of the name from the session.
#[tokio::test]
async fn waiting_worker_plays_the_steps_of_the_file_after_a_restart() {
    let kept = Kept::new();
    let mut rig = kept.rig(LIVES).await;
    play_turn(&mut rig, "start").await;
    play_turn(&mut rig, "cancel").await;
    play_turn(&mut rig, "start").await;
    let mut rig = kept.restart(rig, LIVES).await;
    expect![[r#"
        helper WorkerProgressed 1
        helper WorkerSpawned 2
        helper WorkerWaitingForInput 2
        end EndTurn
    "#]]
    .assert_eq(&play_turn(&mut rig, "again").await);
    expect![[r#"
        say one
        end EndTurn
        say one
        end EndTurn
    "#]]
    .assert_eq(&summarize_newest_worker(&rig).await);
    let workers = rig.session.view().workers;
    let ends: Vec<_> = workers.values().map(|worker| worker.event).collect();
    let expected = [
        WorkerEvent::WorkerCancelled,
        WorkerEvent::WorkerWaitingForInput,
    ];
    assert_eq!(ends, expected);
    expect![[r#"
        helper WorkerCancelled 2
        end EndTurn
    "#]]
    .assert_eq(&play_turn(&mut rig, "cancel").await);
}

#[tokio::test]
async fn trigger_of_an_unknown_worker_fails_the_turn() {
    let kept = Kept::new();
    let mut rig = kept.rig(LIVES).await;
    expect![[r#"
        failed: this session has no worker "helper"; start it first
    "#]]
    .assert_eq(&play_turn(&mut rig, "again").await);
}

/// A worker's worker asks; the controller of the root session receives the question, and the answer reaches the
/// worker that asked.
#[tokio::test]
async fn question_of_a_worker_reaches_the_root_controller() {
    let kept = Kept::new();
    let steps = "
    - worker:
        name: outer
        task: Have it done
        steps:
          - worker:
              name: inner
              task: Do it
              steps: [{ask: {tool: write_file, kind: edit, on_allow: [{say: allowed}], on_reject: [{say: rejected}]}}]
          - await_workers: {}
          - say: it is done
    - await_workers: {}
";
    for (option_id, word) in [("allow_once", "allowed"), ("reject_once", "rejected")] {
        let mut rig = kept.rig(&scenario(steps)).await;
        rig.prompt("go").await;
        let asked = rig
            .collect_until(|e| matches!(e, AgentEvent::PermissionAsked(_)))
            .await;
        let ask = asked.iter().find_map(|event| match event {
            AgentEvent::PermissionAsked(ask) => Some(ask.clone()),
            _ => None,
        });
        let ask = ask.expect("an ask");
        let decision = Decision::Allowed {
            option_id: option_id.to_owned(),
            args: None,
        };
        rig.session.answer(ask.ask_id.clone(), decision).await;
        let all = summarize(&asked) + &finish_turn(&mut rig).await;
        assert_eq!(
            all,
            "outer WorkerSpawned 1\nouter > inner asks for write_file\nouter WorkerCompleted 1\nend EndTurn\n"
        );
        let [outer, inner] = &ask.lineage[..] else {
            panic!("{:?}", ask.lineage);
        };
        let inner = summarize_session(&rig, &inner.session_id).await;
        assert!(inner.contains(&format!("say {word}\n")), "{inner}");
        let outer = summarize_session(&rig, &outer.session_id).await;
        assert!(outer.contains("say it is done\n"), "{outer}");
    }
}
