//! Asking a person: questions, approvals, dual control and escalations.
//!
//! One mechanism for all of them: an event for the question, one for each answer, and exactly one for its
//! end. What is open belongs to the turn that asks, in the session's task; a worker's goes up to the
//! session at the top, where somebody can be asked. No wire is known here.

mod ask;
mod open;
mod outcome;

pub use ask::{ApprovalBuilder, EscalationBuilder, QuestionBuilder};
pub use outcome::{Answer, Takeover, Verdict};

/// The examples of the page about it, so that they compile.
#[cfg(doctest)]
#[doc = include_str!("../../../../docs/hitl.md")]
struct HitlGuide;

pub(crate) use open::{HitlEnd, OpenHitl, PendingHitl, ResponseTally};
