//! One session: the handles others hold, and the task that owns it.

mod control;
mod handle;
mod live;
mod open_questions;
mod order;
mod roster;
mod running;
mod scribe;
mod seat;
mod settings;
mod settle;
mod shared;
mod split_sequence;
mod stamp;
mod task;

pub use control::Controlled;
pub use handle::{Controller, Observer, Submission};
pub use roster::{Act, AttachClient, Claim, Taking};
pub use seat::{ControlWatch, ControllerInfo, Driver, LiveState, Seat, Term};

pub(crate) use handle::Msg;
pub(crate) use live::Live;
pub(crate) use running::{expiry, first_expired};
pub(crate) use scribe::Scribe;
pub(crate) use settle::{recovery_events, withdrawn_prompts};
pub(crate) use shared::{Shared, lock, or_never};
pub(crate) use task::SessionTask;
