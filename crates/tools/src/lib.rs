//! What an agent works with on this machine: files and commands, where paths lead, search.
//!
//! [`LocalHost`] is the host port for clients that offer none; [`DiskProbe`] looks where paths lead;
//! [`Workspace`] walks and searches a folder; [`Watch`] tells what changes in one; [`Builtin`] says what is
//! known of the tools made of these. [`tool_search`] finds tools in a large catalogue; [`shells`] finds shells.
//! Nothing here knows a wire, a session's events or an agent.

mod builtin;
mod grep;
mod local;
mod probe;
mod search;
pub mod shells;
pub mod tool_search;
mod watch;
mod workspace;

pub use builtin::Builtin;
pub use grep::{Grepped, Line};
pub use local::LocalHost;
pub use probe::DiskProbe;
pub use search::{Corpus, Found, Hit, Query, SearchError, defined_name};
pub use watch::{Watch, WatchError};
pub use workspace::{Limits, Survey, Walked, Workspace};
