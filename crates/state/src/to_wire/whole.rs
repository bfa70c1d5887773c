//! A document as it is sent: written piece by piece as it is taken, so that one that is long is never there
//! as a text.

use bytes::Bytes;
use serde::Serialize;

use crate::wire::{
    Approval, Client, PlanItem, Question, SessionFacts, State, UsageFacts, WorkerFacts,
};

/// How long a piece gets before it is handed out.
const PIECE_BYTES: usize = 16 * 1024;

/// What of a document is not messages, and comes behind them.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Rest<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    error: &'a Option<String>,
    session: &'a SessionFacts,
    plan: &'a [PlanItem],
    workers: &'a [WorkerFacts],
    skills: &'a [String],
    usage: &'a Option<UsageFacts>,
    approvals: &'a [Approval],
    questions: &'a [Question],
    clients: &'a [Client],
    controller: &'a Option<String>,
}

/// The pieces of a document, between what comes before and behind it in a message.
pub(crate) fn pieces(
    state: State,
    before: &'static str,
    behind: &'static str,
) -> impl Iterator<Item = Bytes> {
    let mut next = Some(0);
    std::iter::from_fn(move || {
        let first = next?;
        let mut piece = Vec::with_capacity(PIECE_BYTES);
        if first == 0 {
            piece.extend_from_slice(before.as_bytes());
            piece.extend_from_slice(br#"{"status":"#);
            write(&state.status, &mut piece);
            piece.extend_from_slice(br#","messages":["#);
        }
        let mut index = first;
        while piece.len() < PIECE_BYTES
            && let Some(message) = state.messages.get(index)
        {
            if index > 0 {
                piece.push(b',');
            }
            write(message, &mut piece);
            index += 1;
        }
        next = (index < state.messages.len()).then_some(index);
        if next.is_none() {
            piece.extend_from_slice(b"],");
            let mut rest = Vec::new();
            write(&rest_of(&state), &mut rest);
            // Goes on in the object that was begun.
            piece.extend_from_slice(rest.strip_prefix(b"{").unwrap_or(&rest));
            piece.extend_from_slice(behind.as_bytes());
        }
        Some(piece.into())
    })
}

fn rest_of(state: &State) -> Rest<'_> {
    let State {
        status: _,
        messages: _,
        error,
        session,
        plan,
        workers,
        skills,
        usage,
        approvals,
        questions,
        clients,
        controller,
    } = state;
    Rest {
        error,
        session,
        plan,
        workers,
        skills,
        usage,
        approvals,
        questions,
        clients,
        controller,
    }
}

/// Nothing in a document fails to be written.
fn write(value: &impl Serialize, piece: &mut Vec<u8>) {
    let _ = serde_json::to_writer(piece, value);
}
