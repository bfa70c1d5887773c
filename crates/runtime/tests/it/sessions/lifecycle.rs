//! Creating, opening, forking, listing, closing and deleting.

use std::{path::PathBuf, sync::Arc};

use harn_journal::{JournalError, JsonlStore, Store};
use harn_model::{AgentEvent, Seq, SessionId, StopReason};
use harn_runtime::{Controller, NewSession, SessionError, SessionFilter};

use crate::support::*;

fn echo() -> Arc<dyn harn_runtime::Agent> {
    agent(async |cx| {
        cx.say(cx.prompt_text()).await?;
        if cx.prompt_text() == "hang" {
            cx.cancelled().await;
        }
        Ok(StopReason::EndTurn)
    })
}

#[tokio::test]
async fn session_reopens_with_the_same_state() {
    let world = World::new();
    let hub = world.hub(echo());
    let session = world.session(&hub).await;
    let turn = prompt(&session, "hello").await;
    let live = whole_turn(&session, &turn).await;
    let (id, view) = (session.id().clone(), session.view());
    hub.shutdown().await;
    assert!(matches!(
        hub.create(world.new_session()).await,
        Err(SessionError::ShuttingDown)
    ));

    let hub = world.hub(echo());
    let session = hub.open(&id, Some(world.state())).await.unwrap();
    assert_eq!(session.view(), view);
    assert_eq!(whole_turn(&session, &turn).await, live);
    // Opening an open session returns the same session.
    let same = hub.open(&id, None).await.unwrap();
    prompt(&same, "more").await;
    collect_until(&mut session.subscribe(Seq(view.last_seq.0)), |e| {
        matches!(e.event, AgentEvent::TurnEnded(_))
    })
    .await;
}

#[tokio::test]
async fn failed_open_returns_the_reason() {
    let world = World::new();
    let hub = world.hub(echo());
    let unknown = hub.open(&SessionId::new("nope"), None).await.err().unwrap();
    assert!(matches!(unknown, SessionError::NotFound(_)), "{unknown}");
    let evil = hub
        .open(&SessionId::new("../../etc"), None)
        .await
        .err()
        .unwrap();
    assert!(
        matches!(evil, SessionError::Journal(JournalError::InvalidId)),
        "{evil}"
    );
    let session = world.session(&hub).await;
    let id = session.id().clone();
    let elsewhere = tempfile::tempdir().unwrap();
    let wrong = hub.open(&id, Some(elsewhere.path())).await.err().unwrap();
    assert!(matches!(wrong, SessionError::WrongCwd { .. }), "{wrong}");
    let other = world.hub(echo()).open(&id, None).await.err().unwrap();
    assert!(
        matches!(other, SessionError::Journal(JournalError::Locked(_))),
        "{other}"
    );
    for cwd in ["relative", "/no/such/dir"] {
        let new = NewSession {
            cwd: PathBuf::from(cwd),
            additional_directories: Vec::new(),
        };
        assert!(matches!(hub.create(new).await, Err(SessionError::BadCwd)));
    }
    hub.close(&id).await;
    // A rejected open releases the lock.
    let wrong = hub.open(&id, Some(elsewhere.path())).await.err().unwrap();
    assert!(matches!(wrong, SessionError::WrongCwd { .. }), "{wrong}");
    assert!(world.hub(echo()).open(&id, None).await.is_ok());
}

#[tokio::test]
async fn close_settles_the_running_turn_and_waiting_prompts() {
    let world = World::new();
    let hub = world.hub(echo());
    let session = world.session(&hub).await;
    let mut from = session.subscribe(Seq::ZERO);
    prompt(&session, "hang").await;
    let waiting = prompt(&session, "waiting").await;
    collect_until(&mut from, |e| {
        matches!(e.event, AgentEvent::AgentMessageChunk { .. })
    })
    .await;
    hub.close(session.id()).await;
    let rest = collect_until(&mut from, is_withdrawal_of(&waiting)).await;
    let log = format_short(&rest);
    assert_eq!(
        log.matches("turn_ended stopped cancelled").count(),
        1,
        "{log}"
    );
    assert!(!log.contains("turn_started"), "{log}");
    assert!(
        session
            .prompt(vec![harn_model::ContentBlock::text("x")], |_| ())
            .await
            .is_err()
    );
}

#[tokio::test]
async fn fork_has_the_history_without_the_running_turn() {
    let world = World::new();
    let ids = Arc::new(CountedIds::default());
    let hub = world.hub_with(echo(), |config| config.ids = ids);
    let session = world.session(&hub).await;
    let done = prompt(&session, "done").await;
    whole_turn(&session, &done).await;
    prompt(&session, "hang").await;
    let mut from = session.subscribe(Seq::ZERO);
    collect_until(
        &mut from,
        |e| matches!(&e.event, AgentEvent::AgentMessageChunk { content, .. } if content == "hang"),
    )
    .await;
    let fork = hub.fork(session.id(), world.new_session()).await.unwrap();
    assert_ne!(fork.id(), session.id());
    assert_eq!(fork.meta().parent.as_ref(), Some(session.id()));
    assert_eq!(fork.meta().title, "done");
    let history = whole_turn(&fork, &done).await;
    assert_eq!(fork.view().last_seq.0, history.len() as u64);
    let next = prompt(&fork, "next").await;
    assert!(format_short(&whole_turn(&fork, &next).await).contains("chunk next"));
    let missing = hub
        .fork(&SessionId::new("nope"), world.new_session())
        .await
        .err()
        .unwrap();
    assert!(matches!(missing, SessionError::NotFound(_)), "{missing}");
}

