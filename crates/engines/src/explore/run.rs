//! `/run COMMAND`: asks, runs it through the host, shows what it prints while it runs.

use std::{
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use harn_model::{ErrorCategory, ToolContent, ToolExecutor};
use harn_runtime::{
    AgentError, CommandExit, CommandSink, CommandSpec, HostError, ToolError, ToolHandle,
    ToolOutput, TurnContext,
};
use harn_tools::Builtin;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::Notify;

use super::{
    call::{built_in, executor, fail_by},
    files::{told, value},
    markdown::{code, fence, shorten},
};

/// How much of the output is kept in the end.
const KEPT: usize = 32 * 1024;
/// How much is shown while it runs: each update says it all again.
const SHOWN: usize = 8 * 1024;
/// The time between two updates at first.
const PAUSE: Duration = Duration::from_millis(100);
/// After so many updates the time doubles, up to `PAUSE << MAX_DOUBLINGS`: a command that prints for
/// hours must not fill the journal.
const DOUBLES_AFTER: u32 = 30;
const MAX_DOUBLINGS: u32 = 5;

#[derive(Serialize)]
struct RunOutput<'a> {
    exit_code: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    signal: Option<&'a str>,
    truncated: bool,
}

/// Runs a command, if it may.
pub(super) async fn run(cx: &TurnContext, command: &str) -> Result<(), AgentError> {
    let name = code(&shorten(command, 80));
    let call = match told(
        built_in(cx, Builtin::RunCommand)
            .command(command)
            .ask()
            .await,
    )? {
        Ok(call) => call,
        Err(reason) => return cx.say(format!("{name} was not run: {reason}.")).await,
    };
    let by = executor(cx.host().client_offers().terminal);
    // Whoever was asked may have put another command in its place.
    let Some(command) = call.input().get("command").and_then(Value::as_str) else {
        let reason = fail_by(call, by, ToolError::new("the arguments have no command")).await?;
        return cx.say(format!("{name} was not run: {reason}.")).await;
    };
    let name = code(&shorten(command, 80));
    let spec = CommandSpec::shell(command, cx.cwd(), KEPT);
    let exit = match watch(cx, &call, spec).await? {
        Ok(exit) => exit,
        Err(error) => {
            let reason = fail_by(call, by, error).await?;
            return cx.say(format!("{name} could not be run: {reason}.")).await;
        }
    };
    let how = how_it_ended(&exit);
    let output = output(by, &exit, &how);
    if exit.code == Some(0) {
        call.complete(output).await?;
        return cx.say(format!("{name} ended well ({how}).")).await;
    }
    let failed = format!("the command failed: {how}");
    call.fail_with(&failed, ErrorCategory::ToolError, output)
        .await?;
    cx.say(format!("{name} failed: {how}.")).await
}

/// Runs the command and shows its output as it comes. Cancelled, it drops the run, which ends the
/// command and all it started.
async fn watch(
    cx: &TurnContext,
    call: &ToolHandle,
    spec: CommandSpec,
) -> Result<Result<CommandExit, HostError>, AgentError> {
    let screen = Screen::default();
    let mut sink = screen.clone();
    let mut run = pin!(call.host().run(spec, &mut sink));
    let mut shown: u32 = 0;
    loop {
        let pause = match shown {
            0 => Duration::ZERO,
            _ => PAUSE * (1 << (shown / DOUBLES_AFTER).min(MAX_DOUBLINGS)),
        };
        tokio::select! {
            biased;
            () = cx.cancelled() => return Err(AgentError::Cancelled),
            exit = &mut run => return Ok(exit),
            content = screen.after(pause) => call.show(content).await?,
        }
        shown = shown.saturating_add(1);
    }
}

fn how_it_ended(exit: &CommandExit) -> String {
    match (exit.code, &exit.signal) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("ended by {signal}"),
        (None, None) => "no exit code".to_owned(),
    }
}

