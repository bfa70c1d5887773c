//! What an agent works with on this machine: files and commands, where paths lead, search.
//!
//! [`LocalHost`] is the host port for clients that offer none; [`DiskProbe`] looks where paths lead;
//! [`Workspace`] walks and searches a folder; [`Watch`] tells what changes in one; [`Builtin`] are the tools made
//! of these; a [`Toolbox`] has them beside those of others, under the names of a [`Catalogue`].
//! Nothing here knows a wire or an agent.

mod builtin;
mod catalogue;
mod grep;
mod local;
pub mod markdown;
mod probe;
mod search;
mod toolbox;
mod watch;
mod workspace;

pub use builtin::{
    Builtin, CommandEnd, FileRead, Part, Ran, built_in, fail_by, run_by, short_item, shown_path,
    unless_cancelled,
};
pub use catalogue::Catalogue;
pub use grep::{Grepped, Line};
pub use local::LocalHost;
pub use probe::DiskProbe;
pub use search::{Corpus, Found, Hit, Query, SearchError, defined_name};
pub use toolbox::{Deadlines, NothingTrusted, Toolbox, ToolboxConfig, Toolboxes, Trust};
pub use watch::{Watch, WatchError};
pub use workspace::{Limits, Survey, Walked, Workspace};
