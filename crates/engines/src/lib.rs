//! The agents that ship with `harn-serve`. They need no model and no network, know no wire, and use files and
//! commands only through the turn's host; `harn-tools` does the searching.

mod explore;
mod script;

pub use explore::ExploreAgent;
pub use script::{ScenarioError, ScriptAgent};
