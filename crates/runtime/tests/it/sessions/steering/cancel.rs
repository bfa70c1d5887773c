//! A cancel reaches its own turn, in any call of the agent, and loses no pending message.

use harn_model::{AgentEvent, Decision, Seam, StopReason, ToolKind};
use harn_runtime::AgentError;
use tokio::time::Instant;

use super::*;

#[tokio::test]
async fn pending_messages_survive_a_cancel_and_reach_the_next_prompt() {
    let mut stage = Stage::new().await;
    let (turn, _leg) = stage.start_turn().await;
    let steer = stage.inject(STEER, "s").await;
    let queue = stage.inject(QUEUE, "q").await;
    let cancelled = stage
        .session
        .cancel_for(Some(turn.clone()), host_owner())
        .await;
    assert_eq!(cancelled.unwrap().result, ControlResult::Cancelled);
    stage.assert_stopped(&turn, StopReason::Cancelled).await;
    assert_eq!(stage.pending_texts(), ["s", "q"]);
    // No turn starts by itself, and pending messages can still be changed.
    assert!(!stage.is_called());
    let said = Ok(vec![ContentBlock::text("s, rather")]);
    let replaced = stage
        .session
        .replace_inject(steer.clone(), said, host_owner());
    replaced.await.unwrap();

    let (turn, leg) = stage.start_turn().await;
    assert_eq!(leg.pass_seam(Seam::TurnStart).await, ["s, rather"]);
    leg.finish();
    let leg = stage.next_call().await;
    assert_eq!(leg.prompt(), "q");
    leg.finish();
    stage.assert_stopped(&turn, StopReason::EndTurn).await;
    let delivered = deliveries(&stage.session).await;
    let expected = [(steer, "s, rather".to_owned()), (queue, "q".to_owned())];
    assert_eq!(delivered, expected);
}

#[tokio::test]
async fn cancel_reaches_the_second_call_of_its_turn() {
    let mut stage = Stage::new().await;
    let (turn, leg) = stage.start_turn().await;
    stage.inject(QUEUE, "q1").await;
    stage.inject(QUEUE, "q2").await;
    leg.finish();
    let leg = stage.next_call().await;
    let target = stage.session.cancel_target();
    assert_eq!(target, Some(turn.clone()));
    stage
        .session
        .cancel_for(target, host_owner())
        .await
        .unwrap();
    leg.cx.cancelled().await;
    stage.assert_stopped(&turn, StopReason::Cancelled).await;
    assert_eq!(stage.pending_texts(), ["q2"]);
    let delivered = deliveries(&stage.session).await;
    assert_eq!(delivered.len(), 1, "{delivered:?}");
}

#[tokio::test]
async fn late_cancel_has_no_effect() {
    let mut stage = Stage::new().await;
    let (first, leg) = stage.start_turn().await;
    let late = stage.session.cancel_target();
    leg.finish();
    stage.assert_stopped(&first, StopReason::EndTurn).await;
    let (second, leg) = stage.start_turn().await;
    let refusal = stage.session.cancel_for(late, host_owner()).await;
    assert_eq!(refusal_result(refusal), ControlResult::NoActivePrompt);
    assert!(!leg.cx.is_cancelled());
    leg.finish();
    stage.assert_stopped(&second, StopReason::EndTurn).await;
}

#[tokio::test]
async fn cancel_of_a_waiting_prompt_affects_only_that_prompt() {
    let mut stage = Stage::new().await;
    let (first, leg) = stage.start_turn().await;
    let second = prompt(&stage.session, "second").await;
    let third = prompt(&stage.session, "third").await;
    let cancel = async || {
        stage
            .session
            .cancel_for(Some(second.clone()), host_owner())
            .await
    };
    assert_eq!(cancel().await.unwrap().result, ControlResult::Cancelled);
    // At once, while the turn before it continues, which may take any time.
    let mut from = stage.session.subscribe(Seq::ZERO);
    let events = collect_until(&mut from, is_withdrawal_of(&second)).await;
    assert!(
        !events.iter().any(is_end_of(&second)),
        "{}",
        format_events(&events)
    );
    assert_eq!(
        refusal_result(cancel().await),
        ControlResult::NoActivePrompt
    );
    assert!(!leg.cx.is_cancelled());
    stage.inject(QUEUE, "q").await;
    leg.finish();
    // The pending message belongs to the running turn, not to the cancelled prompt.
    let leg = stage.next_call().await;
    assert_eq!((leg.prompt().as_str(), leg.cx.turn_id()), ("q", &first));
    leg.finish();
    let leg = stage.next_call().await;
    assert_eq!(leg.prompt(), "third");
    leg.finish();
    stage.assert_stopped(&third, StopReason::EndTurn).await;
    stage.assert_stopped(&first, StopReason::EndTurn).await;
}

#[tokio::test]
async fn second_cancel_has_no_effect() {
    let (agent, mut legs) = stubborn_agent();
    let stage = Stage::with(|config| config.agent = agent).await;
    let turn = prompt(&stage.session, "go").await;
    let cx = legs.recv().await.unwrap();
    let cancel = async || {
        let target = stage.session.cancel_target();
        stage
            .session
            .cancel_for(target, host_owner())
            .await
            .unwrap()
            .result
    };
    assert_eq!(cancel().await, ControlResult::Cancelled);
    assert_eq!(cancel().await, ControlResult::AlreadyCancelled);
    assert_eq!(cancel().await, ControlResult::AlreadyCancelled);
    assert!(cx.is_cancelled());
    assert_eq!(stage.session.cancel_target(), Some(turn));
}

