//! `run_command`: asks for permission, runs the command through the host, shows its output live, and enforces its
//! time limit.

mod access;
mod argument;
mod exec;
mod hint;
mod screen;

use std::{pin::pin, time::Duration};

use harn_model::{ErrorCategory, ToolContent, ToolExecutor};
use harn_runtime::{
    AgentError, BoxFuture, CommandExit, CommandSpec, HostError, ToolError, ToolHandle, ToolOutput,
    TurnContext,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::{
    argument::CommandArgument,
    screen::{CommandScreen, KEPT},
};
use super::{
    BuiltinTool, BuiltinToolkit, builtin_call,
    execution::{executor, fail_by, parse, run_unless_cancelled, to_json},
};
use crate::{Toolbox, local::command::sleep_until_limit};

/// The default time limit of a command that a model runs; the constant below is the maximum.
const TIMEOUT: Duration = Duration::from_secs(2 * 60);
pub(super) const MAX_TIMEOUT_MS: u64 = 10 * 60 * 1000;
/// The output that a client's terminal should retain, if this session can store it in a file afterwards.
const ASKED_FOR: usize = 1024 * 1024;
/// The time between the first updates.
const PAUSE: Duration = Duration::from_millis(100);
/// After this many updates the time doubles, up to `PAUSE << MAX_DOUBLINGS`: a command that prints for hours must
/// not fill the journal.
const DOUBLES_AFTER: u32 = 30;
const MAX_DOUBLINGS: u32 = 5;

/// A command that was allowed and started.
#[derive(Clone, Debug)]
pub struct CommandRun {
    /// The command line; if the permission answer replaced it, the replacement.
    pub command: String,
    /// How the command ended.
    pub end: CommandEnd,
    /// The final output of its call.
    pub output: ToolOutput,
    /// What the output says about the sandbox: that it may be the cause of a failure, or that there is none.
    pub sandbox_note: Option<String>,
}

/// How a command ended, with a description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandEnd {
    /// The exit code was 0.
    Well(String),
    /// The exit code was not 0, a signal ended it, or it timed out.
    Badly(String),
    /// The host could not run it.
    Broken(String),
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct RunInput {
    command: CommandArgument,
    /// The id of a shell. In a declared call `command` contains the shell instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    shell: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    timeout_ms: Option<u64>,
    /// Whether the command reaches the network; the runtime reads it, as part of the judged arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    network: Option<bool>,
    /// Whether the command runs in the sandbox; the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sandbox: Option<bool>,
}

#[derive(Serialize)]
struct RunOutput<'a> {
    exit_code: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    signal: Option<&'a str>,
    truncated: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    timed_out: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_file: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_bytes: Option<u64>,
}

impl BuiltinToolkit {
    /// Runs a command for a model; if it fails, the error includes its output.
    pub(super) async fn call_command(
        &self,
        cx: &TurnContext,
        input: Value,
    ) -> Result<ToolOutput, AgentError> {
        let ran = self.run(cx, input, Some(TIMEOUT)).await?;
        match ran.end {
            CommandEnd::Well(_) => Ok(ran.output),
            CommandEnd::Broken(reason) => Err(AgentError::Tool(reason)),
            CommandEnd::Badly(how) => {
                let shown = ran.output.content.iter().flatten().map(text_of);
                let shown = shown.collect::<Vec<_>>().join("\n");
                Err(AgentError::Tool(format!(
                    "the command failed: {how}\n\n{shown}"
                )))
            }
        }
    }

