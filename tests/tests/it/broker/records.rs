//! Checks the journals of a session and its workers after a turn, whatever its clients did.

use std::{collections::BTreeMap, fs};

use harn_journal::{JsonlStore, Store};
use harn_model::{AgentEvent, AskId, ErrorCategory, SessionId, ToolCallId, ToolCallStatus};
use harn_testkit::TestHub;

/// The records of one call.
#[derive(Clone, Copy, Debug, Default)]
struct Call {
    grants: usize,
    denials: usize,
    started: usize,
    ended: usize,
    cancelled: bool,
}

/// Checks every journal; returns how many calls were granted.
pub(crate) fn check(test: &TestHub) -> usize {
    let threads = fs::read_dir(test.state_dir().join("threads")).unwrap();
    let sessions = threads.map(|entry| entry.unwrap().file_name());
    sessions
        .map(|id| check_one(test, &id.to_string_lossy().as_ref().into()))
        .sum()
}

fn check_one(test: &TestHub, session: &SessionId) -> usize {
    let store = JsonlStore::new(test.state_dir());
    let (_, events) = store.read(session).unwrap();
    let mut asks: BTreeMap<AskId, usize> = BTreeMap::new();
    let mut calls: BTreeMap<ToolCallId, Call> = BTreeMap::new();
    let mut turns = 0_i32;
    for envelope in &events {
        match &envelope.event {
            AgentEvent::TurnStarted(_) => turns += 1,
            AgentEvent::TurnEnded(_) => turns -= 1,
            AgentEvent::PermissionAsked(ask) => {
                assert_eq!(asks.insert(ask.ask_id.clone(), 0), None, "asked twice");
            }
            AgentEvent::PermissionResolved(resolved) => {
                let settled = asks.get_mut(&resolved.ask_id);
                *settled.expect("what is settled was asked") += 1;
            }
            AgentEvent::ToolCall(call) => {
                let before = calls.insert(call.tool_call_id.clone(), Call::default());
                assert!(before.is_none(), "announced twice");
            }
            AgentEvent::PermissionGrant(record) => {
                let call = calls.get_mut(&record.tool_call_id).unwrap();
                assert_eq!(call.started, 0, "it ran before it was granted");
                call.grants += 1;
            }
            AgentEvent::PermissionDeny(record) => {
                calls.get_mut(&record.tool_call_id).unwrap().denials += 1;
            }
            AgentEvent::ToolCallUpdate(update) => {
                let call = calls.get_mut(&update.tool_call_id).unwrap();
                assert_eq!(call.ended, 0, "something comes after its end");
                if update.status == ToolCallStatus::InProgress {
                    assert_eq!(call.grants, 1, "it runs and was not granted");
                    call.started += 1;
                }
                if update.status.is_terminal() {
                    call.ended += 1;
                    call.cancelled = update.error_category == Some(ErrorCategory::Cancelled);
                    let well = update.status == ToolCallStatus::Completed;
                    assert_eq!(call.started > 0, well || call.cancelled && call.grants > 0);
                }
            }
            _ => {}
        }
    }
    assert_eq!(turns, 0, "{session}: a turn is open");
    for (ask, settled) in &asks {
        assert_eq!(*settled, 1, "{session}: {ask} is settled so often");
    }
    for (id, call) in &calls {
        assert_eq!(call.ended, 1, "{session}: {id}: {call:?}");
        // A cancelled turn records no decision about its open calls.
        let decided = call.grants + call.denials;
        assert!(
            decided == 1 || call.cancelled && decided == 0,
            "{session}: {id}: {call:?}"
        );
        assert!(
            call.grants == 1 || call.started == 0,
            "{session}: {id}: {call:?}"
        );
    }
    calls.values().map(|call| call.grants).sum()
}
