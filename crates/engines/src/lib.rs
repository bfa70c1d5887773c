//! The agents that ship with us. They need no model and no network, know no wire, and use files and
//! commands only through the turn's host.

mod script;

pub use script::{ScenarioError, ScriptAgent};
