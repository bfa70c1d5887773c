//! Steps for messages and reminders during a turn: waits, seams that deliver, reminders.

use harn_engines::ScriptAgent;
use harn_model::{
    Actor, AgentEvent, ContentBlock, DaemonChange, DeliveryMode, ReminderChange,
    ReminderPropagation, ReminderSource, RoleHint, StopReason, SystemReminder, TurnEnded,
    TurnOutcome, WakeReason,
};

use crate::script::test_session::Rig;

fn actor() -> Actor {
    Actor {
        client_id: "test".to_owned(),
        role: "controller".to_owned(),
        source: "test".to_owned(),
    }
}

async fn inject(rig: &Rig, mode: DeliveryMode, text: &str) {
    let content = vec![ContentBlock::text(text)];
    let injected = rig.session.inject(mode, content, actor(), |_| ()).await;
    injected.expect("a message that is taken");
}

async fn interrupt(rig: &Rig, body: &str) {
    let reminder = SystemReminder::new("", body);
    let mode = DeliveryMode::InterruptImmediate;
    let reminded = rig.session.remind(mode, reminder, actor()).await;
    reminded.expect("a reminder that is taken");
}

/// Waits until the turn waits at a question.
async fn wait_for_question(rig: &mut Rig) -> String {
    rig.collect_until(|event| matches!(event, AgentEvent::HitlRequested { .. }))
        .await;
    rig.session.open_hitl()[0].request_id.clone()
}

fn is_idle(event: &AgentEvent) -> bool {
    matches!(event, AgentEvent::Daemon(DaemonChange::Idle { .. }))
}

fn is_end(event: &AgentEvent) -> bool {
    matches!(event, AgentEvent::TurnEnded(_))
}

fn agent_text(events: &[AgentEvent]) -> String {
    let said = events.iter().filter_map(|event| match event {
        AgentEvent::AgentMessageChunk { content, .. } => Some(content.as_str()),
        _ => None,
    });
    said.collect()
}

fn wake_reasons(events: &[AgentEvent]) -> Vec<WakeReason> {
    let woken = events.iter().filter_map(|event| match event {
        AgentEvent::Daemon(DaemonChange::Woke { reason }) => Some(*reason),
        _ => None,
    });
    woken.collect()
}

fn stop_reason(events: &[AgentEvent]) -> Option<StopReason> {
    events.iter().find_map(|event| match event {
        AgentEvent::TurnEnded(ended) => match **ended {
            TurnEnded {
                outcome: TurnOutcome::Stopped { stop_reason },
            } => Some(stop_reason),
            _ => None,
        },
        _ => None,
    })
}

fn scenario(steps: &str) -> String {
    format!("name: t\nturns: [{{match: ^go, steps: {steps}}}, {{steps: [{{say: \"again\"}}]}}]\n")
}

#[tokio::test]
async fn message_ends_a_wait_and_the_next_step_reports_it() {
    let steps = "[{repeat: {times: 2, steps: [{idle: {}}, {tell_delivered: {}}]}}, {say: bye}]";
    let mut rig = Rig::new(&scenario(steps)).await;
    rig.prompt("go").await;
    rig.collect_until(is_idle).await;
    inject(&rig, DeliveryMode::FinishStep, "left").await;
    let first = rig.collect_until(is_idle).await;
    assert_eq!(agent_text(&first), "message: left\n\n");
    // A wait is an end of the agent's work, so a message for the end is delivered too.
    inject(&rig, DeliveryMode::AuditOnly, "right").await;
    let rest = rig.collect_until(is_end).await;
    assert_eq!(agent_text(&rest), "message: right\n\nbye");
    assert_eq!(wake_reasons(&rest), [WakeReason::Message]);
}

#[tokio::test(start_paused = true)]
async fn watched_change_or_timer_ends_a_wait() {
    let steps = "[{idle: {every_ms: 20, until_ms: 10}}, {idle: {every_ms: 10, until_ms: 20}}, {tell_delivered: {}}]";
    let mut rig = Rig::new(&scenario(steps)).await;
    rig.prompt("go").await;
    let played = rig.collect_until(is_end).await;
    assert_eq!(
        wake_reasons(&played),
        [WakeReason::Watch, WakeReason::Timer]
    );
    assert_eq!(agent_text(&played), "", "nothing was delivered");
}

