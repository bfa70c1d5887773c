//! Calls a tool of the catalogue, whoever runs it: checked, put before the rules, run, and its end told.

use harn_model::{ErrorCategory, ToolContent, ToolExecutor, ToolSource, ToolSpec};
use harn_runtime::{AgentError, ToolBuilder, ToolError, ToolHandle, ToolOutput, TurnContext};
use serde_json::{Map, Value};

use super::Toolbox;
use crate::{
    builtin::{Builtin, fail_by, run_by},
    markdown::fence,
};

/// The most of a result that is shown as text.
const SHOWN: usize = 32 * 1024;

impl Toolbox {
    /// Calls a tool. The call is announced whatever comes of it; arguments that do not fit its schema fail it
    /// without anybody being asked.
    pub async fn call(
        &self,
        cx: &TurnContext,
        name: &str,
        arguments: Value,
    ) -> Result<ToolOutput, AgentError> {
        let arguments = match arguments {
            Value::Null => Value::Object(Map::new()),
            given => given,
        };
        let catalogue = self.catalogue();
        let Some(tool) = catalogue.get(name) else {
            let unknown = cx.tool(name).input(arguments);
            return Err(unknown.refuse(catalogue.unknown(name)).await?);
        };
        if let Err(error) = catalogue.check(name, &arguments) {
            return Err(described(cx, tool, arguments).refuse(error).await?);
        }
        if let Some(builtin) = Builtin::named(name).filter(|_| tool.source == ToolSource::Builtin) {
            return builtin.call(cx, &self.kit, arguments).await;
        }
        let call = described(cx, tool, arguments.clone()).start().await?;
        let by = tool.source.executor();
        // Whoever was asked may have put others in their place.
        if *call.input() != arguments
            && let Err(error) = catalogue.check(name, call.input())
        {
            return Err(fail_by(call, by, error).await?);
        }
        self.lent(cx, tool, call, by).await
    }

    /// Has whoever lends a tool run it.
    async fn lent(
        &self,
        cx: &TurnContext,
        tool: &ToolSpec,
        call: ToolHandle,
        by: ToolExecutor,
    ) -> Result<ToolOutput, AgentError> {
        let (host, input) = (call.host().clone(), call.input().clone());
        let work = async {
            match &tool.source {
                ToolSource::Host => {
                    let limit = self.config.deadlines.host_call;
                    let answer = host.call_tool(tool.name.as_str(), input);
                    let answer = tokio::time::timeout(limit, answer).await;
                    let answer = answer.map_err(|_| ToolError {
                        message: format!("the host did not answer within {} s", limit.as_secs()),
                        category: ErrorCategory::Timeout,
                    })?;
                    Ok(shown(answer?))
                }
                ToolSource::Mcp(_) => self.servers.call(&tool.name, input).await,
                ToolSource::Skill(_) => self.skills.call(&tool.name, input).await,
                ToolSource::Provider => Err(ToolError::new(
                    "the model's provider runs this tool; it cannot be called from here",
                )),
                ToolSource::Builtin => Err(ToolError::new("this tool is not built in")),
            }
        };
        run_by(cx, call, by, work).await
    }
}

/// A call of a tool, with what is known of it.
fn described(cx: &TurnContext, tool: &ToolSpec, arguments: Value) -> ToolBuilder {
    let builder = cx.tool(&tool.name).input(arguments);
    match &tool.annotations {
        Some(annotations) => builder.annotations(annotations.clone()),
        None => builder,
    }
}

/// What a host answered, for the log and for a person.
fn shown(answer: Value) -> ToolOutput {
    let text = match &answer {
        Value::Null => "No result.\n".to_owned(),
        Value::String(text) => cut(text.clone()),
        other => {
            let pretty = serde_json::to_string_pretty(other).unwrap_or_default();
            fence("json", &cut(pretty), 0)
        }
    };
    ToolOutput {
        content: Some(vec![ToolContent::text(text)]),
        raw: Some(answer),
        ..ToolOutput::default()
    }
}

fn cut(mut text: String) -> String {
    if text.len() > SHOWN {
        let end = (0..=SHOWN).rev().find(|at| text.is_char_boundary(*at));
        text.truncate(end.unwrap_or_default());
        text.push('…');
    }
    text
}
