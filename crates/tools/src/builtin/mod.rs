//! The built-in tools: what is known of each before it runs, and what it does when it is called.
//!
//! Each has a file of its own, with its arguments as a type, and the typed way in which agents of ours call it.
//! Files and commands go through the host of the call, which does what the call declared and nothing else.

mod command;
mod edit;
#[cfg_attr(not(feature = "fetch"), path = "fetch_absent.rs")]
mod fetch;
mod find;
mod list;
mod outputs;
mod read;
mod schema;
mod work;
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
pub use find::{SearchScope, short_item};
pub use read::FileRead;
pub(crate) use work::warn;
pub use work::{fail_by, run_by, shown_path, unless_cancelled};

use crate::shells::SessionShells;
use outputs::OutputFolder;

/// A built-in tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BuiltinTool {
    /// `read_file`.
    ReadFile,
    /// `write_file`.
    WriteFile,
    /// `edit_file`.
    EditFile,
    /// `run_command`.
    RunCommand,
    /// `search`.
    Search,
    /// `grep`.
    Grep,
    /// `glob`.
    Glob,
    /// `list_files`.
    ListFiles,
    /// `fetch`.
    Fetch,
}

impl BuiltinTool {
    /// All of them, in the order of the catalogue.
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

    /// Its name, kind and side effects, and the capability of a host that it needs, with the operation.
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

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.facts().0
    }

    /// The one of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|builtin| builtin.name() == name)
    }

    /// What is known of it.
    #[must_use]
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

    /// As the catalogue lists it.
    #[must_use]
    pub fn spec(self) -> ToolSpec {
        let (description, schema) = schema::of(self);
        ToolSpec {
            name: self.name().to_owned(),
            description: description.to_owned(),
            schema: Some(schema),
            annotations: Some(self.annotations()),
            source: ToolSource::Builtin,
            deprecated: false,
        }
    }

    /// Calls it, with arguments that fit its schema.
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
            Self::Search => find::search_for(cx, arguments).await,
            Self::Grep => find::grepped(cx, arguments).await.map(Into::into),
            Self::Glob => list::glob(cx, arguments).await,
            Self::ListFiles => list::list(cx, arguments).await.map(Into::into),
            Self::Fetch => kit.fetch(cx, arguments).await,
        }
    }
}

/// A call of a built-in tool, with what is known of it.
pub fn built_in(cx: &TurnContext, builtin: BuiltinTool) -> ToolBuilder {
    cx.tool(builtin.name()).annotations(builtin.annotations())
}

/// What the built-in tools of a session work with beside its host.
pub(crate) struct BuiltinToolkit {
    outputs: Option<OutputFolder>,
    web: fetch::WebClient,
    /// Whether the host runs commands over its bridge.
    exec_lent: AtomicBool,
    shells: Arc<SessionShells>,
}

impl BuiltinToolkit {
    /// With a folder for files of the session, where there is one.
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

    /// The host has these operations now.
    pub(crate) fn lend(&self, operations: &HostCapabilities) {
        let exec = operations.has("process", "exec");
        self.exec_lent.store(exec, Ordering::Relaxed);
    }

    fn is_exec_lent(&self) -> bool {
        self.exec_lent.load(Ordering::Relaxed)
    }
}
