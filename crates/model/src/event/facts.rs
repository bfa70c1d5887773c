//! What the table of events states about each of them besides its payload.

/// Who may write an event. An agent cannot end its own turn behind the runtime's back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Author {
    /// An agent, during its turn.
    Agent,
    /// The runtime only; the text says how it comes about.
    Runtime(&'static str),
}

/// What an event must survive once it was published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// The end of the process: it is with the operating system.
    Written,
    /// The end of the machine's power too: it is on the disk. For what somebody relies on having been
    /// told: decisions, settings, ends.
    Synced,
}
