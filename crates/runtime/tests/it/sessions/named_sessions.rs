//! Sessions with a chosen id, titles, prompts with a limit on the queue before them, and hubs that ignore the
//! grants in their journals.

use std::sync::Arc;

use harn_model::{
    AgentEvent, ContentBlock, Decision, Envelope, MessageId, Principal, ResourceLink, Seq,
    SessionId, StopReason,
};
use harn_runtime::{
    AUTO_MODE, Agent, AgentError, Controller, PromptError, PromptSubmission, READ_ONLY_MODE,
    SessionError, TurnContext,
};
use tokio::sync::Notify;

use crate::support::*;

fn silent_agent() -> Arc<dyn Agent> {
    agent(async |_| Ok(StopReason::EndTurn))
}

#[tokio::test]
async fn session_with_a_chosen_id_is_created_once_and_then_opened() {
    let world = World::new();
    let hub = world.hub(silent_agent());
    let id = SessionId::from("mine-1");
    // Both calls run at once: the second returns the session of the first.
    let (one, two) = tokio::join!(
        hub.open_or_create(&id, world.new_session()),
        hub.open_or_create(&id, world.new_session()),
    );
    assert!(one.unwrap().is_same(&two.unwrap()));
    hub.shutdown().await;
    let hub = world.hub(silent_agent());
    let again = hub.open_or_create(&id, world.new_session()).await.unwrap();
    assert_eq!(again.id(), &id);
    hub.shutdown().await;
}

#[tokio::test]
async fn chosen_id_of_another_principal_is_not_found() {
    let world = World::new();
    let hub = world.hub(silent_agent());
    let id = SessionId::from("mine-1");
    let mine = hub.open_or_create(&id, world.new_session()).await.unwrap();
    let other = hub.for_principal(Principal::new("somebody"));
    let theirs = other.open_or_create(&id, world.new_session()).await;
    assert!(matches!(theirs, Err(SessionError::NotFound(_))));
    assert!(!mine.id().as_str().is_empty());
}

#[tokio::test]
async fn rejected_open_does_not_affect_a_concurrent_open() {
    let world = World::new();
    let hub = world.hub(silent_agent());
    let id = world.session(&hub).await.id().clone();
    hub.close(&id).await;
    let elsewhere = world.state().join("threads");
    let (refused, opened) = tokio::join!(hub.open(&id, Some(&elsewhere)), hub.open(&id, None));
    assert!(matches!(refused, Err(SessionError::WrongCwd { .. })));
    let again = hub.open(&id, None).await.unwrap();
    assert!(again.is_same(&opened.unwrap()));
}

#[tokio::test]
async fn explicit_title_is_kept() {
    let world = World::new();
    let hub = world.hub(silent_agent());
    let session = world.session(&hub).await;
    session.set_title("Spring cleaning").await.unwrap();
    let turn = prompt(&session, "something else").await;
    whole_turn(&session, &turn).await;
    assert_eq!(session.title().as_deref(), Some("Spring cleaning"));
    let listed = hub.list(Default::default(), None).await.unwrap();
    assert_eq!(listed.sessions[0].summary.meta.title, "Spring cleaning");
}

#[tokio::test]
async fn open_waits_for_a_change_of_the_closed_session() {
    let world = World::new();
    let hub = world.hub(silent_agent());
    let id = world.session(&hub).await.id().clone();
    hub.close(&id).await;
    let (titled, opened, listed) = tokio::join!(
        hub.set_title(&id, "Spring cleaning"),
        hub.open(&id, None),
        hub.unarchive(&id)
    );
    titled.unwrap();
    listed.unwrap();
    let title = opened.unwrap().title();
    assert_eq!(title.as_deref(), Some("Spring cleaning"));
    // Other principals do not learn that the session exists.
    let bob = hub.for_principal(Principal::new("bob"));
    for refused in [
        bob.set_title(&id, "Mine").await,
        bob.archive(&id).await,
        bob.unarchive(&id).await,
    ] {
        let error = refused.unwrap_err();
        assert!(matches!(error, SessionError::NotFound(_)), "{error}");
    }
    assert!(hub.live_session(&id).is_some());
    hub.archive(&id).await.unwrap();
    assert!(hub.live_session(&id).is_none());
    let listed = hub.list(Default::default(), None).await.unwrap();
    assert_eq!(listed.sessions, []);
}