fn output(by: ToolExecutor, exit: &CommandExit, how: &str) -> ToolOutput {
    let shown = printed(&exit.output, exit.truncated);
    ToolOutput {
        raw: Some(value(RunOutput {
            exit_code: exit.code,
            signal: exit.signal.as_deref(),
            truncated: exit.truncated,
        })),
        content: Some(vec![ToolContent::text(format!("{shown}\n{how}\n"))]),
        executor: Some(by),
        ..ToolOutput::default()
    }
}

/// Output as a person sees it.
fn printed(output: &str, truncated: bool) -> String {
    if output.is_empty() {
        return "No output.\n".to_owned();
    }
    let block = fence("", output, 0);
    if truncated {
        format!("The end of the output:\n\n{block}")
    } else {
        block
    }
}

/// What a command printed so far, or the terminal it runs in.
#[derive(Clone, Default)]
struct Screen {
    seen: Arc<Mutex<Seen>>,
    changed: Arc<Notify>,
}

#[derive(Default)]
struct Seen {
    terminal: Option<String>,
    end: String,
    truncated: bool,
}

impl Screen {
    /// Waits for `pause`, then for something new, and returns what to show.
    async fn after(&self, pause: Duration) -> Vec<ToolContent> {
        // Even no time at all takes a turn of the timer, and a short command is over by then.
        if !pause.is_zero() {
            tokio::time::sleep(pause).await;
        }
        self.changed.notified().await;
        let seen = self.lock();
        vec![match &seen.terminal {
            Some(id) => ToolContent::Terminal {
                terminal_id: id.clone(),
            },
            None => ToolContent::text(printed(&seen.end, seen.truncated)),
        }]
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CommandSink for Screen {
    fn terminal(&mut self, terminal_id: &str) {
        self.lock().terminal = Some(terminal_id.to_owned());
        self.changed.notify_one();
    }

    fn output(&mut self, chunk: &str) {
        let mut seen = self.lock();
        // A terminal shows its output itself.
        if seen.terminal.is_some() {
            return;
        }
        seen.end.push_str(chunk);
        let surplus = seen.end.len().saturating_sub(SHOWN);
        if surplus > 0 {
            let mut rest = surplus..seen.end.len();
            let from = rest.find(|at| seen.end.is_char_boundary(*at));
            let from = from.unwrap_or(seen.end.len());
            seen.end.drain(..from);
            seen.truncated = true;
        }
        drop(seen);
        self.changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_screen_shows_the_end_of_much_output() {
        let mut screen = Screen::default();
        screen.output("first\n");
        for _ in 0..SHOWN {
            screen.output("→");
        }
        let content = screen.after(Duration::ZERO).await;
        let [ToolContent::Content { content }] = &content[..] else {
            panic!("{content:?}");
        };
        let text = harn_model::plain_text(std::slice::from_ref(content));
        assert!(
            text.starts_with("The end of the output:\n\n```\n→"),
            "{text}"
        );
        assert!(text.len() < SHOWN + 100 && !text.contains("first"));
    }

    #[tokio::test]
    async fn a_terminal_is_shown_instead_of_output() {
        let mut screen = Screen::default();
        screen.terminal("term-1");
        let terminal = [ToolContent::Terminal {
            terminal_id: "term-1".to_owned(),
        }];
        assert_eq!(screen.after(Duration::ZERO).await, terminal);
        screen.output("x");
        let again = tokio::time::timeout(Duration::ZERO, screen.after(Duration::ZERO)).await;
        assert!(again.is_err(), "output in a terminal is no news");
    }

    #[test]
    fn endings_are_put_into_words() {
        let exit = |code, signal: Option<&str>| CommandExit {
            code,
            signal: signal.map(str::to_owned),
            output: String::new(),
            truncated: false,
        };
        assert_eq!(how_it_ended(&exit(Some(3), None)), "exit code 3");
        assert_eq!(
            how_it_ended(&exit(None, Some("SIGKILL"))),
            "ended by SIGKILL"
        );
        assert_eq!(how_it_ended(&exit(None, None)), "no exit code");
        assert_eq!(printed("", false), "No output.\n");
        assert_eq!(printed("a\n", false), "```\na\n```\n");
    }
}
