//! What an agent works with on this machine: files and commands, where paths lead, search.
//!
//! [`LocalHost`] is the host port for clients that offer none; [`DiskProbe`] looks where paths lead;
//! [`Workspace`] walks and searches a folder; [`Watch`] tells what changes in one; [`Builtin`] says what is
//! known of the tools made of these. [`Servers`] has the MCP servers of a session.
//! Nothing here knows a wire, a session's events or an agent.

mod builtin;
mod grep;
mod http;
mod local;
mod mcp;
mod probe;
mod search;
mod watch;
mod workspace;

pub use builtin::Builtin;
pub use grep::{Grepped, Line};
pub use local::LocalHost;
pub use mcp::{McpDeadlines, McpSettings, Servers};
pub use probe::DiskProbe;
pub use search::{Corpus, Found, Hit, Query, SearchError, defined_name};
pub use watch::{Watch, WatchError};
pub use workspace::{Limits, Survey, Walked, Workspace};
