//! The agents that ship with us. They need no model and no network, know no wire, and use files and
//! commands only through the turn's host; searching is the tools room's.

mod explore;
mod script;

pub use explore::ExploreAgent;
pub use script::{ScenarioError, ScriptAgent};
