//! `/write PATH TEXT`: shows the change, asks, writes through the host.

use std::path::Path;

use harn_model::{ErrorCategory, ToolContent, ToolKind};
use harn_runtime::{AgentError, Host, HostError, ToolError, ToolOutput, TurnContext};
use harn_tools::confine_write;
use serde::Serialize;

use super::{
    executor,
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
struct Written(ToolOutput);

impl From<Written> for ToolOutput {
    fn from(Written(output): Written) -> Self {
        output
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
    let prepared = match confine_write(cx.cwd(), path) {
        Ok(target) => match old_text(cx.host(), &target).await {
            Ok(old) => Ok((target, old)),
            Err(error) => Err(ToolError::from(error)),
        },
        Err(error) => Err(ToolError {
            message: error.to_string(),
            category: ErrorCategory::PermissionDenied,
        }),
    };
    let (target, old) = match prepared {
        Ok(prepared) => prepared,
        Err(error) => {
            let call = tool.title(format!("Write {path}")).start().await?;
            call.fail(&error.message, error.category).await?;
            return Err(error.into());
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
    let (root, path, text) = (cx.cwd().to_owned(), path.to_owned(), text.to_owned());
    let work = |host: Host| async move {
        // Deciding takes time: what was shown must still be what would change.
        let still = confine_write(&root, &path).is_ok_and(|now| now == target);
        if !still || old_text(&host, &target).await? != old {
            return Err(ToolError::new(
                "the file changed while the permission was pending; look at it and try again",
            ));
        }
        let by = executor(host.client_offers().write_text);
        host.write_text(&target, text).await?;
        Ok(Written(ToolOutput {
            content: Some(vec![diff]),
            executor: Some(by),
            ..ToolOutput::default()
        }))
    };
    call.run(work).await?;
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
