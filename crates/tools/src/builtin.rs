//! What is known of the built-in tools before they run, for whoever decides whether they may.

use harn_model::{SideEffectLevel, ToolAnnotations, ToolKind};
use serde_json::json;

/// A built-in tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Builtin {
    /// `read_file`.
    ReadFile,
    /// `write_file`.
    WriteFile,
    /// `run_command`.
    RunCommand,
    /// `search`.
    Search,
    /// `grep`.
    Grep,
    /// `list_files`.
    ListFiles,
}

impl Builtin {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadFile => "read_file",
            Self::WriteFile => "write_file",
            Self::RunCommand => "run_command",
            Self::Search => "search",
            Self::Grep => "grep",
            Self::ListFiles => "list_files",
        }
    }

    /// What is known of it.
    #[must_use]
    pub fn annotations(self) -> ToolAnnotations {
        use SideEffectLevel::{ProcessExec, ReadOnly, WorkspaceWrite};
        let (kind, side_effect_level, capability, operation) = match self {
            Self::ReadFile => (ToolKind::Read, ReadOnly, "workspace", "read_text"),
            Self::WriteFile => (ToolKind::Edit, WorkspaceWrite, "workspace", "write_text"),
            Self::RunCommand => (ToolKind::Execute, ProcessExec, "process", "exec"),
            Self::Search | Self::Grep => (ToolKind::Search, ReadOnly, "workspace", "search"),
            Self::ListFiles => (ToolKind::Search, ReadOnly, "workspace", "list"),
        };
        ToolAnnotations {
            kind,
            side_effect_level,
            arg_schema: Some(json!({"path_params": ["path"]})),
            capabilities: [(capability.to_owned(), vec![operation.to_owned()])].into(),
            ..ToolAnnotations::default()
        }
    }
}
