//! Tool search and shells as a session uses them: events, hosts that lend, and hosts that do not.

mod shells;
mod support;
mod tool_search;
