//! The lifetime of a reminder: keys, turns, compactions and restarts; and which ids are taken.

use expect_test::expect;
use harn_model::{
    AgentEvent, ControlResult, ReminderSource, Seam, StopReason, TranscriptCompacted,
};
use harn_runtime::AgentError;

use super::*;

fn preserved_reminder(id: &str) -> SystemReminder {
    SystemReminder {
        preserve_on_compact: true,
        ..reminder(id)
    }
}

fn compaction() -> AgentEvent {
    AgentEvent::TranscriptCompacted(Box::new(TranscriptCompacted {
        mode: "auto".to_owned(),
        reason: "full".to_owned(),
        strategy: "fold".to_owned(),
        archived_messages: 3,
        estimated_tokens_before: 9,
        estimated_tokens_after: 2,
        snapshot_asset_id: None,
        instruction_mode: None,
        instruction_source: None,
        compaction_policy: None,
    }))
}

#[tokio::test]
async fn last_reminder_with_a_key_is_in_force_and_rendered() {
    let mut stage = Stage::new().await;
    let (turn, leg) = stage.start_turn().await;
    // It replaces a pending reminder in any mode; an audit-only reminder replaces none.
    stage.remind(STEER, reminder_with_key("one", "k")).await;
    stage
        .remind(STEER, reminder_with_key("other", "other"))
        .await;
    stage.remind(INTERRUPT, reminder_with_key("two", "k")).await;
    stage.remind(QUEUE, reminder_with_key("note", "k")).await;
    assert_eq!(leg.pass_seam(Seam::TurnStart).await, ["other", "two"]);
    // It replaces a rendered reminder.
    stage.remind(STEER, reminder_with_key("three", "k")).await;
    assert_eq!(leg.pass_seam(Seam::TurnStart).await, ["three"]);
    assert_eq!(leg.reminders_in_force().await, ["other", "three"]);
    // It replaces a reminder that the agent missed.
    stage.remind(STEER, reminder_with_key("four", "k")).await;
    leg.finish();
    whole_turn(&stage.session, &turn).await;
    assert_eq!(stage.reminders_in_force(), ["other", "four"]);
    let (_, leg) = stage.start_turn().await;
    stage.remind(STEER, reminder_with_key("five", "k")).await;
    assert_eq!(leg.pass_seam(Seam::TurnStart).await, ["five"]);
    // The agent's own reminder replaces one of a host.
    leg.cx.remind(reminder_with_key("six", "k")).await.unwrap();
    assert_eq!(leg.reminders_in_force().await, ["other", "six"]);
    let events = written_events(&stage.session, Seq::ZERO).await;
    assert_eq!(
        emitted_ids(&events),
        ["other", "two", "three", "five", "six"]
    );
    let told = format_steering_events(&events);
    for step in [
        "deduped one by two\n",
        "deduped two by three\n",
        "deduped three by four\n",
        "deduped four by five\n",
        "deduped five by six\n",
    ] {
        assert_eq!(told.matches(step).count(), 1, "{step}{told}");
    }
}

#[tokio::test]
async fn revoked_pending_reminder_is_never_rendered() {
    let mut stage = Stage::new().await;
    let (_, leg) = stage.start_turn().await;
    stage.remind(STEER, reminder("one")).await;
    stage.remind(STEER, reminder("two")).await;
    let revoke = stage.session.revoke_reminder("one", host_owner());
    assert_eq!(revoke.await.unwrap().result, ControlResult::Revoked);
    let again = stage.session.revoke_reminder("one", host_owner());
    assert_eq!(again.await.unwrap().result, ControlResult::AlreadyRevoked);
    assert_eq!(leg.pass_seam(Seam::TurnStart).await, ["two"]);
    let late = stage.session.revoke_reminder("two", host_owner()).await;
    assert_eq!(refusal_result(late), ControlResult::AlreadyDelivered);
    let unknown = stage.session.revoke_reminder("three", host_owner()).await;
    assert_eq!(refusal_result(unknown), ControlResult::UnknownReminderId);
    assert_eq!(stage.reminders_in_force(), ["two"]);
    assert_eq!(
        emitted_ids(&written_events(&stage.session, Seq::ZERO).await),
        ["two"]
    );
}

