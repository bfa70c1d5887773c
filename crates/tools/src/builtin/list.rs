//! `list_files` and `glob`: list names of files. They read the disk directly.

use harn_model::{Location, ToolContent, ToolExecutor};
use harn_runtime::{AgentError, BoxFuture, ToolError, ToolOutput, TurnContext};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    BuiltinTool, builtin_call,
    execution::{display_path, parse, run_by, to_json},
};
use crate::{Toolbox, Workspace};

/// The default number of files of a glob; the constant below is the maximum.
const MATCHES: usize = 200;
pub(super) const MAX_MATCHES: usize = 2000;

/// The names in a folder.
#[derive(Clone, Debug)]
pub(super) struct FolderListing(Vec<String>);

impl From<FolderListing> for ToolOutput {
    fn from(FolderListing(names): FolderListing) -> Self {
        Self {
            content: Some(vec![ToolContent::text(names.join("\n"))]),
            raw: Some(to_json(&names)),
            ..Self::default()
        }
    }
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct ListInput {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    path: Option<String>,
}

pub(super) fn list<'a>(
    cx: &'a TurnContext,
    input: Value,
) -> BoxFuture<'a, Result<FolderListing, AgentError>> {
    Box::pin(async move {
        const NO_FOLDER: &str = "the arguments name no folder";
        let ListInput { path } = parse(&input, NO_FOLDER)?;
        let folder = cx.host().absolute(path.unwrap_or_else(|| ".".to_owned()));
        let shown = display_path(cx.cwd(), &folder);
        let title = match shown.trim_start_matches("./") {
            "" | "." => "List the workspace".to_owned(),
            shown => format!("List {shown}"),
        };
        let tool = builtin_call(cx, BuiltinTool::ListFiles).input(input);
        let call = tool.title(title).location(&folder, None).start().await?;
        let (host, input) = (call.host().clone(), call.input().clone());
        let work = async {
            // The permission answer may have named another folder.
            let ListInput { path } = parse(&input, NO_FOLDER)?;
            let mut workspace = Workspace::new(cx.cwd());
            if let Some(path) = path {
                workspace = workspace.folder(host.absolute(path));
            }
            Ok::<_, ToolError>(FolderListing(workspace.list_top().await?))
        };
        run_by(cx, call, ToolExecutor::HarnBuiltin, work).await
    })
}

impl Toolbox {
    /// Calls `list_files` for the session's directory; names it, so that rules can match it.
    pub async fn list_files(&self, cx: &TurnContext) -> Result<Vec<String>, AgentError> {
        let path = Some(cx.cwd().display().to_string());
        Ok(list(cx, to_json(ListInput { path })).await?.0)
    }
}

#[derive(Serialize)]
struct GlobOutput<'a> {
    files: &'a [String],
    more: bool,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct GlobInput {
    pattern: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    limit: Option<usize>,
}

/// Lists the files that match a glob.
pub(super) async fn glob(cx: &TurnContext, input: Value) -> Result<ToolOutput, AgentError> {
    const NO_GLOB: &str = "the arguments have no pattern";
    let GlobInput { pattern, .. } = parse(&input, NO_GLOB)?;
    let filter = cx.host().read_filter().await;
    let tool = builtin_call(cx, BuiltinTool::Glob).input(input);
    let call = tool
        .title(format!("Files that match {pattern}"))
        .start()
        .await?;
    let input = call.input().clone();
    let work = async {
        // The permission answer may have replaced the pattern.
        let GlobInput { pattern, limit } = parse(&input, NO_GLOB)?;
        let workspace = Workspace::new(cx.cwd()).with_filter(move |path| filter.allows(path));
        let limit = limit.unwrap_or(MATCHES).min(MAX_MATCHES);
        let (files, more) = workspace.glob(&pattern, limit).await?;
        let location = |file: &String| Location {
            path: cx.cwd().join(file).display().to_string(),
            line: None,
        };
        let mut shown = match files.len() {
            0 => "No file matches.\n".to_owned(),
            _ => files.join("\n") + "\n",
        };
        if more {
            let count = files.len();
            shown += &format!("\nThese are the first {count}; there are more.\n");
        }
        Ok::<_, ToolError>(ToolOutput {
            content: Some(vec![ToolContent::text(shown)]),
            raw: Some(to_json(GlobOutput {
                files: &files,
                more,
            })),
            locations: Some(files.iter().map(location).collect()),
            ..ToolOutput::default()
        })
    };
    run_by(cx, call, ToolExecutor::HarnBuiltin, work).await
}
