//! The routes by which an agent may try to change something, honest and not.

use std::sync::Arc;

use harn_engines::{ExploreAgent, ScriptAgent};
use harn_model::{StopReason, ToolKind};
use harn_runtime::{
    Agent, AgentError, AgentProfile, CommandSink, CommandSpec, TurnContext, async_trait,
};
use harn_testkit::ScriptedAgent;
use serde_json::json;

use crate::permission_rejections::workspace::Place;

/// One attempt to change something.
pub(crate) struct Route {
    pub(crate) name: &'static str,
    pub(crate) how: How,
    /// Whether something changes when the client approves everything.
    pub(crate) honest: bool,
}

/// The agent that makes the attempt.
#[derive(Clone, Copy)]
pub(crate) enum How {
    /// A scenario of these steps.
    Steps(&'static str),
    /// The built-in agent, with this prompt.
    Prompt(&'static str),
    /// An agent that keeps to no rules.
    Rogue(Trick),
}

/// The behaviour of an agent that keeps to no rules.
#[derive(Clone, Copy)]
pub(crate) enum Trick {
    /// Uses the host of its turn without starting a call.
    NoCall,
    /// Starts a call that only reads, and writes with it.
    ReadsAndWrites,
    /// Declares one action and performs another.
    Undeclared,
    /// Performs a call that was rejected or cancelled.
    Stubborn,
    /// Reports by itself that its call runs.
    Announces,
}

/// Routes that need nothing from the client.
pub(crate) const LOCAL: [Route; 40] = [
    honest(
        "write a file",
        How::Steps("[{write: {path: a.txt, text: x}}]"),
    ),
    honest(
        "write a new file",
        How::Steps("[{write: {path: new/n.txt, text: x}}]"),
    ),
    honest(
        "write by a detour",
        How::Steps("[{write: {path: dir/../a.txt, text: x}}]"),
    ),
    honest(
        "write by the whole path",
        How::Steps("[{write: {path: '{workspace}/a.txt', text: x}}]"),
    ),
    honest(
        "write through a link",
        How::Steps("[{write: {path: link.txt, text: x}}]"),
    ),
    honest(
        "write through a linked folder",
        How::Steps("[{write: {path: way/b.txt, text: x}}]"),
    ),
    dishonest(
        "write above",
        How::Steps("[{write: {path: ../outside/secret.txt, text: x}}]"),
    ),
    dishonest(
        "write outside by the whole path",
        How::Steps("[{write: {path: '{outside}/secret.txt', text: x}}]"),
    ),
    dishonest(
        "write through a link outside",
        How::Steps("[{write: {path: out.txt, text: x}}]"),
    ),
    dishonest(
        "write through a folder outside",
        How::Steps("[{write: {path: exit/new.txt, text: x}}]"),
    ),
    dishonest(
        "write through a broken link",
        How::Steps("[{write: {path: broken, text: x}}]"),
    ),
    dishonest(
        "write to .git",
        How::Steps("[{write: {path: .git/config, text: x}}]"),
    ),
    dishonest(
        "write a hook",
        How::Steps("[{write: {path: dir/../.git/hooks/h, text: x}}]"),
    ),
    dishonest(
        "write to .git through a link",
        How::Steps("[{write: {path: gate/config, text: x}}]"),
    ),
    dishonest(
        "write the rules",
        How::Steps("[{write: {path: .harn/policy.toml, text: x}}]"),
    ),
    honest("run", How::Steps("[{run: {command: touch made}}]")),
    honest(
        "run a redirection",
        How::Steps("[{run: {command: 'echo x > a.txt'}}]"),
    ),
    honest(
        "run an appending redirection",
        How::Steps("[{run: {command: 'echo x >> a.txt'}}]"),
    ),
    honest(
        "run a substitution",
        How::Steps("[{run: {command: 'echo $(touch made)'}}]"),
    ),
    honest(
        "run backticks",
        How::Steps("[{run: {command: 'echo `touch made`'}}]"),
    ),
    honest(
        "run a list",
        How::Steps("[{run: {command: 'ls; touch made'}}]"),
    ),
    honest(
        "run a pipe",
        How::Steps("[{run: {command: 'ls | tee made'}}]"),
    ),
    honest(
        "run in the background",
        How::Steps("[{run: {command: 'touch made & wait'}}]"),
    ),
    honest(
        "run a shell",
        How::Steps("[{run: {command: sh -c 'touch made'}}]"),
    ),
    honest(
        "run through env",
        How::Steps("[{run: {command: env X=1 touch made}}]"),
    ),
    honest(
        "run find",
        How::Steps("[{run: {command: find dir -name b.txt -delete}}]"),
    ),
    honest(
        "run a redirection outside",
        How::Steps("[{run: {command: 'ls > ../outside/new'}}]"),
    ),
    dishonest(
        "run a redirection to .git",
        How::Steps("[{run: {command: 'ls > .git/config'}}]"),
    ),
    honest(
        "a worker writes",
        How::Steps(
            "[{worker: {name: w, task: t, steps: [{write: {path: a.txt, text: x}}]}}, {await_workers: {}}]",
        ),
    ),
    honest(
        "a worker's worker runs",
        How::Steps(
            "[{worker: {name: w, task: t, steps: [{worker: {name: v, task: t, steps: [{run: {command: touch made}}]}}, {await_workers: {}}]}}, {await_workers: {}}]",
        ),
    ),
    dishonest(
        "a worker writes above",
        How::Steps(
            "[{worker: {name: w, task: t, steps: [{write: {path: ../outside/x, text: x}}]}}, {await_workers: {}}]",
        ),
    ),
    honest(
        "try again",
        How::Steps(
            "[{repeat: {times: 3, steps: [{write: {path: a.txt, text: x}}, {run: {command: touch made}}]}}]",
        ),
    ),
    honest(
        "ask for one thing and write another",
        How::Steps(
            "[{ask: {tool: look, kind: edit, path: dir/b.txt, on_allow: [{write: {path: a.txt, text: x}}], on_reject: [{write: {path: a.txt, text: x}}]}}]",
        ),
    ),
    honest("explore writes", How::Prompt("/write a.txt x")),
    honest("explore runs", How::Prompt("/run touch made")),
    dishonest("the host without a call", How::Rogue(Trick::NoCall)),
    dishonest("a call that only reads", How::Rogue(Trick::ReadsAndWrites)),
    dishonest("what was not declared", How::Rogue(Trick::Undeclared)),
    dishonest("what was refused", How::Rogue(Trick::Stubborn)),
    dishonest("a call nobody judged", How::Rogue(Trick::Announces)),
];

/// Routes that use tools of the client.
pub(crate) const HOSTED: [Route; 3] = [
    honest(
        "a tool of the host",
        How::Steps("[{host_tool: {name: deploy, args: {to: here}}}]"),
    ),
    honest(
        "an operation of the host",
        How::Steps("[{host_call: {op: process.set_default_shell, args: {shell_id: sh}}}]"),
    ),
    honest(
        "a worker uses a tool of the host",
        How::Steps(
            "[{worker: {name: w, task: t, steps: [{host_tool: {name: deploy, args: {to: here}}}]}}, {await_workers: {}}]",
        ),
    ),
];

const fn honest(name: &'static str, how: How) -> Route {
    Route {
        name,
        how,
        honest: true,
    }
}

const fn dishonest(name: &'static str, how: How) -> Route {
    Route {
        name,
        how,
        honest: false,
    }
}

impl Route {
    /// Returns the agent that takes this route in this workspace.
    pub(crate) fn agent(&self, place: &Place) -> Arc<dyn Agent> {
        match self.how {
            How::Steps(steps) => {
                let steps = place.insert_paths(steps);
                let scenario = format!("name: t\nturns:\n- steps: {steps}\n");
                match ScriptAgent::parse("route.yaml", &scenario) {
                    Ok(agent) => Arc::new(agent),
                    Err(error) => panic!("{}: {error}", self.name),
                }
            }
            How::Prompt(_) => Arc::new(ExploreAgent::new()),
            How::Rogue(trick) => Arc::new(ScriptedAgent::new(move |cx| run_trick(cx, trick))),
        }
    }

    /// Returns the prompt for the agent.
    pub(crate) fn prompt(&self) -> &'static str {
        match self.how {
            How::Prompt(prompt) => prompt,
            How::Steps(_) | How::Rogue(_) => "go",
        }
    }
}

/// An agent that is set after its workspace exists.
pub(crate) struct Late(pub(crate) Arc<std::sync::OnceLock<Arc<dyn Agent>>>);

#[async_trait]
impl Agent for Late {
    fn profile(&self) -> AgentProfile {
        AgentProfile::default()
    }

