//! Tests of the length of a burst, with a paused clock.

use std::path::Path;

use notify::{
    EventKind,
    event::{CreateKind, RemoveKind},
};
use tokio::time::{advance, timeout};

use super::*;

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn create(shared: &WatchState, file: &str) {
    let kind = EventKind::Create(CreateKind::File);
    shared.add(|pending| pending.touch(Path::new(file), false, true, kind));
}

fn remove(shared: &WatchState, file: &str) {
    let kind = EventKind::Remove(RemoveKind::File);
    shared.add(|pending| pending.touch(Path::new(file), true, false, kind));
}

fn names(events: &[FsWatchEvent]) -> Vec<&str> {
    let names = events.iter().flat_map(|event| &event.relative_paths);
    names.map(String::as_str).collect()
}

#[tokio::test(start_paused = true)]
async fn a_burst_ends_when_it_is_quiet() {
    let shared = WatchState::new("/root".into());
    let mut burst = ChangeBurst::default();
    let idle = timeout(ms(3_600_000), burst.next(&shared)).await;
    assert!(idle.is_err());

    // Each change extends the burst by 50 ms. Every `timeout` here also cancels a call.
    for file in ["a", "b", "c"] {
        create(&shared, file);
        assert!(timeout(ms(40), burst.next(&shared)).await.is_err());
    }
    let told = timeout(ms(11), burst.next(&shared)).await.unwrap();
    assert_eq!(names(&told), ["a", "b", "c"]);
    assert!(timeout(ms(1000), burst.next(&shared)).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn an_endless_burst_is_reported_in_pieces() {
    let shared = WatchState::new("/root".into());
    let mut burst = ChangeBurst::default();
    let mut told = None;
    let mut passed = ms(0);
    for number in 0.. {
        create(&shared, &format!("{number:02}"));
        if let Ok(events) = timeout(ms(30), burst.next(&shared)).await {
            told = Some(events);
            break;
        }
        passed += ms(30);
        assert!(passed <= LIMIT);
    }
    // The limit expires in the interval after 480 ms.
    assert_eq!(passed, ms(480));
    assert_eq!(told.unwrap().len(), 17);
}

#[tokio::test(start_paused = true)]
async fn a_created_and_removed_file_is_not_reported() {
    let shared = WatchState::new("/root".into());
    let mut burst = ChangeBurst::default();
    create(&shared, "a");
    remove(&shared, "a");
    assert!(timeout(ms(1000), burst.next(&shared)).await.is_err());
    create(&shared, "b");
    assert_eq!(names(&burst.next(&shared).await), ["b"]);
}

#[tokio::test(start_paused = true)]
async fn changes_wait_for_a_later_call() {
    let shared = WatchState::new("/root".into());
    create(&shared, "a");
    advance(ms(10_000)).await;
    create(&shared, "b");
    let mut burst = ChangeBurst::default();
    assert_eq!(names(&burst.next(&shared).await), ["a", "b"]);
}

#[tokio::test(start_paused = true)]
async fn a_change_wakes_the_waiting_task() {
    let shared = std::sync::Arc::new(WatchState::new("/root".into()));
    let waiting = tokio::spawn({
        let shared = shared.clone();
        async move { ChangeBurst::default().next(&shared).await }
    });
    tokio::task::yield_now().await;
    // From another thread, as in production.
    std::thread::spawn(move || create(&shared, "a"))
        .join()
        .unwrap();
    assert_eq!(names(&waiting.await.unwrap()), ["a"]);
}
