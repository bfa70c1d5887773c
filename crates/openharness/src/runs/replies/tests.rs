//! What the reply cache stores and drops.

use harn_model::{Seq, StopReason};

use super::*;
use crate::report::RunPhase;

fn cursor() -> RunCursor {
    RunCursor {
        session: "s".into(),
        turn: "t".into(),
        after: Seq::ZERO,
    }
}

fn reply() -> CachedReply {
    CachedReply {
        told: RunReport {
            place: cursor(),
            state: RunPhase::Ended(StopReason::EndTurn),
            began_at: 1,
            until: 2,
            messages: Vec::new(),
            calls: Vec::new(),
            artifacts: Vec::new(),
            plan: None,
            asks: Vec::new(),
            questions: Vec::new(),
        },
        at: 3,
    }
}

fn admit_first(replies: &ReplyCache, id: &str) -> (RequestKey, Arc<RequestStartSlot>) {
    match replies.admit(&Principal::owner(), id, "digest") {
        RequestAdmission::First(key, slot) => (key, slot),
        RequestAdmission::Again(..)
        | RequestAdmission::Answered(_)
        | RequestAdmission::Conflict => panic!("{id} is known"),
    }
}

#[test]
fn request_is_found_by_principal_id_and_content() {
    let replies = ReplyCache::default();
    let (key, slot) = admit_first(&replies, "r");
    let again = |principal: &str, digest: &str| {
        replies.admit(&Principal::new(principal.to_owned()), "r", digest)
    };
    assert!(matches!(
        again("owner", "digest"),
        RequestAdmission::Again(..)
    ));
    assert!(matches!(
        again("owner", "other"),
        RequestAdmission::Conflict
    ));
    assert!(matches!(again("ada", "other"), RequestAdmission::First(..)));
    replies.store(&key, &slot, reply(), 10);
    assert!(matches!(
        again("owner", "digest"),
        RequestAdmission::Answered(_)
    ));
    assert!(matches!(
        again("owner", "other"),
        RequestAdmission::Conflict
    ));
    // The slot of an earlier request with this id.
    replies.forget(&key, &RequestStartSlot::new());
    assert!(matches!(
        again("owner", "digest"),
        RequestAdmission::Answered(_)
    ));
    replies.forget(&key, &slot);
    assert!(matches!(
        again("owner", "other"),
        RequestAdmission::First(..)
    ));
}

#[test]
fn oldest_answered_requests_are_dropped_first() {
    let replies = ReplyCache::default();
    let open = admit_first(&replies, "open");
    for number in 0..MOST + 10 {
        let (key, slot) = admit_first(&replies, &format!("r{number}"));
        replies.store(&key, &slot, reply(), 10);
    }
    assert_eq!(replies.table().requests.len(), MOST);
    let known = |id: &str| {
        let entered = replies.admit(&Principal::owner(), id, "digest");
        !matches!(entered, RequestAdmission::First(..))
    };
    assert!(known("open") && known(&format!("r{}", MOST + 9)));
    assert!(!known("r0"));
    replies.store(&open.0, &open.1, reply(), MOST_BYTES);
    let table = replies.table();
    assert!(table.bytes <= MOST_BYTES, "{}", table.bytes);
    assert_eq!(
        table.answered.len() + table.open.len(),
        table.requests.len()
    );
    let bytes: usize = table.requests.values().map(|entry| entry.bytes).sum();
    assert_eq!(bytes, table.bytes);
}

#[tokio::test]
async fn waiting_requests_receive_the_start() {
    let slot = RequestStartSlot::new();
    let wait = |slot: Arc<RequestStartSlot>| async move {
        slot.wait_for_start().await.map(|begun| begun.place)
    };
    let one = tokio::spawn(wait(slot.clone()));
    tokio::task::yield_now().await;
    slot.set_start(Err(OpenHarnessError::Busy));
    assert_eq!(one.await.unwrap(), Err(OpenHarnessError::Busy));
    let run = Weak::new();
    let until = WaitCondition::default();
    slot.set_start(Ok(RequestStart {
        kept: true,
        place: cursor(),
        until,
        run,
    }));
    assert_eq!(wait(slot).await, Ok(cursor()));
}
