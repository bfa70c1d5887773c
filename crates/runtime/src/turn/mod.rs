//! A turn as its agent sees it: the context, its tools, and the pipe to the session's task.

mod context;
mod pipe;
mod tool;

pub use context::{Question, Steering, TurnContext};
pub use tool::{ToolBuilder, ToolHandle, ToolOutput};

pub(crate) use context::TurnParts;
pub(crate) use pipe::{Pipe, TurnItem};
