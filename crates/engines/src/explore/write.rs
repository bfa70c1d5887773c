//! `/write PATH TEXT`: shows the change, asks, writes through the host.

use std::path::Path;

use harn_model::{ErrorCategory, ToolContent, ToolKind};
use harn_runtime::{AgentError, Host, HostError, ToolError, ToolOutput, TurnContext};
use harn_tools::confine_write;
use serde::Serialize;

use super::{
    call::{executor, fail_by, run_by, unless_cancelled},
    files::{shown_path, told, value},
    markdown::code,
};

#[derive(Serialize)]
struct WriteInput<'a> {
    path: &'a str,
    content: &'a str,
}

/// A change that was made, as its call shows it.
#[derive(Clone)]
struct Written(ToolContent);

impl From<Written> for ToolOutput {
    fn from(Written(diff): Written) -> Self {
        Self {
            content: Some(vec![diff]),
            ..Self::default()
        }
    }
}

/// Writes a file, if it may.
pub(super) async fn write(cx: &TurnContext, path: &str, text: &str) -> Result<(), AgentError> {
    match told(try_write(cx, path, text).await)? {
        Ok(shown) => cx.say(format!("Wrote {}.", code(&shown))).await,
        Err(reason) => cx.say(format!("Not written: {reason}.")).await,
    }
}

async fn try_write(cx: &TurnContext, path: &str, text: &str) -> Result<String, AgentError> {
    let input = value(WriteInput {
        path,
        content: text,
    });
    let tool = cx.tool("write_file").kind(ToolKind::Edit).input(input);
    // Asked each time: a decision can outlast a client.
    let reader = || executor(cx.host().client_offers().read_text);
    let target = match confine_write(cx.cwd(), path) {
        Ok(target) => target,
        // Refused before anybody was asked to do it.
        Err(error) => {
            let call = tool.title(format!("Write {path}")).start().await?;
            let reason = error.to_string();
            call.fail(&reason, ErrorCategory::PermissionDenied).await?;
            return Err(AgentError::Tool(reason));
        }
    };
    let old = match old_text(cx.host(), &target).await {
        Ok(old) => old,
        Err(error) => {
            let call = tool.title(format!("Write {path}")).start().await?;
            return Err(fail_by(call, reader(), error).await?);
        }
    };
    let shown = shown_path(cx.cwd(), &target);
    let diff = ToolContent::Diff {
        path: target.display().to_string(),
        old_text: old.clone(),
        new_text: text.to_owned(),
    };
    let verb = if old.is_some() { "Write" } else { "Create" };
    let tool = tool.title(format!("{verb} {shown}"));
    let tool = tool.location(&target, None).content(diff.clone());
    let call = tool.ask().await?;
    // Deciding takes time: what was shown must still be what would change.
    let unchanged = async {
        let still = confine_write(cx.cwd(), path).is_ok_and(|now| now == target);
        Ok::<_, HostError>(still && old_text(cx.host(), &target).await? == old)
    };
    let changed = match unless_cancelled(cx, unchanged).await? {
        Ok(true) => None,
        Ok(false) => Some(ToolError::new(
            "the file changed while the permission was pending; look at it and try again",
        )),
        Err(error) => Some(error.into()),
    };
    if let Some(error) = changed {
        return Err(fail_by(call, reader(), error).await?);
    }
    let writer = executor(cx.host().client_offers().write_text);
    let host = call.host().clone();
    let work = async {
        host.write_text(&target, text.to_owned()).await?;
        Ok::<_, HostError>(Written(diff))
    };
    run_by(cx, call, writer, work).await?;
    Ok(shown)
}

/// What the file says now; `None` when there is no file. One that is there and cannot be read is not
/// written over.
async fn old_text(host: &Host, path: &Path) -> Result<Option<String>, HostError> {
    match host.read_text(path).await {
        Ok(text) => Ok(Some(text)),
        // A client says in words of its own that a file is missing; the disk says it plainly.
        Err(_) if !path.exists() => Ok(None),
        Err(error) => Err(error),
    }
}