#[tokio::test]
async fn title_is_the_first_text_of_a_prompt() {
    let link = || {
        ContentBlock::ResourceLink(ResourceLink {
            uri: "file:///work/src/main.rs".to_owned(),
            name: "main.rs".to_owned(),
            mime_type: None,
            title: None,
            description: None,
            size: None,
        })
    };
    let text = |text: &str| ContentBlock::text(text);
    let table = [
        (vec![link(), text(" \n"), text("\nWhy?\nAnd how?")], "Why?"),
        (vec![text("Why?"), link()], "Why?"),
        (vec![link()], "file:///work/src/main.rs"),
    ];
    let world = World::new();
    let hub = world.hub(silent_agent());
    for (blocks, title) in table {
        let session = world.session(&hub).await;
        let turn = session.prompt(blocks, |_| ()).await.unwrap();
        whole_turn(&session, &turn).await;
        assert_eq!(session.title().as_deref(), Some(title));
    }
}

#[tokio::test]
async fn prompt_runs_or_is_rejected_by_its_queue_limit() {
    let world = World::new();
    let go = Arc::new(Notify::new());
    let hub = world.hub(agent_waiting_for(&go));
    let session = world.session(&hub).await;
    let first = session.prompt(prompt_behind(0), |_| ()).await.unwrap();
    let mut registered = false;
    let second = session
        .prompt(prompt_behind(0), |_| registered = true)
        .await;
    assert!(matches!(second, Err(PromptError::QueueFull { .. })));
    assert!(!registered, "nobody waits for what was refused");
    let behind_one = session.prompt(prompt_behind(1), |_| ()).await.unwrap();
    let third = session.prompt(prompt_behind(1), |_| ()).await;
    assert!(matches!(third, Err(PromptError::QueueFull { waiting: 1 })));
    go.notify_one();
    whole_turn(&session, &first).await;
    go.notify_one();
    whole_turn(&session, &behind_one).await;
    go.notify_one();
    let last = session.prompt(prompt_behind(0), |_| ()).await.unwrap();
    whole_turn(&session, &last).await;
}

#[tokio::test]
async fn prompt_has_the_chosen_message_id() {
    let world = World::new();
    let hub = world.hub(silent_agent());
    let session = world.session(&hub).await;
    let submission = PromptSubmission {
        message: Some(MessageId::new("chosen")),
        ..prompt_behind(0)
    };
    let turn = session.prompt(submission, |_| ()).await.unwrap();
    let log = format_short(&whole_turn(&session, &turn).await);
    assert!(log.starts_with("1 turn_started chosen\n"), "{log}");
}

#[tokio::test]
async fn remembered_answer_settles_the_same_open_question() {
    for (option, outcome) in [
        ("allow_session", "2 of the same, other false"),
        ("allow_once", "1 of the same, other false"),
    ] {
        let world = World::new();
        let hub = world.hub(agent(async |cx| {
            let make = |line: &str| {
                let (cx, line) = (cx.clone(), line.to_owned());
                async move { is_command_allowed(&cx, &line).await }
            };
            let (a, b, c) = tokio::join!(make("make"), make("make"), make("make clean"));
            let same = [a?, b?].into_iter().filter(|&ran| ran).count();
            cx.say(format!("{same} of the same, other {}", c?)).await?;
            Ok(StopReason::EndTurn)
        }));
        let session = world.session(&hub).await;
        let turn = prompt(&session, "go").await;
        let asked = wait_for_three_questions(&session).await;
        session.answer(asked[0].clone(), allow_option(option)).await;
        // Questions that the first answer does not settle are rejected; for a settled one this is too late.
        for other in &asked[1..] {
            let no = Decision::Rejected {
                option_id: None,
                reason: None,
            };
            session.answer(other.clone(), no).await;
        }
        let log = format_short(&whole_turn(&session, &turn).await);
        assert!(log.contains(outcome), "{option}: {log}");
    }
}

