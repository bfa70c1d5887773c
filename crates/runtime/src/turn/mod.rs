//! A turn as its agent sees it: the context, its tools, and the pipe to the session task.

mod context;
mod pipe;
mod steering;
mod tool;
mod unread;

pub use context::{Question, TurnContext};
pub use steering::{IdleOutcome, IdleWait, Steering, SteeringDelivery};
pub use tool::{ToolBuilder, ToolHandle, ToolOutput};

pub(crate) use context::TurnParts;
pub(crate) use pipe::{IdleRequest, TurnItem, TurnPipe};
pub(crate) use unread::UnreadSteering;
