//! `/tools` lists the tools that the agent may call; `/tool NAME {json}` calls one of them.

use harn_model::{ToolContent, ToolSource, ToolSpec, plain_text};
use harn_runtime::{AgentError, ToolOutput, TurnContext};
use serde_json::Value;

use super::{
    files::separate_tool_failure,
    markdown::{code, fence, shorten},
    toolbox,
};

/// The maximum length of a tool's description in the list, in characters.
const SAID: usize = 100;

pub(super) async fn list(cx: &TurnContext) -> Result<(), AgentError> {
    let catalogue = toolbox(cx).catalogue();
    let count = catalogue.tools().len();
    cx.say(format!(
        "{count} tools (`/tool NAME {{json}}` calls one):\n\n"
    ))
    .await?;
    for tool in catalogue.tools() {
        cx.say(item(tool)).await?;
    }
    for warning in catalogue.warnings() {
        cx.say(format!("\nNote: {warning}.\n")).await?;
    }
    Ok(())
}

/// Formats one tool as one line.
fn item(tool: &ToolSpec) -> String {
    let source = match &tool.source {
        ToolSource::Builtin => "built in".to_owned(),
        ToolSource::Host => "host".to_owned(),
        ToolSource::Mcp(server) => format!("MCP server {server}"),
        ToolSource::Skill(skill) => format!("skill {skill}"),
        ToolSource::Provider => "provider".to_owned(),
    };
    let kind = tool.annotations.as_ref().map(|known| known.kind);
    let kind = kind.map_or("kind unknown".to_owned(), |kind| {
        let kind = serde_json::to_value(kind).unwrap_or_default();
        kind.as_str().unwrap_or_default().to_owned()
    });
    let deprecated = if tool.deprecated { ", deprecated" } else { "" };
    let line = tool.description.lines().next().unwrap_or_default();
    let line = match shorten(line, SAID) {
        line if line.is_empty() => line,
        line => format!(": {line}"),
    };
    format!(
        "- {} ({source}, {kind}{deprecated}){line}\n",
        code(&tool.name)
    )
}

pub(super) async fn call(cx: &TurnContext, name: &str, given: &str) -> Result<(), AgentError> {
    let toolbox = toolbox(cx);
    let shown = code(name);
    if toolbox.catalogue().get(name).is_none() {
        let error = toolbox.catalogue().unknown_tool_error(name);
        // A failed call informs the client, not only a person who reads the text.
        let error = cx.tool(name).refuse(error).await?;
        return cx
            .say(format!("Not called: {error}. `/tools` lists them all."))
            .await;
    }
    let arguments = match given {
        "" => Ok(Value::Object(serde_json::Map::new())),
        given => serde_json::from_str(given),
    };
    let arguments = match arguments {
        Ok(arguments) => arguments,
        Err(error) => {
            let right = code(&format!("/tool {name} {{\"argument\": \"value\"}}"));
            return cx
                .say(format!(
                    "Not called: the arguments are not JSON: {error}. Write, for example, {right}."
                ))
                .await;
        }
    };
    match separate_tool_failure(toolbox.call(cx, name, arguments).await)? {
        Ok(output) => {
            cx.say(format!("{shown} succeeded.\n\n")).await?;
            cx.say(format_output(&output)).await
        }
        Err(reason) => cx.say(format!("{shown} failed: {reason}")).await,
    }
}

/// Formats the result of a call.
fn format_output(output: &ToolOutput) -> String {
    let content = output
        .content
        .iter()
        .flatten()
        .map(|content| match content {
            ToolContent::Content { content } => plain_text(std::slice::from_ref(content)),
            ToolContent::Diff { path, new_text, .. } => {
                format!("{} is now:\n\n{}", code(path), fence("", new_text, 0))
            }
            ToolContent::Output(output) => output.to_markdown(),
            // The host shows the terminal.
            ToolContent::Terminal { .. } => String::new(),
        });
    let shown = content.collect::<Vec<_>>().join("\n");
    match &output.raw {
        Some(raw) if shown.is_empty() => {
            let pretty = serde_json::to_string_pretty(raw).unwrap_or_default();
            fence("json", &pretty, 0)
        }
        _ => shown,
    }
}
