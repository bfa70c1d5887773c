//! A turn as its agent sees it: the context, its tools, and the pipe to the session's task.

mod context;
mod pipe;
mod steering;
mod tool;
mod unread;

pub use context::{Question, TurnContext};
pub use steering::{Delivered, Idle, Steering, Wake};
pub use tool::{ToolBuilder, ToolHandle, ToolOutput};

pub(crate) use context::TurnParts;
pub(crate) use pipe::{Pipe, TurnItem, Wait};
pub(crate) use unread::Unread;
