//! The runtime's ports to the outside: time and ids. The caller passes them in, so tests can pass fakes.

use std::time::Duration;

use harn_model::Timestamp;

/// Reads the time. Waiting goes through tokio, whose clock tests can pause.
pub trait Clock: Send + Sync + 'static {
    /// Returns the milliseconds since the Unix epoch.
    fn now(&self) -> Timestamp;

    /// Returns monotonic time, from an arbitrary start.
    fn elapsed(&self) -> Duration;
}

/// The kind of thing that an id names.
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
    /// A control: a request to a running session.
    Control,
}

/// Mints unique ids.
pub trait IdSource: Send + Sync + 'static {
    /// Returns a fresh id.
    fn mint(&self, kind: IdKind) -> String;
}
