//! The frames that a room stores, and the lifetime of a room.

use std::sync::atomic::{AtomicUsize, Ordering};

use harn_model::{ContentBlock, StopReason};
use harn_runtime::NewSession;
use harn_testkit::{ScriptedAgent, TestHub};
use tokio::runtime::Handle;

use super::*;
use crate::{rooms::Rooms, wire::SessionFacts};

fn empty_document() -> RoomDocument {
    RoomDocument {
        document: Document::new(SessionFacts::default()),
        last: 0,
        frames: VecDeque::new(),
        kept: 0,
    }
}

fn join_text(operations: Option<Vec<Bytes>>) -> Option<String> {
    let operations = operations?;
    let texts = operations.iter().map(|it| std::str::from_utf8(it).unwrap());
    Some(texts.collect::<Vec<_>>().join(","))
}

#[test]
fn frames_since_a_cursor_are_joined() {
    let mut shown = empty_document();
    for operations in ["1", "2,3", "4"] {
        shown.store_frame(RoomFrame::Delta(Bytes::from_static(operations.as_bytes())));
    }
    let told = |operations: &str| Some(operations.to_owned());
    assert_eq!(join_text(shown.operations_since(3)), told(""));
    assert_eq!(join_text(shown.operations_since(2)), told("4"));
    assert_eq!(join_text(shown.operations_since(0)), told("1,2,3,4"));
    // No client is ahead of the last frame.
    assert_eq!(shown.operations_since(4), None);
    shown.store_frame(RoomFrame::Anew);
    shown.store_frame(RoomFrame::Delta(Bytes::from_static(b"6")));
    assert_eq!(join_text(shown.operations_since(4)), told("6"));
    assert_eq!(
        shown.operations_since(3),
        None,
        "only the document tells it"
    );
}

#[test]
fn stored_frames_are_bounded() {
    let mut shown = empty_document();
    let frame = |bytes: usize| RoomFrame::Delta(vec![b'x'; bytes].into());
    for _ in 0..100 {
        shown.store_frame(frame(KEPT_BYTES / 10));
        assert!(shown.kept <= KEPT_BYTES);
    }
    assert_eq!(shown.last, 100);
    let kept = shown.frames.len() as u64;
    assert!((8..=10).contains(&kept), "{kept}");
    assert!(shown.operations_since(100 - kept).is_some());
    assert!(shown.operations_since(100 - kept - 1).is_none());
    // Small frames count; a frame that fills the limit is the only one.
    for _ in 0..100_000 {
        shown.store_frame(frame(1));
    }
    assert!(shown.frames.len() < KEPT_BYTES / 32);
    shown.store_frame(frame(KEPT_BYTES));
    assert_eq!(shown.frames.len(), 1);
    assert!(shown.operations_since(shown.last - 1).is_some());
    assert_eq!(shown.operations_since(shown.last - 2), None);
    shown.store_frame(frame(1));
    assert_eq!(shown.frames.len(), 1);
}

async fn session(test: &TestHub) -> Controller {
    let new = NewSession {
        cwd: test.workspace(),
        additional_directories: Vec::new(),
    };
    test.hub().create(new).await.unwrap()
}

/// Without clients, neither the document nor the task that follows the session remains.
#[tokio::test(start_paused = true)]
async fn a_room_lives_while_a_client_uses_it() {
    let test = TestHub::new(ScriptedAgent::silent());
    let session = session(&test).await;
    let tasks = || Handle::current().metrics().num_alive_tasks();
    let before = tasks();
    let rooms = Rooms::default();
    let enter = async || rooms.open_room(test.hub(), session.clone()).await.unwrap();
    let (one, two) = (enter().await, enter().await);
    assert!(Arc::ptr_eq(&one, &two), "one room a session");
    assert_eq!(tasks(), before + 1);
    let gone = Arc::downgrade(&one);
    drop(one);
    assert!(gone.upgrade().is_some());
    drop(two);
    assert!(gone.upgrade().is_none());
    sleep(Duration::from_secs(1)).await;
    assert_eq!(tasks(), before);
    // The next client opens another room.
    let again = enter().await;
    assert_eq!(tasks(), before + 1);
    drop(again);
}

#[tokio::test(start_paused = true)]
async fn a_reopened_session_has_another_room() {
    let test = TestHub::new(ScriptedAgent::silent());
    let session = session(&test).await;
    let rooms = Rooms::default();
    let room = rooms.open_room(test.hub(), session.clone()).await.unwrap();
    let mut cursor = None;
    assert!(matches!(room.next(&mut cursor), NextFrame::Whole(_)));
    let mut told = room.watch();
    test.hub().close(session.id()).await;
    while !matches!(room.next(&mut cursor), NextFrame::Ended) {
        told.changed().await.unwrap();
    }
    let again = test.hub().open(session.id(), None).await.unwrap();
    let other = rooms.open_room(test.hub(), again).await.unwrap();
    assert!(!Arc::ptr_eq(&room, &other));
}

/// A reader that is up to date receives nothing; one that is far behind receives the whole document.
#[tokio::test(start_paused = true)]
async fn a_reader_continues_from_its_cursor() {
    static WORDS: AtomicUsize = AtomicUsize::new(0);
    let agent = ScriptedAgent::new(|cx| async move {
        let word = WORDS.fetch_add(1, Ordering::Relaxed);
        cx.say(format!("{word}")).await?;
        Ok(StopReason::EndTurn)
    });
    let test = TestHub::new(agent);
    let session = session(&test).await;
    let rooms = Rooms::default();
    let room = rooms.open_room(test.hub(), session.clone()).await.unwrap();
    let (mut fast, mut slow) = (None, None);
    assert!(matches!(room.next(&mut fast), NextFrame::Whole(_)));
    assert!(matches!(room.next(&mut slow), NextFrame::Whole(_)));
    for _ in 0..10 {
        let prompt = vec![ContentBlock::text("x".repeat(KEPT_BYTES / 20))];
        session.prompt(prompt, |_| ()).await.unwrap();
        sleep(Duration::from_secs(1)).await;
        assert!(matches!(room.next(&mut fast), NextFrame::Delta(_)));
        assert!(matches!(room.next(&mut fast), NextFrame::Nothing));
    }
    assert!(matches!(room.next(&mut slow.clone()), NextFrame::Delta(_)));
    for _ in 0..20 {
        let prompt = vec![ContentBlock::text("x".repeat(KEPT_BYTES / 10))];
        session.prompt(prompt, |_| ()).await.unwrap();
        sleep(Duration::from_secs(1)).await;
    }
    let NextFrame::Whole(state) = room.next(&mut slow) else {
        panic!("the backlog is gone");
    };
    assert_eq!(state.messages.len(), 60);
    assert!(matches!(room.next(&mut slow), NextFrame::Nothing));
}
