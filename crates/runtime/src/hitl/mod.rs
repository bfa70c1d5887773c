//! Requests to a person: questions, approvals, dual control and escalations.
//!
//! All kinds share one mechanism: an event for the request, one for each answer, and exactly one for its end.
//! The session task stores the open requests of the turn that sent them; a worker's requests are relayed to
//! the root session, which has clients to ask. This module contains no wire protocol.

mod ask;
mod open;
mod outcome;

pub use ask::{ApprovalBuilder, EscalationBuilder, QuestionBuilder};
pub use outcome::{Answer, Takeover, Verdict};

/// Compiles the examples of the guide as doctests.
#[cfg(doctest)]
#[doc = include_str!("../../../../docs/hitl.md")]
struct HitlGuide;

pub(crate) use open::{HitlEnd, OpenHitl, PendingHitl, ResponseTally};
