//! Prompts that wait behind a turn: announced when they start to wait, and always settled.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use expect_test::expect;
use harn_model::{AgentEvent, Envelope, Seq, SessionView, StopReason, TurnId, plain_text};
use harn_runtime::{Agent, Controller, Hub};
use tokio::sync::Notify;

use crate::support::*;

/// Returns an agent that echoes its prompt and, for the prompt `hold`, waits for `release`.
fn holding_agent(release: &Arc<Notify>) -> Arc<dyn Agent> {
    let held = release.clone();
    agent(move |cx| {
        let held = held.clone();
        async move {
            cx.say(cx.prompt_text()).await?;
            cx.flush().await?;
            if cx.prompt_text() == "hold" {
                held.notified().await;
                cx.say(", held").await?;
            }
            Ok(StopReason::EndTurn)
        }
    })
}

/// A session with a turn that waits for `release`, and two queued prompts.
struct Waiting {
    release: Arc<Notify>,
    hub: Hub,
    session: Controller,
    turns: [TurnId; 3],
}

impl Waiting {
    async fn new(world: &World) -> Self {
        let release = Arc::new(Notify::new());
        let hub = world.hub(holding_agent(&release));
        let session = world.session(&hub).await;
        let mut from = session.subscribe(Seq::ZERO);
        let held = prompt(&session, "hold").await;
        collect_until(&mut from, |e| {
            matches!(e.event, AgentEvent::AgentMessageChunk { .. })
        })
        .await;
        let second = prompt(&session, "second").await;
        let third = prompt(&session, "third").await;
        collect_until(&mut from, is_queueing_of(&third)).await;
        Self {
            release,
            hub,
            session,
            turns: [held, second, third],
        }
    }

    /// Releases the turn and returns all events up to the end of the last prompt.
    async fn finish_turns(&self) -> Vec<Envelope> {
        self.release.notify_one();
        whole_turn(&self.session, &self.turns[2]).await
    }
}

/// Returns the queued prompts of a view, by id and text.
fn queued_texts(view: &SessionView) -> Vec<(String, String)> {
    let words = view.queued.iter().map(|queued| {
        let id = queued.id.as_str().to_owned();
        (id, plain_text(&queued.prompt.prompt))
    });
    words.collect()
}

fn fold(events: &[Envelope]) -> SessionView {
    let mut view = SessionView::default();
    events.iter().for_each(|event| view.apply(event));
    view
}