    /// Runs a command if it is allowed. `patience` is the time limit of a call that sets none.
    fn run<'a>(
        &'a self,
        cx: &'a TurnContext,
        input: Value,
        patience: Option<Duration>,
    ) -> BoxFuture<'a, Result<CommandRun, AgentError>> {
        Box::pin(async move {
            let input = match self.expand_for_shell(cx, &input).await {
                Ok(declared) => declared.map(to_json).unwrap_or(input),
                Err(error) => {
                    let call = builtin_call(cx, BuiltinTool::RunCommand).input(input);
                    return Err(call.refuse(error).await?);
                }
            };
            let declared: Option<RunInput> = RunInput::deserialize(&input).ok();
            let declared = declared.and_then(|input| input.command.spec(cx, 0));
            let line = declared.map(|spec| spec.line().into_owned());
            let offers = cx.host().client_offers();
            let lent = !offers.terminal && offers.tools && self.is_exec_lent();
            let call = builtin_call(cx, BuiltinTool::RunCommand).input(input);
            let call = if lent { call.by_client() } else { call };
            let call = call.command(&line.unwrap_or_default()).ask().await?;
            let by = executor(offers.terminal || lent);
            // The permission answer may have replaced the command.
            let parsed: Result<RunInput, _> = parse(call.input(), "the arguments have no command");
            let RunInput {
                command,
                timeout_ms,
                ..
            } = match parsed {
                Ok(input) => input,
                Err(error) => return Err(fail_by(call, by, error).await?),
            };
            let given = timeout_ms.map(|ms| Duration::from_millis(ms.min(MAX_TIMEOUT_MS)));
            let limit = given.or(patience);
            let place = self.outputs.as_ref().and_then(|outputs| {
                let place = outputs.output_path(call.id())?;
                Some((outputs.clone(), place))
            });
            let output_limit = if place.is_some() { ASKED_FOR } else { KEPT };
            let Some(spec) = command.spec(cx, output_limit) else {
                let error = ToolError::new("the command has no words");
                return Err(fail_by(call, by, error).await?);
            };
            let command = spec.line().into_owned();
            let screen = CommandScreen::with_output_file(place);
            let exit = run_unless_cancelled(cx, async {
                match lent {
                    true => Ok(exec::run(&call, &screen, spec, limit).await),
                    false => run_and_show(&call, &screen, spec, limit).await,
                }
            });
            let end = match exit.await?? {
                Some(Ok(exit)) => CommandCompletion::Exited(exit),
                Some(Err(error)) => {
                    let reason = fail_by(call, by, error).await?.to_string();
                    return Ok(CommandRun {
                        command,
                        end: CommandEnd::Broken(reason),
                        output: ToolOutput::default(),
                        sandbox_note: None,
                    });
                }
                None => CommandCompletion::TimedOut(limit.unwrap_or_default()),
            };
            screen.show_rest(&call).await?;
            let sandbox_note = note_about_sandbox(&call, &by, &end).await;
            let output = end.to_tool_output(by, &screen, sandbox_note.clone());
            let end = end.report(call, output.clone()).await?;
            Ok(CommandRun {
                command,
                end,
                output,
                sandbox_note,
            })
        })
    }

    /// Returns the arguments with the command expanded for a shell: the one they name, else the one chosen for the
    /// session. Returns `None` if the command is a line for `/bin/sh`.
    async fn expand_for_shell(
        &self,
        cx: &TurnContext,
        input: &Value,
    ) -> Result<Option<RunInput>, ToolError> {
        let given: RunInput = parse(input, "the arguments have no command")?;
        let shell = given.shell.clone().or_else(|| self.shells.chosen_id());
        let (Some(shell), CommandArgument::Line(line)) = (shell, &given.command) else {
            return Ok(None);
        };
        let command = CommandArgument::expand_line(cx, &self.shells, shell, line).await?;
        Ok(Some(RunInput {
            command,
            shell: None,
            ..given
        }))
    }
}

impl Toolbox {
    /// Calls `run_command` for a person, without a time limit; the person can cancel it. `--network` or `--no-sandbox`
    /// before the line requests more access.
    pub async fn run_command(
        &self,
        cx: &TurnContext,
        line: &str,
    ) -> Result<CommandRun, AgentError> {
        let (access, line) = access::split(line);
        let input = to_json(RunInput {
            command: CommandArgument::Line(line.to_owned()),
            shell: None,
            timeout_ms: None,
            network: access.network.then_some(true),
            sandbox: access.outside.then_some(false),
        });
        self.kit.run(cx, input, None).await
    }
}

/// The result of a command that ran for a call.
#[derive(Clone, Debug)]
pub struct CommandResult {
    /// The final output of the call.
    pub output: ToolOutput,
    /// The error of the call if it failed.
    pub failed: Option<ToolError>,
}

/// Runs a line in the shell for a call that has permission, and shows its output live. Dropping the future ends the
/// command and its child processes.
pub async fn run_for_call(
    cx: &TurnContext,
    call: &ToolHandle,
    line: &str,
) -> Result<CommandResult, AgentError> {
    let by = executor(call.host().client_offers().terminal);
    let screen = CommandScreen::default();
    let spec = CommandSpec::shell(line, cx.cwd(), KEPT);
    let end = match run_and_show(call, &screen, spec, None).await? {
        Some(Ok(exit)) => CommandCompletion::Exited(exit),
        Some(Err(error)) => {
            let output = ToolOutput {
                executor: Some(by),
                ..ToolOutput::default()
            };
            let failed = Some(error.into());
            return Ok(CommandResult { output, failed });
        }
        None => CommandCompletion::TimedOut(Duration::ZERO),
    };
    screen.show_rest(call).await?;
    let hint = note_about_sandbox(call, &by, &end).await;
    Ok(CommandResult {
        output: end.to_tool_output(by, &screen, hint),
        failed: end.failure(),
    })
}

