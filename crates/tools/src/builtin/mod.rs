//! The built-in tools: the properties of each and its implementation.
//!
//! Each has its own file with its argument type and a typed function for the agents in this workspace. Files and
//! commands go through the host of the call, which permits only what the call declared.

mod command;
mod edit;
mod execution;
#[cfg_attr(not(feature = "fetch"), path = "fetch_absent.rs")]
mod fetch;
mod list;
mod outputs;
mod read;
mod schema;
mod search;
mod write;

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use harn_model::{
    HostCapabilities, SideEffectLevel, ToolAnnotations, ToolKind, ToolSource, ToolSpec,
};
use harn_runtime::{AgentError, ToolBuilder, ToolOutput, TurnContext};
use serde_json::{Value, json};

pub use command::{CommandEnd, CommandResult, CommandRun, run_for_call};
pub(crate) use execution::warn;
pub use execution::{display_path, fail_by, run_by, run_unless_cancelled};
pub use read::FileRead;
pub use search::{SearchScope, short_item};

use crate::shells::SessionShells;
use outputs::OutputFolder;

/// A built-in tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BuiltinTool {
    /// The tool `read_file`.
    ReadFile,
    /// The tool `write_file`.
    WriteFile,
    /// The tool `edit_file`.
    EditFile,
    /// The tool `run_command`.
    RunCommand,
    /// The tool `search`.
    Search,
    /// The tool `grep`.
    Grep,
    /// The tool `glob`.
    Glob,
    /// The tool `list_files`.
    ListFiles,
    /// The tool `fetch`.
    Fetch,
}

impl BuiltinTool {
    /// All built-in tools, in the order of the catalogue.
    pub const ALL: [Self; 8 + cfg!(feature = "fetch") as usize] = [
        Self::ReadFile,
        Self::WriteFile,
        Self::EditFile,
        Self::RunCommand,
        Self::Search,
        Self::Grep,
        Self::Glob,
        Self::ListFiles,
        #[cfg(feature = "fetch")]
        Self::Fetch,
    ];

    /// Returns the name, kind and side effects, and the host capability and operation that the tool needs.
    fn facts(self) -> (&'static str, ToolKind, SideEffectLevel, [&'static str; 2]) {
        use SideEffectLevel::{Network, ProcessExec, ReadOnly, WorkspaceWrite};
        use ToolKind::{Edit, Execute, Fetch, Read, Search};
        match self {
            Self::ReadFile => ("read_file", Read, ReadOnly, ["workspace", "read_text"]),
            Self::WriteFile => (
                "write_file",
                Edit,
                WorkspaceWrite,
                ["workspace", "write_text"],
            ),
            Self::EditFile => (
                "edit_file",
                Edit,
                WorkspaceWrite,
                ["workspace", "write_text"],
            ),
            Self::RunCommand => ("run_command", Execute, ProcessExec, ["process", "exec"]),
            Self::Search => ("search", Search, ReadOnly, ["workspace", "search"]),
            Self::Grep => ("grep", Search, ReadOnly, ["workspace", "search"]),
            Self::Glob => ("glob", Search, ReadOnly, ["workspace", "list"]),
            Self::ListFiles => ("list_files", Search, ReadOnly, ["workspace", "list"]),
            Self::Fetch => ("fetch", Fetch, Network, ["network", "fetch"]),
        }
    }

    /// Returns the tool's name.
    pub fn name(self) -> &'static str {
        self.facts().0
    }

    /// Returns the tool with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|builtin| builtin.name() == name)
    }

    /// Returns the tool's annotations.
    pub fn annotations(self) -> ToolAnnotations {
        let (_, kind, side_effect_level, [capability, operation]) = self.facts();
        ToolAnnotations {
            kind,
            side_effect_level,
            arg_schema: Some(json!({"path_params": ["path"]})),
            capabilities: [(capability.to_owned(), vec![operation.to_owned()])].into(),
            ..ToolAnnotations::default()
        }
    }

    /// Returns the tool's entry in the catalogue.
    pub fn spec(self) -> ToolSpec {
        let (description, schema) = schema::description_and_schema(self);
        ToolSpec {
            name: self.name().to_owned(),
            description: description.to_owned(),
            schema: Some(schema),
            annotations: Some(self.annotations()),
            source: ToolSource::Builtin,
            deprecated: false,
        }
    }

    /// Calls the tool with arguments that fit its schema.
    pub(crate) async fn call(
        self,
        cx: &TurnContext,
        kit: &BuiltinToolkit,
        arguments: Value,
    ) -> Result<ToolOutput, AgentError> {
        match self {
            Self::ReadFile => kit
                .read(cx, arguments, read::FileView::Page)
                .await
                .map(Into::into),
            Self::WriteFile => write::write(cx, arguments).await.map(Into::into),
            Self::EditFile => edit::edit(cx, arguments).await.map(Into::into),
            Self::RunCommand => kit.call_command(cx, arguments).await,
            Self::Search => search::call_search(cx, arguments).await,
            Self::Grep => search::call_grep(cx, arguments).await.map(Into::into),
            Self::Glob => list::glob(cx, arguments).await,
            Self::ListFiles => list::list(cx, arguments).await.map(Into::into),
            Self::Fetch => kit.fetch(cx, arguments).await,
        }
    }
}

/// Begins a call of a built-in tool, with its annotations.
pub fn builtin_call(cx: &TurnContext, builtin: BuiltinTool) -> ToolBuilder {
    cx.tool(builtin.name()).annotations(builtin.annotations())
}

/// The resources of a session's built-in tools besides its host.
pub(crate) struct BuiltinToolkit {
    outputs: Option<OutputFolder>,
    web: fetch::WebClient,
    /// Whether the host runs commands over its bridge.
    exec_lent: AtomicBool,
    shells: Arc<SessionShells>,
}

impl BuiltinToolkit {
    /// Creates the toolkit; `files` is the folder for files of the session, if there is one.
    pub(crate) fn new(
        files: Option<PathBuf>,
        env: Arc<BTreeMap<String, String>>,
        shells: Arc<SessionShells>,
    ) -> Self {
        Self {
            outputs: files.map(OutputFolder::new),
            web: fetch::WebClient::new(env),
            exec_lent: AtomicBool::new(false),
            shells,
        }
    }

    /// Stores whether the host now offers `process.exec`.
    pub(crate) fn set_host_operations(&self, operations: &HostCapabilities) {
        let exec = operations.has("process", "exec");
        self.exec_lent.store(exec, Ordering::Relaxed);
    }

    fn is_exec_lent(&self) -> bool {
        self.exec_lent.load(Ordering::Relaxed)
    }
}
