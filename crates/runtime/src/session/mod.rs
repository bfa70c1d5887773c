//! One session: its handles, and the task that owns it.

mod control;
mod handle;
mod live;
mod open_questions;
mod order;
mod roster;
mod running_turn;
mod scribe;
mod seat;
mod settings;
mod settlement;
mod shared_session;
mod split_sequence;
mod stamper;
mod task;

pub use control::AppliedControl;
pub use handle::{Controller, Observer, PromptSubmission};
pub use roster::{AttachClient, ControlPreemption, DriverAction, SeatClaim};
pub use seat::{ControlWatch, ControllerInfo, Driver, LiveState, Seat, SeatTerm};

pub(crate) use handle::TaskRequest;
pub(crate) use live::LiveRoster;
pub(crate) use running_turn::{expiry, wait_first_expired};
pub(crate) use scribe::EventScribe;
pub(crate) use settlement::{recovery_events, withdrawn_prompts};
pub(crate) use shared_session::{SharedSession, lock, or_never};
pub(crate) use task::SessionTask;
