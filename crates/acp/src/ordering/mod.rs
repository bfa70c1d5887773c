//! The order of lines on one connection: which line may overtake which, and why.
//!
//! Three kinds of lines leave on a connection: answers to the client, requests to it, and the updates of its sessions.
//! Answers and requests pass through the SDK, which matches them by id and has an unbounded queue of its own. Updates
//! do not pass through the SDK: each session has a task (`pump`) that encodes them and sends them straight to the
//! bounded queue of the writer. So an update could overtake an answer that was given first. This module keeps the
//! promises of `docs/acp.md`, "Order", without a lock around the two.
//!
//! | part | guarantee |
//! |---|---|
//! | [`ConnectionOrder::write`] | One task moves everything from the SDK into the writer's queue, in the order in which the SDK sent it. |
//! | [`AnswerGates`] | A line that must not overtake an answer, or a question of ours, waits at a gate. The gate opens when the answer or the question is in the writer's queue, or the connection has ended. A gate is made before the answer is given, so it cannot be missed. |
//! | [`UnansweredControls`] | The outcome of a control (inject, remind, cancel, …) waits for the answer to the request that asked for it, also if the session's task reports the outcome first. |
//! | [`SessionLanes`] | Requests that open, join or leave the same session run one after another, in the order in which they were read. Requests about different sessions do not wait for each other. |
//! | [`OpenRequests`] | Each answer carries the session that its request named, for transports with a stream per session. At the end of the input, everything that was read is answered, except prompts. |
//! | [`Backlog`] | A client that sends requests and does not read answers is not read from any further, so the SDK's queue stays bounded. |
//!
//! # Which line overtakes which
//!
//! - Updates of one session leave in the order of its log. Its task sends the answer to a prompt behind the last update
//!   of the turn, waits at the gate of that answer, and only then sends updates of the next turn.
//! - The answer that opens a session leaves before its first update: the session's task starts behind its gate. A replay
//!   leaves before the answer to `session/load`.
//! - A question leaves before the end of the call that it is about.
//! - The answer to a request that steers a turn overtakes updates that wait to be written
//!   ([`AnswerGates::gate_behind_priority_answer`]), so steering does not wait for a slow reader. Updates that the
//!   request causes stay behind it.
//! - Nothing else overtakes. Sessions are independent of each other, and so are requests without a session.
//!
//! # What this module must not do
//!
//! It does not wait for a client: the task that reads requests also reads the answers to ours. It does not look into
//! messages beyond their ids, the session and the call that they name.

mod backlog;
mod gate;
mod input;
mod lane;
mod open_requests;
mod output;
#[cfg(test)]
mod tests;
mod unsolicited_answers;

use self::{backlog::Backlog, open_requests::OpenRequests};
use crate::transport::PieceSender;

pub(crate) use self::{
    gate::{AnswerGates, ControlKey, Gate, UnansweredControls},
    lane::{LaneSlot, SessionLanes},
};

/// The order of one connection; see the module.
pub(crate) struct ConnectionOrder {
    pub(crate) outgoing: PieceSender,
    pub(crate) gates: AnswerGates,
    pub(crate) lanes: SessionLanes,
    routes: OpenRequests,
    backlog: Backlog,
}

impl ConnectionOrder {
    pub(crate) fn new(outgoing: PieceSender) -> Self {
        Self {
            outgoing,
            gates: AnswerGates::default(),
            lanes: SessionLanes::default(),
            routes: OpenRequests::default(),
            backlog: Backlog::default(),
        }
    }

    /// Resolves when every request except prompts has its answer.
    pub(crate) async fn wait_until_answered(&self) {
        self.routes.wait_until_answered().await;
    }
}
