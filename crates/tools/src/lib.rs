//! The equipment of an agent: files and commands of this machine, path probes, search, and the tools of hosts, MCP
//! servers and skills.
//!
//! [`LocalHost`] is the host port for clients that offer none; [`DiskProbe`] resolves paths; [`Workspace`] walks
//! and searches a folder; [`FileWatch`] reports changes in one. [`BuiltinTool`] lists the tools made of these; a
//! [`Toolbox`] combines them with the tools of other sources, under the names of a [`Catalogue`]. Nothing here
//! depends on a wire.

mod builtin;
mod catalogue;
mod grep;
#[cfg(feature = "mcp")]
mod http;
mod local;
mod lock;
pub mod markdown;
#[cfg(feature = "mcp")]
mod mcp;
#[cfg(not(feature = "mcp"))]
#[path = "mcp_absent.rs"]
mod mcp;
mod mcp_settings;
mod probe;
mod regular_file;
mod search;
pub mod shells;
pub mod skills;
mod stamp;
pub mod tool_search;
mod toolbox;
mod trust;
mod watch;
mod workspace;
pub mod yaml;

pub use builtin::{
    BuiltinTool, CommandEnd, CommandResult, CommandRun, FileRead, SearchScope, builtin_call,
    display_path, fail_by, run_by, run_for_call, run_unless_cancelled, short_item,
};
pub use catalogue::Catalogue;
pub use grep::{GrepLine, GrepResult};
pub use local::{LocalHost, LocalSandboxConfig};
pub use mcp::SessionMcpServers;
pub use mcp_settings::{McpDeadlines, McpSettings};
pub use probe::DiskProbe;
pub use regular_file::{
    LinkPolicy, check_regular_file, none_if_absent, open_regular_file, read_limited,
    read_regular_file,
};
pub use search::{Corpus, SearchError, SearchHit, SearchQuery, SearchResults, defined_name};
pub use stamp::FileStamp;
pub use toolbox::{Toolbox, ToolboxConfig, Toolboxes};
pub use trust::{
    ContentHash, FileHashes, NothingTrusted, StartCheck, TrustLookup, TrustRefusal, WorkspaceTrust,
};
pub use watch::{FileWatch, WatchError};
pub use workspace::{Survey, WalkSummary, Workspace};