/// Returns an agent that passes its contexts to the test and never returns.
pub fn stubborn_agent() -> (Arc<dyn Agent>, mpsc::Receiver<TurnContext>) {
    let (calls, contexts) = mpsc::channel(4);
    let stubborn = agent(move |cx: TurnContext| {
        let calls = calls.clone();
        async move {
            // The test may have dropped the receiver.
            let _ = calls.send(cx).await;
            std::future::pending().await
        }
    });
    (stubborn, contexts)
}

#[tokio::test(start_paused = true)]
async fn agent_that_ignores_a_cancel_is_given_up_and_the_next_prompt_runs() {
    let (agent, mut legs) = stubborn_agent();
    let stage = Stage::with(|config| config.agent = agent).await;
    let turn = prompt(&stage.session, "go").await;
    let cx = legs.recv().await.unwrap();
    let id = stage.inject(STEER, "s").await;
    let call = cx.tool("t").kind(ToolKind::Search).start().await.unwrap();
    let begun = Instant::now();
    let target = stage.session.cancel_target();
    stage
        .session
        .cancel_for(target, host_owner())
        .await
        .unwrap();
    assert!(inject(&stage.session, QUEUE, "late").await.is_ok());
    stage.assert_stopped(&turn, StopReason::Cancelled).await;
    let taken = begun.elapsed();
    // The deadline of the agent, plus the time for its workers to stop.
    assert!(taken >= Duration::from_secs(5), "{taken:?}");
    assert!(taken < Duration::from_secs(7), "{taken:?}");
    assert!(call.complete(()).await.is_err());
    assert_eq!(stage.pending_texts(), ["s", "late"]);
    prompt(&stage.session, "next").await;
    let cx = legs.recv().await.unwrap();
    assert_eq!(cx.prompt_text(), "next");
    let came = cx.seam(Seam::TurnStart).await.unwrap();
    let content = vec![ContentBlock::text("s")];
    assert_eq!(came[..], [Steering::Message { id, content }]);
}

#[tokio::test]
async fn cancel_withdraws_the_questions_of_a_later_call() {
    let mut stage = Stage::new().await;
    let (turn, leg) = stage.start_turn().await;
    stage.inject(QUEUE, "q").await;
    leg.finish();
    let leg = stage.next_call().await;
    let (asking, asked) = (leg.cx.clone(), leg.cx.clone());
    let ask = tokio::spawn(async move {
        let edit = asking.tool("write_file").kind(ToolKind::Edit);
        edit.ask().await.map(|_| ())
    });
    let question = tokio::spawn(async move { asked.question("how?").ask().await.map(|_| ()) });
    let mut from = stage.session.subscribe(Seq::ZERO);
    collect_until(&mut from, |_| {
        let open = stage.session.view().open_turn.unwrap();
        open.asks.len() == 1 && open.questions.len() == 1
    })
    .await;
    let target = stage.session.cancel_target();
    stage
        .session
        .cancel_for(target, host_owner())
        .await
        .unwrap();
    assert_eq!(ask.await.unwrap(), Err(AgentError::Cancelled));
    assert_eq!(question.await.unwrap(), Err(AgentError::Cancelled));
    let events = whole_turn(&stage.session, &turn).await;
    let at = |wanted: fn(&AgentEvent) -> bool| events.iter().position(|e| wanted(&e.event));
    let resolved = at(
        |e| matches!(e, AgentEvent::PermissionResolved(it) if it.decision == Decision::Cancelled),
    );
    let answered = at(|e| matches!(e, AgentEvent::HitlResolved { .. }));
    let outcome = events.iter().position(|e| {
        matches!(&e.event, AgentEvent::ControlOutcome(it) if it.result == ControlResult::Cancelled)
    });
    assert!(resolved.unwrap() < outcome.unwrap());
    assert!(answered.unwrap() < outcome.unwrap());
}

#[tokio::test(start_paused = true)]
async fn cancel_after_the_watchdog_is_accepted_once() {
    let (agent, mut legs) = stubborn_agent();
    let stage = Stage::with(|config| {
        config.agent = agent;
        config.daemon_watchdog = 1;
    })
    .await;
    let turn = prompt(&stage.session, "go").await;
    let cx = legs.recv().await.unwrap();
    // The agent waits again after a wait without activity, so the watchdog stops it.
    let tick = Duration::from_millis(1);
    cx.idle().wake_after(tick).await.unwrap();
    assert!(cx.idle().wake_after(tick).await.is_err());
    let cancel = async || {
        let target = stage.session.cancel_target();
        stage
            .session
            .cancel_for(target, host_owner())
            .await
            .unwrap()
            .result
    };
    assert_eq!(cancel().await, ControlResult::Cancelled);
    assert_eq!(cancel().await, ControlResult::AlreadyCancelled);
    stage.assert_stopped(&turn, StopReason::Cancelled).await;
}