/// Runs the command and shows its output live; returns `None` when it times out. Dropping the run, at a timeout or
/// when the turn is cancelled, ends the command and its child processes.
async fn run_and_show(
    call: &ToolHandle,
    screen: &CommandScreen,
    spec: CommandSpec,
    limit: Option<Duration>,
) -> Result<Option<Result<CommandExit, HostError>>, AgentError> {
    let mut sink = screen.clone();
    let mut run = pin!(call.host().run(spec, &mut sink));
    let mut over = pin!(sleep_until_limit(limit));
    let mut shown: u32 = 0;
    loop {
        let pause = match shown {
            0 => Duration::ZERO,
            _ => PAUSE * (1 << (shown / DOUBLES_AFTER).min(MAX_DOUBLINGS)),
        };
        tokio::select! {
            biased;
            exit = &mut run => return Ok(Some(exit)),
            () = &mut over => return Ok(None),
            () = screen.wait_for_change_after(pause) => screen.show_new(call).await?,
        }
        shown = shown.saturating_add(1);
    }
}

/// Returns a note about the sandbox, if this machine ran the command.
async fn note_about_sandbox(
    call: &ToolHandle,
    by: &ToolExecutor,
    end: &CommandCompletion,
) -> Option<String> {
    match *by == ToolExecutor::HarnBuiltin {
        true => hint::about(call, end).await,
        false => None,
    }
}

enum CommandCompletion {
    Exited(CommandExit),
    TimedOut(Duration),
}

impl CommandCompletion {
    fn describe(&self) -> String {
        match self {
            Self::Exited(exit) => match (exit.code, &exit.signal) {
                (Some(code), _) => format!("exit code {code}"),
                (None, Some(signal)) => format!("ended by {signal}"),
                (None, None) => "no exit code".to_owned(),
            },
            Self::TimedOut(limit) => format!(
                "it exceeded its {} ms and was ended with every process it started",
                limit.as_millis()
            ),
        }
    }

    fn to_tool_output(
        &self,
        by: ToolExecutor,
        screen: &CommandScreen,
        hint: Option<String>,
    ) -> ToolOutput {
        let (exit, reported) = match self {
            Self::Exited(exit) => (Some(exit), Some((exit.output.clone(), exit.truncated))),
            Self::TimedOut(_) => (None, None),
        };
        let (output, kept) = screen.finish(reported);
        let truncated = output.is_partial();
        let mut notes = String::new();
        if let Some(kept) = &kept {
            let (place, bytes) = (&kept.place, kept.bytes);
            let much = match (kept.is_whole(), output.incomplete) {
                (true, false) => "The whole output",
                (true, true) => "The received part of the output",
                (false, _) => "The beginning of the output",
            };
            notes.push_str(&format!("{much}, {bytes} bytes, is in {place}\n\n"));
        }
        notes.push_str(&format!("{}\n", self.describe()));
        if let Some(hint) = hint {
            notes.push_str(&format!("\n{hint}\n"));
        }
        ToolOutput {
            raw: Some(to_json(RunOutput {
                exit_code: exit.and_then(|exit| exit.code),
                signal: exit.and_then(|exit| exit.signal.as_deref()),
                truncated,
                timed_out: exit.is_none(),
                output_file: kept.as_ref().map(|kept| &*kept.place),
                output_bytes: kept.as_ref().map(|kept| kept.bytes),
            })),
            content: Some(vec![ToolContent::Output(output), ToolContent::text(notes)]),
            executor: Some(by),
            ..ToolOutput::default()
        }
    }

    /// Returns the error of the call if the command failed.
    fn failure(&self) -> Option<ToolError> {
        let category = match self {
            Self::Exited(exit) if exit.code == Some(0) => return None,
            Self::Exited(_) => ErrorCategory::ToolError,
            Self::TimedOut(_) => ErrorCategory::Timeout,
        };
        let message = format!("the command failed: {}", self.describe());
        Some(ToolError { message, category })
    }

    async fn report(&self, call: ToolHandle, output: ToolOutput) -> Result<CommandEnd, AgentError> {
        let how = self.describe();
        match self.failure() {
            None => {
                call.complete(output).await?;
                Ok(CommandEnd::Well(how))
            }
            Some(ToolError { message, category }) => {
                call.fail_with(&message, category, output).await?;
                Ok(CommandEnd::Badly(how))
            }
        }
    }
}

fn text_of(content: &ToolContent) -> String {
    match content {
        ToolContent::Content { content } => harn_model::plain_text(std::slice::from_ref(content)),
        ToolContent::Output(output) => output.to_markdown(),
        ToolContent::Diff { .. } | ToolContent::Terminal { .. } => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_describes_the_end_of_a_command() {
        let exit = |code, signal: Option<&str>| {
            let signal = signal.map(str::to_owned);
            let (output, truncated) = (String::new(), false);
            let exit = CommandExit {
                code,
                signal,
                output,
                truncated,
            };
            CommandCompletion::Exited(exit).describe()
        };
        assert_eq!(exit(Some(3), None), "exit code 3");
        assert_eq!(exit(None, Some("SIGKILL")), "ended by SIGKILL");
        assert_eq!(exit(None, None), "no exit code");
    }
}