#[tokio::test(start_paused = true)]
async fn watchdog_ends_a_turn_of_fruitless_waits() {
    let steps = "[{repeat: {times: 9, steps: [{idle: {every_ms: 10, watchdog: 2}}]}}, {say: no}]";
    let mut rig = Rig::new(&scenario(steps)).await;
    rig.prompt("go").await;
    let played = rig.collect_until(is_end).await;
    assert_eq!(
        wake_reasons(&played),
        [WakeReason::Timer, WakeReason::Timer]
    );
    assert!(played.iter().any(|event| matches!(
        event,
        AgentEvent::Daemon(DaemonChange::WatchdogTripped { attempts: 2, .. })
    )));
    assert_eq!(agent_text(&played), "");
    assert_eq!(stop_reason(&played), Some(StopReason::EndTurn));
}

#[tokio::test]
async fn a_cancel_ends_a_wait_and_the_turn() {
    let mut rig = Rig::new(&scenario("[{idle: {}}, {say: no}]")).await;
    let turn = rig.prompt("go").await;
    rig.collect_until(is_idle).await;
    rig.session.cancel(turn).await;
    let rest = rig.collect_until(is_end).await;
    assert_eq!(agent_text(&rest), "");
    assert_eq!(stop_reason(&rest), Some(StopReason::Cancelled));
}

