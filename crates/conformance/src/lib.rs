//! What holds for every conversation over ACP with the extensions, checked on a recording of one.
//!
//! A [`Checker`] is handed the lines of a recording in their order and says which breaks which [`ConformanceRule`].
//! It looks and never serves: nothing of it runs, or is even built, while an agent is served. [`verify`] reads files for it, and
//! [`fixtures`] are the recordings of `fixtures/acp`.
//!
//! ```
//! use harn_conformance::{Checker, ConformanceRule};
//!
//! let mut checker = Checker::new();
//! let findings = checker.line(r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s",
//!     "update":{"sessionUpdate":"tool_call_update","toolCallId":"never-announced"}}}"#);
//! assert_eq!(findings[0].rule, ConformanceRule::UpdateBeforeCall);
//! ```

mod acp_shapes;
mod activity;
mod advertised;
mod bridge;
mod catalogue;
mod checker;
mod composition;
mod envelope;
mod explain;
mod extensions;
mod meta;
mod methods;
mod permission;
mod recording;
mod requests;
mod roster;
mod rule;
mod session;
mod shape;
mod steering;
mod stream;
#[cfg(test)]
mod tests;
mod tools;
mod verify;

use std::fmt;

pub use catalogue::{Fixture, find_fixture, fixtures};
pub use checker::Checker;
pub use rule::ConformanceRule;
use serde::Serialize;
pub use verify::{FileVerdict, verify};

/// Which way a line went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub enum TrafficDirection {
    /// From the client to the agent.
    #[serde(rename = "agent")]
    ToAgent,
    /// From the agent to the client.
    #[serde(rename = "client")]
    ToClient,
}

impl TrafficDirection {
    pub(crate) fn back(self) -> Self {
        match self {
            Self::ToAgent => Self::ToClient,
            Self::ToClient => Self::ToAgent,
        }
    }
}

/// A line that breaks a rule.
///
/// The message names members, ids and methods and never repeats a text, which may be somebody's secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ConformanceFinding {
    /// The line, counted from one.
    pub line: usize,
    /// Which way it went, if that is known: a line to the agent is the client's mistake.
    #[serde(rename = "to", skip_serializing_if = "Option::is_none")]
    pub direction: Option<TrafficDirection>,
    /// The rule.
    pub rule: ConformanceRule,
    /// What about the line breaks it.
    pub message: String,
}

impl fmt::Display for ConformanceFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rule, message, .. } = self;
        write!(f, "{rule}: {message}")?;
        match self.direction {
            Some(TrafficDirection::ToAgent) => f.write_str(" (sent by the client)"),
            Some(TrafficDirection::ToClient) | None => Ok(()),
        }
    }
}

/// What a check of a single message finds; the line and its direction are added where they are known.
type MessageFindings = Vec<(ConformanceRule, String)>;

/// A name from the wire, short and plain enough to be shown.
fn shown(name: &str) -> String {
    const LIMIT: usize = 64;
    let plain = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    let mut text: String = name.chars().take(LIMIT).map(plain).collect();
    if name.chars().nth(LIMIT).is_some() {
        text.push('…');
    }
    format!("`{text}`")
}

/// Some names, and whether there are more.
fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    const LIMIT: usize = 4;
    let mut names = names.into_iter();
    let mut text: Vec<_> = names.by_ref().take(LIMIT).map(shown).collect();
    match names.count() {
        0 => {}
        more => text.push(format!("{more} more")),
    }
    text.join(", ")
}
