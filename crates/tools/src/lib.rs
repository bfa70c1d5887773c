//! What an agent works with on this machine: files and commands, confinement to a workspace, search.
//!
//! [`LocalHost`] is the host port for clients that offer none; [`DiskProbe`] looks where paths lead, and
//! [`confine`] keeps them inside; [`Workspace`] walks and searches a folder. Nothing here
//! knows a wire, a session's events or an agent.

mod confine;
mod grep;
mod local;
mod probe;
mod search;
mod workspace;

pub use confine::{ConfineError, confine, confine_write};
pub use grep::{Grepped, Line};
pub use local::LocalHost;
pub use probe::DiskProbe;
pub use search::{Corpus, Found, Hit, Query, SearchError, defined_name};
pub use workspace::{Limits, Survey, Walked, Workspace};
