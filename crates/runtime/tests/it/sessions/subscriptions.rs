//! Subscriptions: each event once and none lost, from any position and at any speed.

use harn_model::{AgentEvent, Envelope, Seq, SessionView, StopReason, TurnId};
use harn_runtime::{Controller, EncodingSlot, SessionEnd};
use proptest::prelude::*;

use crate::support::*;

async fn flood(
    world: &World,
    ring_bytes: usize,
    words: usize,
) -> (harn_runtime::Hub, Controller, TurnId) {
    let hub = world.hub_with(
        agent(async |cx| {
            let words: usize = cx
                .prompt_text()
                .parse()
                .map_err(harn_runtime::AgentError::failed)?;
            for n in 0..words {
                cx.say(format!("{n} ")).await?;
            }
            Ok(StopReason::EndTurn)
        }),
        |config| config.ring_bytes = ring_bytes,
    );
    let session = world.session(&hub).await;
    let turn = prompt(&session, &words.to_string()).await;
    (hub, session, turn)
}

async fn collect_all(session: &Controller, after: Seq, turn: &TurnId) -> Vec<Envelope> {
    collect_until(&mut session.subscribe(after), is_end_of(turn)).await
}

#[tokio::test]
async fn reader_behind_the_ring_continues_from_the_journal() {
    let world = World::new();
    // The ring is so small that it keeps only the newest batch.
    let (_hub, session, turn) = flood(&world, 1, 20_000).await;
    let mut slow = session.subscribe(Seq::ZERO);
    let first = slow.next().await.unwrap().events().to_vec();
    collect_all(&session, Seq::ZERO, &turn).await;
    let mut seen = first;
    seen.extend(collect_until(&mut slow, is_end_of(&turn)).await);
    let seqs: Vec<u64> = seen.iter().map(|e| e.seq.0).collect();
    let expected: Vec<u64> = (1..=seen.len() as u64).collect();
    assert_eq!(seqs, expected);
    assert!(seen.len() > 20_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_readers_receive_the_same_events_during_writes() {
    let world = World::new();
    let (_hub, session, turn) = flood(&world, 64 * 1024, 50_000).await;
    let mut readers = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let (session, turn) = (session.clone(), turn.clone());
        readers.spawn(async move { collect_all(&session, Seq::ZERO, &turn).await });
    }
    let whole = collect_all(&session, Seq::ZERO, &turn).await;
    while let Some(seen) = readers.join_next().await {
        assert!(seen.unwrap() == whole);
    }
}

#[tokio::test]
async fn encoding_is_made_once_and_shared() {
    let world = World::new();
    let (_hub, session, turn) = flood(&world, 1 << 20, 10).await;
    collect_all(&session, Seq::ZERO, &turn).await;
    let [slot, other, ..] = EncodingSlot::ALL;
    let first = session.subscribe(Seq::ZERO).next().await.unwrap();
    assert_eq!(first.get_or_encode(slot, |_| "once".into()), "once");
    let second = session.subscribe(Seq::ZERO).next().await.unwrap();
    assert_eq!(second.get_or_encode(slot, |_| "twice".into()), "once");
    assert_eq!(second.get_or_encode(other, |_| "other".into()), "other");
}

#[tokio::test]
async fn reader_receives_the_end_of_the_session() {
    let world = World::new();
    let (hub, session, turn) = flood(&world, 1 << 20, 3).await;
    let mut from = session.subscribe(Seq::ZERO);
    collect_until(&mut from, is_end_of(&turn)).await;
    hub.close(session.id()).await;
    let told = from.next().await.unwrap();
    let told: Vec<_> = told.events().iter().map(|e| &e.event).collect();
    assert!(
        matches!(told[..], [AgentEvent::SessionClosed { .. }]),
        "{told:?}"
    );
    assert!(matches!(from.next().await, Err(SessionEnd::Closed)));
    assert!(hub.live_session(session.id()).is_none());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// A replay from any position is the suffix, and the live view equals the fold of the journal.
    #[test]
    fn replay_from_any_position_is_the_suffix(words in 0usize..400, ring in prop::sample::select(vec![1usize, 4096, 1 << 20]), at in 0.0f64..1.0) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(async {
            let world = World::new();
            let (_hub, session, turn) = flood(&world, ring, words).await;
            let whole = collect_all(&session, Seq::ZERO, &turn).await;
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
            let after = ((whole.len() - 1) as f64 * at) as u64;
            let rest = collect_all(&session, Seq(after), &turn).await;
            assert_eq!(rest, whole[usize::try_from(after).unwrap()..].to_vec());
            let mut fold = SessionView::default();
            whole.iter().for_each(|e| fold.apply(e));
            assert_eq!(fold, session.view());
        });
    }
}
