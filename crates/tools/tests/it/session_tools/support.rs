//! A session whose turn is a closure.

use std::{future::Future, sync::Arc};

use harn_model::{AgentEvent, ContentBlock, Decision, Seq, StopReason, TurnOutcome};
use harn_runtime::{AgentError, HostPort, NewSession, TurnContext};
use harn_testkit::{ScriptedAgent, TestHub};

/// Runs one turn with this host and returns its events. `allow` answers every question.
pub(crate) async fn run_turn<F, Fut>(
    host: Arc<dyn HostPort>,
    allow: bool,
    turn: F,
) -> Vec<AgentEvent>
where
    F: Fn(TurnContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<(), AgentError>> + Send + 'static,
{
    run_turn_under_rules("", host, allow, turn).await
}

/// Does the same under rules in TOML.
pub(crate) async fn run_turn_under_rules<F, Fut>(
    rules: &str,
    host: Arc<dyn HostPort>,
    allow: bool,
    turn: F,
) -> Vec<AgentEvent>
where
    F: Fn(TurnContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<(), AgentError>> + Send + 'static,
{
    let turn = Arc::new(turn);
    let agent = ScriptedAgent::new(move |cx| {
        let turn = turn.clone();
        async move { turn(cx).await.map(|()| StopReason::EndTurn) }
    });
    let test = TestHub::builder(agent).rules(rules).build();
    let new = NewSession {
        cwd: test.workspace(),
        additional_directories: Vec::new(),
    };
    let session = test.hub().create(new).await.unwrap();
    session.set_host(host);
    let mut events = session.subscribe(Seq::ZERO);
    let prompt = vec![ContentBlock::text("go")];
    session.prompt(prompt, |_| ()).await.unwrap();
    let mut seen = Vec::new();
    loop {
        let Ok(batch) = events.next().await else {
            panic!("the session ended");
        };
        for envelope in batch.events() {
            let event = envelope.event.clone();
            match &event {
                AgentEvent::PermissionAsked(ask) => {
                    session.answer(ask.ask_id.clone(), decision(allow)).await;
                }
                AgentEvent::TurnEnded(end) => {
                    if let TurnOutcome::Failed { message } = &end.outcome {
                        panic!("the turn failed: {message}");
                    }
                    return seen;
                }
                _ => {}
            }
            seen.push(event);
        }
    }
}

fn decision(allow: bool) -> Decision {
    if allow {
        Decision::Allowed {
            option_id: "allow_once".to_owned(),
            args: None,
        }
    } else {
        Decision::Rejected {
            option_id: None,
            reason: None,
        }
    }
}
