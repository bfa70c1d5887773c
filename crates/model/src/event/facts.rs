//! Facts that the table of events states about each event besides its payload.

/// The party that may write an event. An agent cannot end its own turn without the runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Author {
    /// An agent, during its turn.
    Agent,
    /// Only the runtime; the text states when it writes the event.
    Runtime(&'static str),
}

/// The failures that a published event must survive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// The end of the process: the operating system has the event.
    Written,
    /// A power failure as well: the event is on the disk. For events that a client relies on once it receives
    /// them: decisions, settings, ends.
    Synced,
}