#[tokio::test]
async fn fork_keeps_settings_from_a_running_turn() {
    let world = World::new();
    let hub = world.hub(echo());
    let session = world.session(&hub).await;
    let turn = prompt(&session, "hang").await;
    let mut from = session.subscribe(Seq::ZERO);
    collect_until(&mut from, |e| {
        matches!(e.event, AgentEvent::AgentMessageChunk { .. })
    })
    .await;
    session.set_mode("read-only").await.unwrap();
    session.set_option("pace", "fast").await.unwrap();
    assert_eq!(session.view().open_turn.unwrap().id, turn);

    let fork = hub.fork(session.id(), world.new_session()).await.unwrap();
    let view = fork.view();
    assert_eq!(view.mode.as_deref(), Some("read-only"));
    assert_eq!(view.config.get("pace").map(String::as_str), Some("fast"));
    assert!(view.open_turn.is_none());
    // The settings are in the journal, not only in memory.
    let (_, events) = JsonlStore::new(world.state()).read(fork.id()).unwrap();
    let [mode, option] = &events[..] else {
        panic!("{}", format_short(&events));
    };
    assert!(matches!(mode.event, AgentEvent::ModeChanged { .. }));
    assert!(matches!(option.event, AgentEvent::ConfigChanged { .. }));
}

#[tokio::test]
async fn listing_pages_without_gaps_or_repeats() {
    let world = World::new();
    let hub = world.hub(echo());
    let elsewhere = tempfile::tempdir().unwrap();
    for n in 0..120 {
        let cwd = if n % 2 == 0 {
            world.state()
        } else {
            elsewhere.path()
        };
        let new = NewSession {
            cwd: cwd.to_owned(),
            additional_directories: Vec::new(),
        };
        hub.create(new).await.unwrap();
    }
    let mut seen = Vec::new();
    let mut after = None;
    loop {
        let page = hub
            .list(
                SessionFilter {
                    cwd: Some(elsewhere.path().to_owned()),
                    ..SessionFilter::default()
                },
                after,
            )
            .await
            .unwrap();
        assert!(page.sessions.len() <= 50);
        seen.extend(page.sessions.into_iter().map(|s| s.summary.meta.thread_id));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(seen.len(), 60);
    let mut unique = seen.clone();
    unique.sort();
    unique.dedup();
    assert_eq!(unique.len(), 60);
    let gone = seen[0].clone();
    hub.delete(&gone).await.unwrap();
    assert!(matches!(
        hub.delete(&gone).await,
        Err(SessionError::NotFound(_))
    ));
    let left = JsonlStore::new(world.state()).list().unwrap();
    assert_eq!(left.sessions.len(), 119);
}

#[tokio::test]
async fn prompted_listing_has_live_sessions_and_those_with_a_prompt() {
    let world = World::new();
    let hub = world.hub(echo());
    let [unused, used, live] = [
        world.session(&hub).await,
        world.session(&hub).await,
        world.session(&hub).await,
    ];
    unused.set_title("A name and no prompt").await.unwrap();
    let turn = prompt(&used, "something").await;
    whole_turn(&used, &turn).await;
    hub.close(unused.id()).await;
    hub.close(used.id()).await;
    let listed = async |prompted| {
        let filter = SessionFilter {
            prompted,
            ..SessionFilter::default()
        };
        let page = hub.list(filter, None).await.unwrap();
        let ids = page.sessions.into_iter().map(|s| s.summary.meta.thread_id);
        let mut ids: Vec<_> = ids.collect();
        ids.sort();
        ids
    };
    let sorted = |sessions: &[&Controller]| {
        let mut ids: Vec<_> = sessions.iter().map(|it| it.id().clone()).collect();
        ids.sort();
        ids
    };
    assert_eq!(listed(true).await, sorted(&[&used, &live]));
    assert_eq!(listed(false).await, sorted(&[&unused, &used, &live]));
}

#[tokio::test]
async fn damaged_session_does_not_hide_others_from_the_list() {
    let world = World::new();
    let hub = world.hub(echo());
    let whole = world.session(&hub).await;
    let damaged = world.session(&hub).await;
    let folder = world.state().join("threads").join(damaged.id().as_str());
    std::fs::write(folder.join("meta.json"), "nonsense").unwrap();
    let page = hub.list(SessionFilter::default(), None).await.unwrap();
    let listed: Vec<_> = page
        .sessions
        .iter()
        .map(|s| &s.summary.meta.thread_id)
        .collect();
    assert_eq!(listed, [whole.id()]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_open_or_create_calls_return_one_session() {
    let world = World::new();
    let hub = world.hub(echo());
    for round in 0..20 {
        let id = SessionId::new(format!("round-{round}"));
        let mut all = tokio::task::JoinSet::new();
        for _ in 0..16 {
            let (hub, id) = (hub.clone(), id.clone());
            let new = NewSession {
                cwd: world.state().to_owned(),
                additional_directories: Vec::new(),
            };
            all.spawn(async move { hub.open_or_create(&id, new).await.unwrap() });
        }
        let all = all.join_all().await;
        assert!(all.iter().all(|session| session.is_same(&all[0])));
    }
}