#[tokio::test]
async fn reminder_id_is_taken_while_pending_or_in_force() {
    let mut stage = Stage::new().await;
    let (turn, leg) = stage.start_turn().await;
    stage.remind(STEER, reminder_with_ttl("one", 1)).await;
    let same = || {
        stage
            .session
            .remind(STEER, reminder_with_ttl("one", 1), host_owner())
    };
    assert_eq!(refusal_result(same().await), ControlResult::IdInUse);
    assert_eq!(leg.pass_seam(Seam::TurnStart).await, ["one"]);
    assert_eq!(refusal_result(same().await), ControlResult::IdInUse);
    leg.finish();
    whole_turn(&stage.session, &turn).await;
    // Its turns are over; another reminder may take its id, be delivered and be revoked.
    assert_eq!(same().await.unwrap().0, "one");
    let revoke = || stage.session.revoke_reminder("one", host_owner());
    assert_eq!(revoke().await.unwrap().result, ControlResult::Revoked);
    assert_eq!(same().await.unwrap().0, "one");
    assert_eq!(revoke().await.unwrap().result, ControlResult::Revoked);
    assert_eq!(same().await.unwrap().0, "one");
    let (_, leg) = stage.start_turn().await;
    assert_eq!(leg.pass_seam(Seam::TurnStart).await, ["one"]);
    let events = written_events(&stage.session, Seq::ZERO).await;
    assert_eq!(emitted_ids(&events), ["one", "one"]);
}

#[tokio::test]
async fn delivered_reminder_with_a_reused_id_cannot_be_revoked() {
    let mut stage = Stage::new().await;
    let (_, leg) = stage.start_turn().await;
    stage.remind(STEER, reminder("one")).await;
    let revoke = || stage.session.revoke_reminder("one", host_owner());
    assert_eq!(revoke().await.unwrap().result, ControlResult::Revoked);
    stage.remind(STEER, reminder("one")).await;
    assert_eq!(leg.pass_seam(Seam::TurnStart).await, ["one"]);
    assert_eq!(
        refusal_result(revoke().await),
        ControlResult::AlreadyDelivered
    );
}

#[tokio::test]
async fn reminder_without_an_id_gets_one() {
    let stage = Stage::new().await;
    let nameless = || SystemReminder::new("", "a body");
    let one = stage.remind(STEER, nameless()).await;
    let two = stage.remind(STEER, nameless()).await;
    assert_eq!((&*one, &*two), ("reminder-1", "reminder-2"));
}

#[tokio::test]
async fn reminder_of_the_agent_is_in_force_at_once_with_its_own_id() {
    let mut stage = Stage::new().await;
    let (_, leg) = stage.start_turn().await;
    stage.remind(STEER, reminder("waiting")).await;
    leg.cx.remind(reminder("mine")).await.unwrap();
    leg.cx
        .remind(SystemReminder::new("", "nameless"))
        .await
        .unwrap();
    // `mine` is in force and `waiting` is pending: both keep their ids.
    leg.cx
        .remind(SystemReminder::new("mine", "more"))
        .await
        .unwrap();
    leg.cx
        .remind(SystemReminder::new("waiting", "yet more"))
        .await
        .unwrap();
    let mine = leg.cx.reminders().await.unwrap();
    let bodies: Vec<_> = mine.iter().map(|it| it.body.as_str()).collect();
    assert_eq!(bodies, ["mine", "nameless", "more", "yet more"]);
    let ids: Vec<_> = mine.iter().map(|it| it.id.as_str()).collect();
    assert_eq!(ids, ["mine", "reminder-1", "reminder-2", "reminder-3"]);
    assert!(
        mine.iter()
            .all(|it| it.source == ReminderSource::InPipeline)
    );
    assert_eq!(leg.pass_seam(Seam::TurnStart).await, ["waiting"]);
    let events = written_events(&stage.session, Seq::ZERO).await;
    let all = [ids, vec!["waiting"]].concat();
    assert_eq!(emitted_ids(&events), all);
}