#[tokio::test]
async fn forgetful_hub_revokes_stored_grants() {
    let world = World::new();
    let ids = Arc::new(CountedIds::default());
    let hub = world.hub_with(runner(), |config| config.ids = ids.clone());
    let session = world.session(&hub).await;
    let turn = prompt(&session, "make").await;
    let ask = wait_for_first_question(&session).await;
    session.answer(ask, allow_option("allow_session")).await;
    whole_turn(&session, &turn).await;
    session.set_mode(AUTO_MODE).await.unwrap();
    assert_eq!(session.view().grants.len(), 1);
    let id = session.id().clone();
    hub.shutdown().await;

    let forgetful = world.hub_with(runner(), |config| {
        config.ids = ids;
        config.forgetful = true;
    });
    let fork = forgetful.fork(&id, world.new_session()).await.unwrap();
    assert!(fork.view().grants.is_empty());
    assert_eq!(fork.mode(), "ask");
    let again = forgetful.open(&id, None).await.unwrap();
    assert!(again.view().grants.is_empty());
    assert_eq!(again.mode(), "ask");
    let seen = again.last_seq();
    let turn = prompt(&again, "make").await;
    let is_ask = |e: &Envelope| matches!(e.event, AgentEvent::PermissionAsked(_));
    collect_until(&mut again.subscribe(seen), is_ask).await;
    again.cancel(turn.clone()).await;
    whole_turn(&again, &turn).await;
    forgetful.shutdown().await;

    // The journal records the revocation, so a hub that trusts it has no grants either.
    let believing = world.hub(runner()).open(&id, None).await.unwrap();
    assert!(believing.view().grants.is_empty());
}

#[tokio::test]
async fn forgetful_hub_keeps_a_stricter_mode() {
    let world = World::new();
    let hub = world.hub(silent_agent());
    let session = world.session(&hub).await;
    session.set_mode(READ_ONLY_MODE).await.unwrap();
    let id = session.id().clone();
    hub.shutdown().await;
    let forgetful = world.hub_with(silent_agent(), |config| config.forgetful = true);
    let again = forgetful.open(&id, None).await.unwrap();
    assert_eq!(again.mode(), READ_ONLY_MODE);
}

fn prompt_behind(behind: usize) -> PromptSubmission {
    PromptSubmission {
        behind: Some(behind),
        ..vec![ContentBlock::text("go")].into()
    }
}

fn agent_waiting_for(go: &Arc<Notify>) -> Arc<dyn Agent> {
    let go = go.clone();
    agent(move |_| {
        let go = go.clone();
        async move {
            go.notified().await;
            Ok(StopReason::EndTurn)
        }
    })
}

fn runner() -> Arc<dyn Agent> {
    agent(async |cx| {
        is_command_allowed(&cx, &cx.prompt_text()).await?;
        Ok(StopReason::EndTurn)
    })
}

/// Returns whether this command was allowed; runs nothing.
async fn is_command_allowed(cx: &TurnContext, line: &str) -> Result<bool, AgentError> {
    match cx.tool("run_command").command(line).start().await {
        Ok(call) => call.complete(()).await.map(|()| true),
        Err(AgentError::Denied { .. }) => Ok(false),
        Err(other) => Err(other),
    }
}

fn allow_option(option: &str) -> Decision {
    Decision::Allowed {
        option_id: option.to_owned(),
        args: None,
    }
}

async fn wait_for_first_question(session: &Controller) -> harn_model::AskId {
    wait_for_questions(session, 1).await.remove(0)
}

async fn wait_for_three_questions(session: &Controller) -> Vec<harn_model::AskId> {
    wait_for_questions(session, 3).await
}

/// Returns the ids of the first `count` questions, those about the same command first.
async fn wait_for_questions(session: &Controller, count: usize) -> Vec<harn_model::AskId> {
    let mut from = session.subscribe(Seq::ZERO);
    let mut asked = Vec::new();
    while asked.len() < count {
        let is_ask = |e: &Envelope| matches!(e.event, AgentEvent::PermissionAsked(_));
        asked.extend(
            collect_until(&mut from, is_ask)
                .await
                .into_iter()
                .filter_map(|e| match e.event {
                    AgentEvent::PermissionAsked(ask) => Some(ask),
                    _ => None,
                }),
        );
    }
    asked.sort_by_key(|ask| ask.tool_call.title.clone());
    asked.into_iter().map(|ask| ask.ask_id).collect()
}
