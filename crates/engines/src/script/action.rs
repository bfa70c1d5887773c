//! Steps with effects: files, commands and tools of the host. Each is a tool call that shows its effect, asks for
//! permission and runs with the approved arguments.

use harn_model::{ToolContent, ToolExecutor};
use harn_runtime::{
    AgentError, BoxFuture, Host, HostError, ToolBuilder, ToolError, ToolHandle, ToolOutput,
    TurnContext,
};
use harn_tools::{BuiltinTool, CommandResult, run_for_call};
use serde_json::{Value, json};

use super::scenario::ScenarioAction;

/// The output of a call with its executor, and its error.
pub(super) struct ScenarioActionResult {
    output: ToolOutput,
    failed: Option<ToolError>,
}

impl ScenarioAction {
    /// Builds the call without announcing it.
    pub(super) async fn describe(&self, cx: &TurnContext) -> ToolBuilder {
        match self {
            Self::HostTool { name, args, kind } => cx.tool(name).kind(*kind).input(args.clone()),
            Self::HostCall { op, args, kind } => cx.tool(op).kind(*kind).input(args.clone()),
            Self::Write { path, text } => {
                let old = cx.host().read_text(path).await.ok();
                let builtin = BuiltinTool::WriteFile;
                let tool = cx.tool(builtin.name()).annotations(builtin.annotations());
                let tool = tool.input(json!({ "path": path, "content": text }));
                let tool = tool.title(format!("Write {path}")).location(path, None);
                tool.content(diff(cx.host(), path, old, text))
            }
            Self::Run(command) => {
                let builtin = BuiltinTool::RunCommand;
                let tool = cx.tool(builtin.name()).annotations(builtin.annotations());
                tool.command(command)
            }
        }
    }

    /// Performs an allowed call with its approved arguments.
    pub(super) fn perform<'a>(
        &'a self,
        cx: &'a TurnContext,
        call: &'a ToolHandle,
    ) -> BoxFuture<'a, Result<ScenarioActionResult, AgentError>> {
        Box::pin(async move {
            let (host, input) = (call.host(), call.input());
            let offers = host.client_offers();
            let by = |offered| match offered {
                true => ToolExecutor::HostBridge,
                false => ToolExecutor::HarnBuiltin,
            };
            Ok(match self {
                Self::HostTool { name, .. } => {
                    let done = host.call_tool(name, input.clone()).await;
                    ScenarioActionResult::new(ToolExecutor::HostBridge, done.map(ToolOutput::from))
                }
                Self::HostCall { op, .. } => {
                    let done = host.call(op, input.clone()).await;
                    ScenarioActionResult::new(by(offers.tools), done.map(ToolOutput::from))
                }
                Self::Write { .. } => {
                    ScenarioActionResult::new(by(offers.write_text), write(host, input).await)
                }
                Self::Run(_) => match text_argument(input, "command") {
                    Ok(line) => {
                        let CommandResult { output, failed } = run_for_call(cx, call, line).await?;
                        ScenarioActionResult { output, failed }
                    }
                    Err(error) => ScenarioActionResult::new(by(offers.terminal), Err(error)),
                },
            })
        })
    }
}

impl ScenarioActionResult {
    pub(super) async fn finish_call(self, call: ToolHandle) -> Result<(), AgentError> {
        match self.failed {
            None => call.complete(self.output).await,
            Some(error) => {
                call.fail_with(&error.message, error.category, self.output)
                    .await
            }
        }
    }

    fn new(by: ToolExecutor, done: Result<ToolOutput, HostError>) -> Self {
        let (mut output, failed) = match done {
            Ok(output) => (output, None),
            Err(error) => (ToolOutput::default(), Some(error.into())),
        };
        output.executor = Some(by);
        Self { output, failed }
    }
}

async fn write(host: &Host, input: &Value) -> Result<ToolOutput, HostError> {
    let (path, text) = (
        text_argument(input, "path")?,
        text_argument(input, "content")?,
    );
    let old = host.read_text(path).await.ok();
    host.write_text(path, text).await?;
    Ok(ToolOutput {
        content: Some(vec![diff(host, path, old, text)]),
        ..ToolOutput::default()
    })
}

/// Returns a text argument; the user who was asked may have changed or removed it.
fn text_argument<'v>(input: &'v Value, name: &str) -> Result<&'v str, HostError> {
    let missing = || HostError::Failed(format!("the arguments have no text {name:?}"));
    input.get(name).and_then(Value::as_str).ok_or_else(missing)
}

fn diff(host: &Host, path: &str, old_text: Option<String>, new_text: &str) -> ToolContent {
    ToolContent::Diff {
        path: host.absolute(path).display().to_string(),
        old_text,
        new_text: new_text.to_owned(),
    }
}