#[tokio::test]
async fn reminder_lasts_for_its_ttl_turns() {
    let mut stage = Stage::new().await;
    let (turn, leg) = stage.start_turn().await;
    for (id, turns) in [("one", Some(1)), ("two", Some(2)), ("ever", None)] {
        let reminder = SystemReminder {
            ttl_turns: turns,
            ..reminder(id)
        };
        stage.remind(STEER, reminder).await;
    }
    assert_eq!(leg.pass_seam(Seam::TurnStart).await, ["one", "two", "ever"]);
    let before = stage.session.last_seq();
    leg.finish();
    whole_turn(&stage.session, &turn).await;
    assert_eq!(stage.reminders_in_force(), ["two", "ever"]);
    let (turn, leg) = stage.start_turn().await;
    let left = leg.cx.reminders().await.unwrap();
    let left: Vec<_> = left.into_iter().map(|it| (it.id, it.ttl_turns)).collect();
    assert_eq!(
        left,
        [("two".to_owned(), Some(1)), ("ever".to_owned(), None)]
    );
    leg.finish();
    whole_turn(&stage.session, &turn).await;
    assert_eq!(stage.reminders_in_force(), ["ever"]);
    let (turn, leg) = stage.start_turn().await;
    leg.finish();
    whole_turn(&stage.session, &turn).await;
    expect![[r#"
        aged
        expired one ttl
        ended stopped end_turn
        turn: go
        aged
        expired two ttl
        ended stopped end_turn
        turn: go
        ended stopped end_turn
    "#]]
    .assert_eq(&stage.steering_log(before).await);
}

#[tokio::test]
async fn missed_reminder_does_not_age() {
    let mut stage = Stage::new().await;
    let (turn, leg) = stage.start_turn().await;
    stage.remind(STEER, reminder_with_ttl("one", 1)).await;
    leg.finish();
    whole_turn(&stage.session, &turn).await;
    assert_eq!(stage.reminders_in_force(), ["one"]);
    let (turn, leg) = stage.start_turn().await;
    assert_eq!(leg.pass_seam(Seam::TurnStart).await, ["one"]);
    leg.finish();
    whole_turn(&stage.session, &turn).await;
    assert_eq!(stage.reminders_in_force(), [""; 0]);
}

#[tokio::test]
async fn each_agent_call_ages_a_reminder() {
    let mut stage = Stage::new().await;
    let (turn, leg) = stage.start_turn().await;
    stage.remind(STEER, reminder_with_ttl("two", 2)).await;
    leg.pass_seam(Seam::TurnStart).await;
    stage.inject(QUEUE, "more").await;
    leg.finish();
    let leg = stage.next_call().await;
    assert_eq!(leg.prompt(), "more");
    assert_eq!(leg.reminders_in_force().await, ["two"]);
    stage.inject(QUEUE, "yet more").await;
    leg.finish();
    let leg = stage.next_call().await;
    assert_eq!(leg.reminders_in_force().await, [""; 0]);
    leg.finish();
    stage.assert_stopped(&turn, StopReason::EndTurn).await;
}

#[tokio::test]
async fn cancelled_or_failed_turn_ages_a_reminder() {
    for cancelled in [true, false] {
        let mut stage = Stage::new().await;
        let (turn, leg) = stage.start_turn().await;
        stage.remind(STEER, reminder_with_ttl("one", 1)).await;
        stage.remind(STEER, reminder_with_ttl("two", 2)).await;
        leg.pass_seam(Seam::TurnStart).await;
        stage.remind(STEER, reminder_with_ttl("waits", 1)).await;
        stage.remind(QUEUE, reminder("note")).await;
        if cancelled {
            stage.session.cancel(turn.clone()).await;
        } else {
            leg.finish_with(Err(AgentError::Failed("no".to_owned())));
        }
        whole_turn(&stage.session, &turn).await;
        assert_eq!(stage.reminders_in_force(), ["two"]);
        // Pending reminders belong to the session and stay pending.
        assert_eq!(stage.pending_texts(), ["waits", "note"]);
        let (turn, leg) = stage.start_turn().await;
        assert_eq!(leg.pass_seam(Seam::TurnStart).await, ["waits"]);
        leg.finish();
        whole_turn(&stage.session, &turn).await;
        assert!(stage.session.view().reminders.is_empty());
        assert!(stage.session.view().pending.is_empty());
    }
}

#[tokio::test]
async fn interrupted_turn_ages_reminders_and_keeps_everything_else() {
    let mut stage = Stage::new().await;
    let (_, leg) = stage.start_turn().await;
    stage.remind(STEER, reminder_with_ttl("one", 1)).await;
    stage.remind(STEER, reminder_with_ttl("two", 2)).await;
    stage.remind(STEER, reminder_with_key("ever", "k")).await;
    assert_eq!(leg.pass_seam(Seam::TurnStart).await, ["one", "two", "ever"]);
    stage.remind(STEER, reminder_with_key("waits", "k")).await;
    stage.remind(QUEUE, reminder("note")).await;
    stage.remind(STEER, reminder("gone")).await;
    let revoke = stage.session.revoke_reminder("gone", host_owner());
    revoke.await.unwrap();

    let mut revived = Revived::from_stage(&stage).await;
    let session = revived.session.clone();
    assert_eq!(reminders_in_force(&session), ["two", "ever"]);
    assert_eq!(session.view().pending.len(), 2);
    // The reopened session knows the earlier outcomes and ids.
    let again = session.revoke_reminder("gone", host_owner()).await;
    assert_eq!(again.unwrap().result, ControlResult::AlreadyRevoked);
    let late = session.revoke_reminder("one", host_owner()).await;
    assert_eq!(refusal_result(late), ControlResult::AlreadyDelivered);
    let taken = session.remind(STEER, reminder("ever"), host_owner()).await;
    assert_eq!(refusal_result(taken), ControlResult::IdInUse);
    let (turn, leg) = revived.start_turn().await;
    assert_eq!(leg.pass_seam(Seam::TurnStart).await, ["waits"]);
    assert_eq!(leg.reminders_in_force().await, ["two", "waits"]);
    leg.finish();
    let events = whole_turn(&session, &turn).await;
    let told = format_steering_events(&events);
    assert!(told.contains("injected note audit_only\n"), "{told}");
    assert_eq!(emitted_ids(&events), ["one", "two", "ever", "waits"]);
    // A second restart changes nothing.
    let view = session.view();
    assert_eq!(revived.restart().await.session.view(), view);
}

#[tokio::test]
async fn compaction_ages_preserved_reminders_and_expires_the_rest() {
    let mut stage = Stage::new().await;
    let (_, leg) = stage.start_turn().await;
    stage.remind(STEER, reminder("gone")).await;
    stage.remind(STEER, preserved_reminder("kept")).await;
    for (id, turns) in [("one", 1), ("two", 2)] {
        let reminder = SystemReminder {
            ttl_turns: Some(turns),
            ..preserved_reminder(id)
        };
        stage.remind(STEER, reminder).await;
    }
    leg.pass_seam(Seam::TurnStart).await;
    stage.remind(STEER, reminder("waits")).await;
    let before = stage.session.last_seq();
    leg.cx.emit(compaction()).await.unwrap();
    assert_eq!(leg.reminders_in_force().await, ["kept", "two"]);
    expect![[r#"
        aged
        expired one ttl
        expired gone compaction
        compacted
    "#]]
    .assert_eq(&stage.steering_log(before).await);
    // A pending reminder is in no transcript, so the compaction does not end it.
    assert_eq!(leg.pass_seam(Seam::PostToolDispatch).await, ["waits"]);
}

#[tokio::test]
async fn reminders_and_compactions_in_one_batch_keep_their_order() {
    let mut stage = Stage::new().await;
    let (_, leg) = stage.start_turn().await;
    // Sent without a wait in between: the session processes all of it together.
    let before = stage.session.last_seq();
    leg.cx.remind(reminder("before")).await.unwrap();
    leg.cx.emit(compaction()).await.unwrap();
    leg.cx.remind(preserved_reminder("between")).await.unwrap();
    leg.cx.emit(compaction()).await.unwrap();
    leg.cx.remind(reminder("after")).await.unwrap();
    assert_eq!(leg.reminders_in_force().await, ["between", "after"]);
    expect![[r#"
        injected before finish_step
        expired before compaction
        compacted
        injected between finish_step
        compacted
        injected after finish_step
        emitted between
        emitted after
    "#]]
    .assert_eq(&stage.steering_log(before).await);
}

#[tokio::test]
async fn reminders_in_force_count_towards_the_limit() {
    let mut stage = Stage::with(|config| config.max_pending = 3).await;
    let (_, leg) = stage.start_turn().await;
    for id in ["a", "b"] {
        stage.remind(STEER, reminder(id)).await;
    }
    leg.pass_seam(Seam::TurnStart).await;
    leg.cx.remind(reminder("own")).await.unwrap();
    let too_many = stage
        .session
        .remind(STEER, reminder("c"), host_owner())
        .await;
    assert_eq!(refusal_result(too_many), ControlResult::QueueFull);
    let full = leg.cx.remind(reminder("c")).await;
    let why = "too many reminders are active or waiting already; wait until some expire";
    assert_eq!(full, Err(AgentError::Failed(why.to_owned())));
    // Messages have their own limit; the agent continues.
    stage.inject(STEER, "hello").await;
    assert_eq!(leg.reminders_in_force().await, ["a", "b", "own"]);
    leg.cx.emit(compaction()).await.unwrap();
    leg.cx.remind(reminder("c")).await.unwrap();
    assert_eq!(leg.reminders_in_force().await, ["c"]);
}

#[tokio::test]
async fn bytes_of_reminders_in_force_count_towards_the_limit() {
    let mut stage = Stage::with(|config| config.max_pending_bytes = 10_000).await;
    let (_, leg) = stage.start_turn().await;
    let long = |id: &str| SystemReminder::new(id, "x".repeat(6_000));
    stage.remind(STEER, long("a")).await;
    leg.pass_seam(Seam::TurnStart).await;
    let too_much = stage.session.remind(STEER, long("b"), host_owner()).await;
    assert_eq!(refusal_result(too_much), ControlResult::QueueFull);
    assert!(leg.cx.remind(long("b")).await.is_err());
    leg.cx.remind(reminder("short")).await.unwrap();
    assert_eq!(leg.reminders_in_force().await, ["a", "short"]);
}

#[tokio::test]
async fn one_seam_delivers_ten_thousand_reminders() {
    let mut stage = Stage::new().await;
    let (turn, leg) = stage.start_turn().await;
    let ids: Vec<_> = (0..10_000).map(|i| format!("r-{i}")).collect();
    for (i, id) in ids.iter().enumerate() {
        // Each tenth reminder replaces the tenth before it.
        let key = (i % 10 == 0).then(|| "k".to_owned());
        let reminder = SystemReminder {
            dedupe_key: key,
            ..reminder(id)
        };
        stage.remind(STEER, reminder).await;
    }
    let mut expected = ids.iter().enumerate();
    let expected = expected
        .by_ref()
        .filter(|(i, _)| i % 10 != 0 || *i == 9_990);
    let expected: Vec<_> = expected.map(|(_, id)| id.clone()).collect();
    let given = leg.cx.seam(Seam::TurnStart).await.unwrap();
    let given: Vec<_> = given.reminders().map(|it| it.id.clone()).collect();
    assert_eq!(given, expected);
    assert_eq!(stage.reminders_in_force(), expected);
    // Each is delivered once.
    for _ in 0..100 {
        assert!(leg.cx.seam(Seam::TurnStart).await.unwrap().is_empty());
    }
    leg.finish();
    let events = whole_turn(&stage.session, &turn).await;
    assert_eq!(emitted_ids(&events), expected);
}

#[tokio::test]
async fn messages_and_reminders_keep_their_order_at_the_turn_end() {
    let mut stage = Stage::new().await;
    let (turn, leg) = stage.start_turn().await;
    let before = stage.session.last_seq();
    stage.remind(STEER, reminder("first")).await;
    stage.inject(STEER, "hello").await;
    stage.remind(STEER, reminder("second")).await;
    leg.finish();
    let leg = stage.next_call().await;
    assert_eq!(leg.prompt(), "hello");
    leg.finish();
    whole_turn(&stage.session, &turn).await;
    expect![[r#"
        queued first
        queued "hello"
        queued second
        injected first finish_step
        user: hello
        injected second finish_step
        turn_end 0: 3
        ended stopped end_turn
    "#]]
    .assert_eq(&stage.steering_log(before).await);
}
