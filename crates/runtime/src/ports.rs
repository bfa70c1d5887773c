//! The world, as far as the runtime needs it: time and names. Passed in, so that tests pass fakes.

use std::time::Duration;

use harn_model::Timestamp;

/// Reads the time. Waiting goes through tokio, whose clock tests can pause.
pub trait Clock: Send + Sync + 'static {
    /// Milliseconds since the Unix epoch.
    fn now(&self) -> Timestamp;

    /// Time that only moves forward, from an arbitrary start.
    fn elapsed(&self) -> Duration;
}

/// What an id is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IdKind {
    /// A session; must be 1 to 128 letters, digits, `-` or `_`.
    Session,
    /// A turn.
    Turn,
    /// A message.
    Message,
    /// A tool call.
    ToolCall,
    /// A question.
    Ask,
    /// A delegated worker.
    Worker,
    /// A handoff.
    Handoff,
    /// A reminder.
    Reminder,
    /// A control: something that was wanted of a running session.
    Control,
}

/// Mints ids that nothing else has.
pub trait IdSource: Send + Sync + 'static {
    /// A fresh id.
    fn mint(&self, kind: IdKind) -> String;
}