#[tokio::test]
async fn waiting_prompt_is_published_before_its_turn_starts() {
    let world = World::new();
    let waiting = Waiting::new(&world).await;
    let [_, second, third] = &waiting.turns;
    let expected = [(second, "second"), (third, "third")];
    let expected = expected.map(|(id, text)| (id.as_str().to_owned(), text.to_owned()));
    assert_eq!(queued_texts(&waiting.session.view()), expected);
    let events = waiting.finish_turns().await;
    // The agent's text before and after the queueing stays one message.
    expect![[r#"
        1 turn_started msg-1
        2 agent_message_chunk hold msg-2
        3 prompt_queued msg-3
        4 prompt_queued msg-4
        5 agent_message_chunk , held msg-2
        6 session_info hold
        7 turn_ended stopped end_turn
        8 turn_started msg-3
        9 agent_message_chunk second msg-5
        10 turn_ended stopped end_turn
        11 turn_started msg-4
        12 agent_message_chunk third msg-6
        13 turn_ended stopped end_turn
    "#]]
    .assert_eq(&format_short(&events));
    let AgentEvent::PromptQueued(said) = &events[2].event else {
        panic!("{:?}", events[2]);
    };
    let AgentEvent::TurnStarted(began) = &events[7].event else {
        panic!("{:?}", events[7]);
    };
    assert_eq!((&events[2].turn, said), (&events[7].turn, began));
    assert_eq!(waiting.session.view().queued, []);
}

#[tokio::test]
async fn only_prompts_behind_a_turn_are_queued() {
    let world = World::new();
    let release = Arc::new(Notify::new());
    let hub = world.hub(holding_agent(&release));
    let session = world.session(&hub).await;
    let mut from = session.subscribe(Seq::ZERO);
    prompt(&session, "hold").await;
    let last = prompt(&session, "last").await;
    let events = collect_until(&mut from, is_queueing_of(&last)).await;
    let log = format_short(&events);
    assert!(log.starts_with("1 turn_started"), "{log}");
    assert_eq!(log.matches("prompt_queued").count(), 1, "{log}");
    release.notify_one();
    collect_until(&mut from, is_end_of(&last)).await;
    // No prompt is before it now.
    let alone = prompt(&session, "alone").await;
    let log = format_short(&collect_until(&mut from, is_end_of(&alone)).await);
    assert!(!log.contains("prompt_queued"), "{log}");
}

#[tokio::test]
async fn cancelled_prompt_is_withdrawn_from_the_queue() {
    let world = World::new();
    let waiting = Waiting::new(&world).await;
    let [_, second, third] = waiting.turns.clone();
    let mut from = waiting.session.subscribe_from_now();
    waiting.session.cancel(second.clone()).await;
    collect_until(&mut from, is_withdrawal_of(&second)).await;
    let left = [(third.as_str().to_owned(), "third".to_owned())];
    assert_eq!(queued_texts(&waiting.session.view()), left);
    let events = waiting.finish_turns().await;
    let of_second = events.iter().filter(|e| e.turn.as_ref() == Some(&second));
    let of_second: Vec<_> = of_second.cloned().collect();
    assert_eq!(
        format_short(&of_second),
        "3 prompt_queued msg-3\n5 prompt_withdrawn msg-3\n"
    );
}

#[tokio::test]
async fn queued_prompts_fold_the_same_live_and_replayed() {
    let world = World::new();
    let waiting = Waiting::new(&world).await;
    let live = waiting.session.view();
    assert_eq!(live.queued.len(), 2);
    let mut from = waiting.session.subscribe(Seq::ZERO);
    let events = collect_until(&mut from, |e| e.seq == live.last_seq).await;
    assert_eq!(fold(&events), live);
}

#[tokio::test]
async fn close_withdraws_queued_prompts() {
    let world = World::new();
    let waiting = Waiting::new(&world).await;
    let id = waiting.session.id().clone();
    waiting.hub.close(&id).await;
    let [_, second, third] = &waiting.turns;
    let hub = world.hub(holding_agent(&waiting.release));
    let session = hub.open(&id, None).await.unwrap();
    assert_eq!(session.view().queued, []);
    let mut from = session.subscribe(Seq::ZERO);
    let events = collect_until(&mut from, is_withdrawal_of(third)).await;
    assert_eq!(
        events
            .iter()
            .filter(|e| is_withdrawal_of(second)(e))
            .count(),
        1
    );
}

#[tokio::test]
async fn fork_leaves_out_queued_prompts() {
    let world = World::new();
    let waiting = Waiting::new(&world).await;
    let session = &waiting.session;
    let [_, second, third] = &waiting.turns;
    let mut from = session.subscribe_from_now();
    session.cancel(second.clone()).await;
    collect_until(&mut from, is_withdrawal_of(second)).await;
    let new = world.new_session();
    let fork = waiting.hub.fork(session.id(), new).await.unwrap();
    assert_eq!(fork.view().queued, []);
    let mut from = fork.subscribe(Seq::ZERO);
    // The withdrawn prompt is part of the history; the waiting one is not.
    let last = fork.view().last_seq;
    let events = collect_until(&mut from, |e| e.seq == last).await;
    assert_eq!(
        format_short(&events),
        "1 prompt_queued msg-3\n2 prompt_withdrawn msg-3\n"
    );
    assert!(events.iter().all(|e| e.turn.as_ref() != Some(third)));
    assert_eq!(session.view().queued.len(), 1, "it waits where it was");
}

/// Returns the path of the only journal.
fn journal_path(state: &Path) -> PathBuf {
    let found = walk(state).into_iter();
    let mut found = found.filter(|path| path.ends_with("events.jsonl"));
    let journal = found.next().expect("a journal");
    assert_eq!(found.next(), None, "one session");
    journal
}

fn walk(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let within = paths.flat_map(|path| match path.is_dir() {
        true => walk(&path),
        false => vec![path],
    });
    within.collect()
}

/// Copies this world's state and cuts the journal of the copy after `bytes` bytes.
fn copy_with_cut_journal(world: &World, bytes: usize) -> World {
    let copy = World::new();
    for from in walk(world.state()) {
        let to = copy.state().join(from.strip_prefix(world.state()).unwrap());
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(from, to).unwrap();
    }
    let path = journal_path(copy.state());
    let whole = fs::read(&path).unwrap();
    fs::write(path, &whole[..bytes]).unwrap();
    copy
}

/// After a crash at any point, each queued prompt has started or is withdrawn, and only once.
#[tokio::test]
async fn recovery_leaves_no_prompt_queued_wherever_the_journal_is_cut() {
    let world = World::new();
    let waiting = Waiting::new(&world).await;
    waiting.finish_turns().await;
    let id = waiting.session.id().clone();
    waiting.hub.close(&id).await;
    let text = fs::read_to_string(journal_path(world.state())).unwrap();
    let mut ends: Vec<_> = text.match_indices('\n').map(|(at, _)| at + 1).collect();
    // Also in the middle of the first and the last `prompt_queued` line.
    ends.push(text.find("prompt_queued").unwrap() + 5);
    ends.push(text.rfind("prompt_queued").unwrap() + 5);
    let mut seen = Vec::new();
    for end in ends {
        let crashed = copy_with_cut_journal(&world, end);
        let ran = Arc::new(AtomicBool::new(false));
        let flag = ran.clone();
        let restarted = agent(move |_| {
            flag.store(true, Ordering::SeqCst);
            async { Ok(StopReason::EndTurn) }
        });
        let mut first = None;
        // A second restart adds nothing.
        for _ in 0..2 {
            let hub = crashed.hub(restarted.clone());
            let session = hub.open(&id, None).await.unwrap();
            let view = session.view();
            assert_eq!(view.queued, []);
            assert!(view.open_turn.is_none());
            let mut from = session.subscribe(Seq::ZERO);
            let events = collect_until(&mut from, |e| e.seq == view.last_seq).await;
            assert_eq!(fold(&events), view);
            for turn in &waiting.turns {
                let of_it = events.iter().filter(|e| e.turn.as_ref() == Some(turn));
                let (mut waited, mut settled) = (0, 0);
                for envelope in of_it {
                    if let AgentEvent::PromptQueued(_) = &envelope.event {
                        waited += 1;
                    } else if let AgentEvent::TurnStarted(_) | AgentEvent::PromptWithdrawn(_) =
                        &envelope.event
                    {
                        settled += 1;
                    }
                }
                assert!(
                    waited <= settled && settled <= 1,
                    "{}",
                    format_short(&events)
                );
            }
            assert_eq!(*first.get_or_insert_with(|| events.clone()), events);
            hub.shutdown().await;
        }
        assert!(!ran.load(Ordering::SeqCst), "nothing begins by itself");
        let events = first.unwrap_or_default();
        let withdrawn = events.iter().filter_map(|e| match &e.event {
            AgentEvent::PromptWithdrawn(prompt) => Some(plain_text(&prompt.prompt)),
            _ => None,
        });
        let withdrawn: Vec<_> = withdrawn.collect();
        let lines = text[..end].lines().count();
        seen.push(format!("{lines} {withdrawn:?}"));
    }
    expect![[r#"
        1 []
        2 []
        3 ["second"]
        4 ["second", "third"]
        5 ["second", "third"]
        6 ["second", "third"]
        7 ["second", "third"]
        8 ["third"]
        9 ["third"]
        10 ["third"]
        11 []
        12 []
        13 []
        14 []
        3 []
        4 ["second"]
    "#]]
    .assert_eq(&(seen.join("\n") + "\n"));
}

/// A prompt is accepted before an event about it is written; a caller can wait for that event.
#[tokio::test]
async fn caller_can_wait_until_its_requests_are_processed() {
    let world = World::new();
    let release = Arc::new(Notify::new());
    let hub = world.hub(holding_agent(&release));
    let session = world.session(&hub).await;
    let turn = prompt(&session, "hold").await;
    let seq = session.wait_until_processed().await;
    let view = session.view();
    assert_eq!(view.open_turn.map(|open| open.id), Some(turn));
    let second = prompt(&session, "second").await;
    assert!(session.wait_until_processed().await > seq);
    assert_eq!(session.view().queued[0].id, second);
    session.cancel(second).await;
    assert!(session.wait_until_processed().await.is_some());
    assert_eq!(session.view().queued, []);
    release.notify_one();
    hub.close(session.id()).await;
    assert_eq!(session.wait_until_processed().await, None);
}
