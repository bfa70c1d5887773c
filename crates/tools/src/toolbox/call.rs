//! Calls a tool of the catalogue from any source: checks the arguments, applies the rules, runs it, and reports its
//! end.

use std::{path::Path, sync::Arc};

use harn_model::{ErrorCategory, ToolContent, ToolExecutor, ToolSource, ToolSpec};
use harn_runtime::{
    AgentError, BoxFuture, ToolBuilder, ToolError, ToolHandle, ToolOutput, TurnContext,
};
use serde_json::{Map, Value};

use super::Toolbox;
use crate::{
    builtin::{BuiltinTool, fail_by, run_by},
    catalogue::Catalogue,
    markdown::{cut, fence},
    skills::LOAD_SKILL,
};

/// The most bytes of a result in the text for display.
const SHOWN: usize = 32 * 1024;

impl Toolbox {
    /// Calls a tool. The call is announced in every case; arguments that do not fit its schema fail it without a
    /// permission request.
    pub fn call<'a>(
        &'a self,
        cx: &'a TurnContext,
        name: &'a str,
        arguments: Value,
    ) -> BoxFuture<'a, Result<ToolOutput, AgentError>> {
        Box::pin(async move {
            let arguments = match arguments {
                Value::Null => Value::Object(Map::new()),
                given => given,
            };
            let catalogue = self.catalogue();
            let Some(tool) = catalogue.get(name) else {
                let unknown = cx.tool(name).input(arguments);
                return Err(unknown.refuse(catalogue.unknown_tool_error(name)).await?);
            };
            if !self.allows(tool) {
                let error = self.excluded_error(tool);
                return Err(begin_call(cx, tool, arguments).refuse(error).await?);
            }
            if let Err(error) = check(&catalogue, name, &arguments).await {
                return Err(begin_call(cx, tool, arguments).refuse(error).await?);
            }
            if let Some(builtin) =
                BuiltinTool::from_name(name).filter(|_| tool.source == ToolSource::Builtin)
            {
                let read = (builtin == BuiltinTool::ReadFile).then(|| arguments.clone());
                let output = builtin.call(cx, &self.kit, arguments).await?;
                if let Some(path) = read.as_ref().and_then(|it| it.get("path")?.as_str()) {
                    self.note_read(cx, Path::new(path)).await?;
                }
                return Ok(output);
            }
            let call = begin_call(cx, tool, arguments.clone()).start().await?;
            let by = tool.source.executor();
            // The permission answer may have replaced the arguments.
            if *call.input() != arguments
                && let Err(error) = check(&catalogue, name, call.input()).await
            {
                return Err(fail_by(call, by, error).await?);
            }
            self.run_at_source(cx, tool, call, by).await
        })
    }

    /// Runs a tool at its source.
    async fn run_at_source(
        &self,
        cx: &TurnContext,
        tool: &ToolSpec,
        call: ToolHandle,
        by: ToolExecutor,
    ) -> Result<ToolOutput, AgentError> {
        let (host, input) = (call.host().clone(), call.input().clone());
        let call_id = call.id().clone();
        let work = async {
            match &tool.source {
                ToolSource::Host => {
                    let limit = self.config.host_deadlines.call;
                    let answer = host.call_tool(tool.name.as_str(), input);
                    let answer = tokio::time::timeout(limit, answer).await;
                    let answer = answer.map_err(|_| {
                        let late = format!("the host did not answer within {} s", limit.as_secs());
                        ToolError::with_category(ErrorCategory::Timeout, late)
                    })?;
                    Ok(to_output(answer?))
                }
                ToolSource::Mcp(_) => self.servers.all.call(&tool.name, input).await,
                ToolSource::Builtin if tool.name == LOAD_SKILL => self.load_skill(cx, &input).await,
                ToolSource::Builtin => {
                    let call = call_id.as_str();
                    self.search.run(cx, call, input).await
                }
                ToolSource::Skill(_) => Err(ToolError::new("a skill has no tools of its own")),
                ToolSource::Provider => Err(ToolError::new(
                    "the model's provider runs this tool; it cannot be called from here",
                )),
            }
        };
        run_by(cx, call, by, work).await
    }

    /// Creates the error for a tool that active skills exclude.
    fn excluded_error(&self, tool: &ToolSpec) -> ToolError {
        let active = self.skills.iter().flat_map(|skills| skills.active());
        let active = active.filter(|skill| skill.restricts_tools());
        let names: Vec<_> = active.map(|skill| skill.id.clone()).collect();
        let message = format!(
            "active skills do not allow {}; end {} to use it",
            tool.name,
            names.join(", ")
        );
        ToolError::with_category(ErrorCategory::PermissionDenied, message)
    }

    async fn load_skill(&self, cx: &TurnContext, input: &Value) -> Result<ToolOutput, ToolError> {
        let Some(skills) = &self.skills else {
            return Err(ToolError::new("this session has no skills"));
        };
        let word = |name: &str| input.get(name).and_then(Value::as_str).unwrap_or_default();
        let text = skills.load_skill(cx, word("name"), word("arguments")).await;
        Ok(text.map_err(ToolError::new)?.into())
    }

    /// Reports a file that was read to the skills: one may apply to it.
    pub(crate) async fn note_read(&self, cx: &TurnContext, path: &Path) -> Result<(), AgentError> {
        match &self.skills {
            Some(skills) => skills.note_file(cx, path).await,
            None => Ok(()),
        }
    }
}

/// Checks arguments. A foreign schema may take a while, so it runs on another thread and does not block other
/// sessions.
async fn check(catalogue: &Arc<Catalogue>, name: &str, arguments: &Value) -> Result<(), ToolError> {
    let own = |tool: &ToolSpec| tool.source == ToolSource::Builtin;
    if catalogue.get(name).is_some_and(own) {
        return catalogue.check(name, arguments);
    }
    let (catalogue, name, arguments) = (catalogue.clone(), name.to_owned(), arguments.clone());
    let checked = tokio::task::spawn_blocking(move || catalogue.check(&name, &arguments));
    checked.await.unwrap_or_else(|_| {
        let message = "its arguments could not be checked against its schema";
        Err(ToolError::new(message))
    })
}

/// Begins a call of a tool, with its annotations.
fn begin_call(cx: &TurnContext, tool: &ToolSpec, arguments: Value) -> ToolBuilder {
    let builder = cx.tool(&tool.name).input(arguments);
    match &tool.annotations {
        Some(annotations) => builder.annotations(annotations.clone()),
        None => builder,
    }
}

/// Formats a host's answer, for the journal and for display.
fn to_output(answer: Value) -> ToolOutput {
    let text = match &answer {
        Value::Null => "No result.\n".to_owned(),
        Value::String(text) => cut(text.clone(), SHOWN),
        other => {
            let pretty = serde_json::to_string_pretty(other).unwrap_or_default();
            fence("json", &cut(pretty, SHOWN), 0)
        }
    };
    ToolOutput {
        content: Some(vec![ToolContent::text(text)]),
        raw: Some(answer),
        ..ToolOutput::default()
    }
}