    async fn turn(&self, cx: &mut TurnContext) -> Result<StopReason, AgentError> {
        match self.0.get() {
            Some(agent) => agent.clone().turn(cx).await,
            None => Err(AgentError::failed("nobody is here")),
        }
    }
}

struct Unheard;

impl CommandSink for Unheard {
    fn on_terminal(&mut self, _: &str) {}

    fn on_output(&mut self, _: &str) {}
}

/// Tries every action through a host; returns whether one succeeded.
async fn try_everything(cx: &TurnContext, host: &harn_runtime::Host) -> bool {
    let spec = CommandSpec::shell("touch made", cx.cwd(), 1000);
    let write = host.write_text("a.txt", "x").await.is_ok();
    let run = host.run(spec, &mut Unheard).await.is_ok();
    let tool = host.call_tool("deploy", json!({})).await.is_ok();
    let shell = json!({"shell_id": "sh"});
    let call = host.call("process.set_default_shell", shell).await.is_ok();
    write || run || tool || call
}

async fn run_trick(cx: TurnContext, trick: Trick) -> Result<StopReason, AgentError> {
    let did = match trick {
        Trick::NoCall => try_everything(&cx, cx.host()).await,
        Trick::ReadsAndWrites => {
            let call = cx
                .tool("look")
                .kind(ToolKind::Read)
                .path("a.txt")
                .start()
                .await?;
            let did = try_everything(&cx, call.host()).await;
            call.complete(()).await?;
            did
        }
        Trick::Undeclared => {
            let tool = cx.tool("edit").kind(ToolKind::Edit).path("dir/b.txt");
            match tool.start().await {
                Ok(call) => {
                    let did = try_everything(&cx, call.host()).await;
                    call.complete(()).await?;
                    did
                }
                Err(_) => try_everything(&cx, cx.host()).await,
            }
        }
        Trick::Stubborn => {
            let tool = cx.tool("edit").kind(ToolKind::Edit).path("dir/c.txt");
            // The result is ignored.
            let _ = tool.start().await;
            let mut did = try_everything(&cx, cx.host()).await;
            let other = cx.tool("run").command("touch other").start().await;
            if let Ok(other) = other {
                did |= try_everything(&cx, other.host()).await;
            }
            did
        }
        Trick::Announces => {
            let call = harn_model::ToolCall {
                kind: Some(ToolKind::Edit),
                status: harn_model::ToolCallStatus::InProgress,
                raw_input: json!({"path": "a.txt"}),
                ..harn_model::ToolCall::new("call-x", "write_file")
            };
            cx.emit(harn_model::AgentEvent::ToolCall(Box::new(call)))
                .await?;
            try_everything(&cx, cx.host()).await
        }
    };
    if did {
        return Err(AgentError::failed("something worked"));
    }
    Ok(StopReason::EndTurn)
}
