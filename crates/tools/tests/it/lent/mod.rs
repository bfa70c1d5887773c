//! Tool search and shells as a session uses them: events, hosts that lend, and hosts that do not.

mod rig;
mod shells;
mod tool_search;
