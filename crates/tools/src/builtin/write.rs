//! `write_file`, and the steps of every change of a file: show a diff, ask for permission, write through the host,
//! and report the text that was saved.

use std::path::{Path, PathBuf};

use harn_model::ToolContent;
use harn_runtime::{
    AgentError, BoxFuture, Host, HostError, ToolError, ToolHandle, ToolOutput, TurnContext,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    BuiltinTool, builtin_call,
    execution::{display_path, executor, fail_by, parse, run_by, to_json},
};
use crate::Toolbox;

/// A change that was made, for the output of its call.
#[derive(Clone, Debug)]
pub(super) struct FileChange {
    target: PathBuf,
    diff: ToolContent,
    /// The client saved a different text than it received.
    otherwise: bool,
}

impl From<FileChange> for ToolOutput {
    fn from(written: FileChange) -> Self {
        let mut content = vec![written.diff];
        if written.otherwise {
            content.push(ToolContent::text(
                "The client saved a different text; the change shows the saved text.\n",
            ));
        }
        Self {
            content: Some(content),
            ..Self::default()
        }
    }
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct WriteInput {
    path: String,
    content: String,
}

impl Toolbox {
    /// Calls `write_file` and returns the path it wrote.
    pub async fn write_file(
        &self,
        cx: &TurnContext,
        path: &str,
        text: &str,
    ) -> Result<PathBuf, AgentError> {
        let input = to_json(WriteInput {
            path: path.to_owned(),
            content: text.to_owned(),
        });
        Ok(write(cx, input).await?.target)
    }
}

/// Writes a file if it is allowed.
pub(super) async fn write(cx: &TurnContext, input: Value) -> Result<FileChange, AgentError> {
    let make = |input: &Value, _: Option<&str>| {
        let input: WriteInput = parse(input, NOT_A_FILE)?;
        Ok(input.content)
    };
    change_file(cx, BuiltinTool::WriteFile, make, input).await
}

/// The error for arguments that do not describe a change.
pub(super) const NOT_A_FILE: &str = "the arguments do not describe a file";

/// Computes the new text of a file from the arguments and its current text, if the file exists.
type NewTextFn = fn(&Value, Option<&str>) -> Result<String, ToolError>;

#[derive(Deserialize)]
struct PathInput {
    path: String,
}

/// Changes a file with one of the editing tools if it is allowed.
pub(super) fn change_file<'a>(
    cx: &'a TurnContext,
    builtin: BuiltinTool,
    make: NewTextFn,
    input: Value,
) -> BoxFuture<'a, Result<FileChange, AgentError>> {
    Box::pin(async move {
        let PathInput { path } = parse(&input, NOT_A_FILE)?;
        let target = cx.host().absolute(&path);
        let shown = display_path(cx.cwd(), &target);
        let old = match read_old_text(cx.host(), &target, false).await {
            Ok(old) => Some(old),
            // The permission for the call itself decides about the write, and reports the denial.
            Err(HostError::Denied(_)) => None,
            Err(error) => return Err(report_unreadable(cx, &path, error).await?),
        };
        let verb = match (builtin, &old) {
            (BuiltinTool::EditFile, _) => "Edit",
            (_, Some(None)) => "Create",
            (_, Some(Some(_)) | None) => "Write",
        };
        let tool = builtin_call(cx, builtin).input(input.clone());
        let mut tool = tool
            .title(format!("{verb} {shown}"))
            .location(&target, None);
        if let Some(old) = &old {
            match make(&input, old.as_deref()) {
                Ok(new) => tool = tool.content(diff(&target, old.clone(), &new)),
                // Do not ask for permission for an impossible change.
                Err(error) => return Err(tool.refuse(error).await?),
            }
        }
        let call = tool.ask().await?;
        // Read this only now: the client may have disconnected during the decision.
        let through_client = cx.host().client_offers().write_text;
        let asked = ApprovedChange {
            target,
            old,
            through_client,
        };
        let (host, input) = (call.host().clone(), call.input().clone());
        let work = asked.write(&host, &input, make);
        run_by(cx, call, executor(through_client), work).await
    })
}

/// The change as it was shown for approval.
struct ApprovedChange {
    target: PathBuf,
    /// The text of the file; the outer `None` means that it could not be read.
    old: Option<Option<String>>,
    through_client: bool,
}

impl ApprovedChange {
    /// Makes the change that the arguments describe, which may differ from the one shown.
    async fn write(
        self,
        host: &Host,
        input: &Value,
        make: NewTextFn,
    ) -> Result<FileChange, ToolError> {
        let PathInput { path } = parse(input, NOT_A_FILE)?;
        let target = host.absolute(path);
        let known_missing = target == self.target && self.old == Some(None);
        let old = read_old_text(host, &target, known_missing).await?;
        // A decision takes time: the file must still have the text that was shown.
        if target == self.target && self.old.is_some_and(|shown| shown != old) {
            return Err(ToolError::new(
                "the file changed while the permission was pending; read it and try again",
            ));
        }
        let new = make(input, old.as_deref())?;
        host.write_text(&target, new.as_str()).await?;
        // An editor may format the text it saves.
        let saved = match self.through_client {
            true => host.read_text(&target).await.ok(),
            false => None,
        };
        let otherwise = saved.as_ref().is_some_and(|saved| *saved != new);
        let diff = diff(&target, old, &saved.unwrap_or(new));
        Ok(FileChange {
            target,
            diff,
            otherwise,
        })
    }
}

/// Reports an unreadable file, which is not overwritten, as a failed `read_file` call.
async fn report_unreadable(
    cx: &TurnContext,
    path: &str,
    error: HostError,
) -> Result<AgentError, AgentError> {
    let tool = builtin_call(cx, BuiltinTool::ReadFile).path(path);
    let call: ToolHandle = tool.title(format!("Read {path}")).start().await?;
    let reader = executor(cx.host().client_offers().read_text);
    fail_by(call, reader, error).await
}

fn diff(target: &Path, old_text: Option<String>, new_text: &str) -> ToolContent {
    ToolContent::Diff {
        path: target.display().to_string(),
        old_text,
        new_text: new_text.to_owned(),
    }
}

/// Returns the text of the file; `None` when there is no file. An existing file that cannot be read is an error, so
/// that it is not overwritten.
///
/// Clients log a read request that fails, so none is sent for a file that is missing on the disk of a client on
/// this machine, or that was `known_missing` at the earlier read.
async fn read_old_text(
    host: &Host,
    path: &Path,
    known_missing: bool,
) -> Result<Option<String>, HostError> {
    let offers = host.client_offers();
    if offers.read_text && (offers.same_machine || known_missing) && !path.exists() {
        return Ok(None);
    }
    match host.read_text(path).await {
        Ok(text) => Ok(Some(text)),
        // Clients report a missing file in various ways; the disk answers clearly.
        Err(_) if !path.exists() => Ok(None),
        Err(error) => Err(error),
    }
}
