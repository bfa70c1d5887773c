//! `/write PATH TEXT`: shows the change, asks, writes through the host what the answer says.

use std::path::{Path, PathBuf};

use harn_model::ToolContent;
use harn_runtime::{AgentError, Host, HostError, ToolError, ToolHandle, ToolOutput, TurnContext};
use harn_tools::Builtin;
use serde::{Deserialize, Serialize};

use super::{
    call::{built_in, executor, fail_by, run_by},
    files::{shown_path, told, value},
    markdown::code,
};

#[derive(Deserialize, Serialize)]
struct WriteInput {
    path: String,
    content: String,
}

/// A change that was made, as its call shows it.
#[derive(Clone)]
struct Written {
    target: PathBuf,
    diff: ToolContent,
}

impl From<Written> for ToolOutput {
    fn from(Written { diff, .. }: Written) -> Self {
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
    let target = cx.host().absolute(path);
    let shown = shown_path(cx.cwd(), &target);
    let old = match old_text(cx.host(), &target).await {
        Ok(old) => Some(old),
        // Whether it may be written is decided about the call itself, and told there.
        Err(HostError::Denied(_)) => None,
        Err(error) => return Err(unread(cx, path, error).await?),
    };
    let input = value(WriteInput {
        path: path.to_owned(),
        content: text.to_owned(),
    });
    let verb = match old {
        Some(None) => "Create",
        Some(Some(_)) | None => "Write",
    };
    let tool = built_in(cx, Builtin::WriteFile).input(input);
    let mut tool = tool
        .title(format!("{verb} {shown}"))
        .location(&target, None);
    if let Some(old) = &old {
        tool = tool.content(diff(&target, old.clone(), text));
    }
    let call = tool.ask().await?;
    let asked = Asked { target, old };
    // Asked for now: a decision can outlast a client.
    let writer = executor(cx.host().client_offers().write_text);
    let (host, input) = (call.host().clone(), call.input().clone());
    run_by(
        cx,
        call,
        writer,
        async move { asked.write(&host, input).await },
    )
    .await
    .map(|Written { target, .. }| shown_path(cx.cwd(), &target))
}

/// What was shown to whoever decided.
struct Asked {
    target: PathBuf,
    /// What the file said; none where it could not be told.
    old: Option<Option<String>>,
}

impl Asked {
    /// Writes what the arguments say, which may not be what was asked for.
    async fn write(self, host: &Host, input: serde_json::Value) -> Result<Written, ToolError> {
        let unclear =
            |error| ToolError::new(format!("the arguments are not those of a file: {error}"));
        let WriteInput { path, content } = serde_json::from_value(input).map_err(unclear)?;
        let target = host.absolute(path);
        let old = old_text(host, &target).await?;
        // Deciding takes time: what was shown must still be what would change.
        if target == self.target && self.old.is_some_and(|shown| shown != old) {
            return Err(ToolError::new(
                "the file changed while the permission was pending; look at it and try again",
            ));
        }
        host.write_text(&target, content.as_str()).await?;
        let diff = diff(&target, old, &content);
        Ok(Written { target, diff })
    }
}

/// A file that cannot be read is not written over: told as what it is, a call that reads and fails.
async fn unread(cx: &TurnContext, path: &str, error: HostError) -> Result<AgentError, AgentError> {
    let tool = built_in(cx, Builtin::ReadFile).path(path);
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