/// A pending call, at a seam that may interrupt.
const DISPATCH: &str = "[
    {emit: {type: tool_call, tool_call_id: a, tool_name: look, kind: read, status: pending}},
    {question: {prompt: \"?\", on_none: [], on_answer: []}},
    {seam: pre_tool_dispatch},
    {skip_if_interrupted: [{say: \"dispatched. \"}, {emit: {type: tool_call_update, tool_call_id: a, tool_name: look, status: completed}}]},
    {tell_delivered: {}},
    {seam: turn_start},
    {skip_if_interrupted: [{say: on}]}]";

async fn dispatch(interrupts: bool) -> (String, Vec<AgentEvent>) {
    let mut rig = Rig::new(&scenario(DISPATCH)).await;
    rig.prompt("go").await;
    let id = wait_for_question(&mut rig).await;
    if interrupts {
        interrupt(&rig, "stop that").await;
    }
    rig.session.report_hitl_unavailable(&id, "nobody").await;
    let rest = rig.collect_until(is_end).await;
    let text = agent_text(&rest);
    (text.trim_start_matches('?').to_owned(), rest)
}

#[tokio::test]
async fn dispatch_is_played_unless_a_reminder_interrupts() {
    let (said, events) = dispatch(false).await;
    assert_eq!(said, "dispatched. on");
    let skipped =
        |event: &AgentEvent| matches!(event, AgentEvent::LoopCheckpoint(it) if it.dispatch_skipped);
    assert!(!events.iter().any(skipped));

    let (said, events) = dispatch(true).await;
    assert_eq!(said, "reminder: stop that\n\non");
    assert!(events.iter().any(skipped));
}

#[tokio::test]
async fn steer_is_delivered_at_its_seam_and_not_as_a_prompt() {
    let steps = "[{question: {prompt: \"?\", on_none: []}}, {seam: pre_tool_dispatch}, {tell_delivered: {}}, {say: on}, \
                 {seam: post_tool_dispatch}, {tell_delivered: {}}]";
    let mut rig = Rig::new(&scenario(steps)).await;
    rig.prompt("go").await;
    let id = wait_for_question(&mut rig).await;
    inject(&rig, DeliveryMode::FinishStep, "one").await;
    inject(&rig, DeliveryMode::FinishStep, "two").await;
    rig.session.report_hitl_unavailable(&id, "nobody").await;
    let rest = rig.collect_until(is_end).await;
    assert_eq!(agent_text(&rest), "?onmessage: one\n\nmessage: two\n\n");
}

#[tokio::test]
async fn own_reminder_is_delivered_at_the_next_seam() {
    let steps = "[{remind: {body: \"Be brief\", id: brevity, tags: [style], dedupe_key: k, ttl_turns: 3, \
                 preserve_on_compact: true, propagate: all, role_hint: developer, meta: {a: 1}}}, \
                 {remind: {body: \"Be kind\"}}, {seam: turn_start}, {tell_delivered: {}}, {seam: turn_start}, {tell_delivered: {}}]";
    let mut rig = Rig::new(&scenario(steps)).await;
    rig.prompt("go").await;
    let played = rig.collect_until(is_end).await;
    assert_eq!(
        agent_text(&played),
        "reminder: Be brief\n\nreminder: Be kind\n\n",
        "each once"
    );
    let injected = played.iter().filter_map(|event| match event {
        AgentEvent::ReminderLifecycle(change) => match &**change {
            ReminderChange::Injected { reminder, .. } => Some(reminder),
            _ => None,
        },
        _ => None,
    });
    let injected: Vec<_> = injected.collect();
    let brief = SystemReminder {
        tags: vec!["style".to_owned()],
        dedupe_key: Some("k".to_owned()),
        ttl_turns: Some(3),
        preserve_on_compact: true,
        propagate: ReminderPropagation::All,
        role_hint: RoleHint::Developer,
        source: ReminderSource::InPipeline,
        meta: serde_json::from_str(r#"{"a": 1}"#).expect("a map"),
        ..SystemReminder::new("brevity", "Be brief")
    };
    let kind = SystemReminder {
        source: ReminderSource::InPipeline,
        ..SystemReminder::new("reminder-1", "Be kind")
    };
    assert_eq!(injected, [&brief, &kind]);
}

#[tokio::test(start_paused = true)]
async fn steered_scenario_plays() {
    const FILE: &str = include_str!("../../../../../fixtures/scenarios/steered.yaml");
    let mut rig = Rig::new(FILE).await;
    rig.prompt("/remind").await;
    let played = rig.collect_until(is_end).await;
    assert_eq!(agent_text(&played), "reminder: Be brief\n\n");
    rig.prompt("/tools").await;
    assert_eq!(agent_text(&rig.collect_until(is_end).await), "Done.");
    rig.prompt("/tools").await;
    rig.collect_until(|event| matches!(event, AgentEvent::ToolCall(_)))
        .await;
    interrupt(&rig, "wait").await;
    inject(&rig, DeliveryMode::FinishStep, "and look left").await;
    let played = rig.collect_until(is_end).await;
    let told = "reminder: wait\n\nmessage: and look left\n\nDone.";
    assert_eq!(agent_text(&played), told);
    rig.prompt("/doze").await;
    let played = rig.collect_until(is_end).await;
    assert_eq!(wake_reasons(&played), [WakeReason::Timer; 5]);
    let turn = rig.prompt("/stay").await;
    rig.collect_until(is_idle).await;
    inject(&rig, DeliveryMode::FinishStep, "hello").await;
    assert_eq!(
        agent_text(&rig.collect_until(is_idle).await),
        "message: hello\n\n"
    );
    rig.session.cancel(turn).await;
    assert_eq!(
        stop_reason(&rig.collect_until(is_end).await),
        Some(StopReason::Cancelled)
    );
    rig.prompt("count").await;
    assert_eq!(
        agent_text(&rig.collect_until(is_end).await),
        "step ".repeat(10)
    );
}

#[test]
fn wrong_steering_step_is_rejected_with_its_position() {
    let table = [
        ("idle: 3", "t.yaml:3:20: idle must be a map, not 3"),
        (
            "idle: {every: 3}",
            "t.yaml:3:21: unknown field \"every\" in idle; its fields are every_ms, until_ms, watchdog",
        ),
        (
            "idle: {watchdog: 0}",
            "t.yaml:3:31: watchdog must be a whole number, 1 or more, not 0",
        ),
        (
            "tell_delivered: {to: ada}",
            "t.yaml:3:31: unknown field \"to\" in tell_delivered; it has none",
        ),
        (
            "skip_if_interrupted: {}",
            "t.yaml:3:35: steps must be a list, not a map",
        ),
        (
            "skip_if_interrupted: [{await_workers: [nobody]}]",
            "t.yaml:3:53: no worker step of this file starts \"nobody\"",
        ),
        ("remind: {}", "t.yaml:3:22: remind needs body"),
        (
            "remind: {body: a, ttl_turns: 0}",
            "t.yaml:3:43: ttl_turns must be a whole number, 1 or more, not 0",
        ),
        (
            "remind: {body: a, propagate: far}",
            "t.yaml:3:43: propagate: unknown variant `far`, expected one of `all`, `session`, `none`",
        ),
        (
            "remind: {body: a, source: hook}",
            "t.yaml:3:32: unknown field \"source\" in remind; its fields are body, id, tags, dedupe_key, ttl_turns, \
             preserve_on_compact, propagate, role_hint, meta",
        ),
    ];
    for (step, expected) in table {
        let file = format!("name: t\nturns:\n  - steps: [{{{step}}}]\n");
        let error = ScriptAgent::parse("t.yaml", &file).expect_err("a wrong step");
        assert_eq!(error.to_string(), expected, "{step}");
    }
}
