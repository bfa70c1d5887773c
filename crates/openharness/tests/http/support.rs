//! An agent that does what its prompt states, and counts its turns.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use harn_model::{
    AgentEvent, Artifact, GrantScope, PermissionOption, PermissionOptionKind, PlanEntry,
    PromptSupport, SessionId, StopReason, ToolCall, ToolKind,
};
use harn_runtime::{AgentError, Question, ToolOutput, TurnContext};
use harn_testkit::{
    MemoryRules, ScriptedAgent, TestHub, TestHubBuilder, openharness::ShellResponse,
};
use tokio::{sync::Semaphore, time::timeout};

/// Makes a hang fail; nothing here measures time.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Returns the session of a run.
pub(crate) fn session_of_run(answer: &ShellResponse) -> SessionId {
    let continuation = answer.continuation();
    let run = continuation["run_id"].as_str().unwrap();
    let (session, _) = run.strip_prefix("run_").unwrap().split_once('.').unwrap();
    session.into()
}

/// A test's handle to the agent.
#[derive(Clone)]
pub(crate) struct Agent {
    seen: Arc<Mutex<Vec<String>>>,
    turns: Arc<AtomicUsize>,
    waiting: Arc<Semaphore>,
    gate: Arc<Semaphore>,
}

impl Agent {
    pub(crate) fn new() -> Self {
        Self {
            seen: Arc::default(),
            turns: Arc::default(),
            waiting: Arc::new(Semaphore::new(0)),
            gate: Arc::new(Semaphore::new(0)),
        }
    }

    /// Returns the number of prompts that reached it.
    pub(crate) fn turns(&self) -> usize {
        self.turns.load(Ordering::SeqCst)
    }

    /// Returns the prompts that reached it.
    pub(crate) fn prompts(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }

    /// Waits until a turn has reached the gate.
    pub(crate) async fn wait_for_turn(&self) {
        let waits = timeout(PATIENCE, self.waiting.acquire()).await;
        waits.unwrap().unwrap().forget();
    }

    /// Lets a turn through the gate.
    pub(crate) fn release_turn(&self) {
        self.gate.add_permits(1);
    }

    pub(crate) fn hub(&self) -> TestHub {
        self.builder().build()
    }

    pub(crate) fn builder(&self) -> TestHubBuilder {
        let agent = self.clone();
        let script = ScriptedAgent::new(move |cx| {
            let agent = agent.clone();
            async move { agent.run_turn(cx).await }
        });
        let takes = PromptSupport {
            embedded: true,
            ..PromptSupport::default()
        };
        let rules = MemoryRules::new("auto_approve = [\"read_file\"]");
        TestHub::builder(script.prompt_support(takes))
            .config(move |config| config.rules = rules.clone())
    }

    async fn run_turn(&self, cx: TurnContext) -> Result<StopReason, AgentError> {
        self.turns.fetch_add(1, Ordering::SeqCst);
        let prompt = format!("{:?}", cx.prompt());
        self.seen.lock().unwrap().push(prompt);
        let text = cx.prompt_text();
        let word = text.split(['\n', ' ']).next().unwrap_or_default();
        match word {
            "work" => work(&cx).await?,
            "write" => write(&cx, "notes.txt").await?,
            "both" => {
                let asked = (ask_permission(&cx, "one"), ask_permission(&cx, "two"));
                let (one, two) = tokio::try_join!(asked.0, asked.1)?;
                cx.say(format!("One {one}, two {two}.")).await?;
            }
            "later" => {
                // The first question is open, and its Shell has had time to receive it.
                let second = async {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    ask_permission(&cx, "two").await
                };
                let (one, two) = tokio::try_join!(ask_permission(&cx, "one"), second)?;
                cx.say(format!("One {one}, two {two}.")).await?;
            }
            "choose" => {
                let port = cx.question("Which port?").choices(["8080", "9090"]);
                let port = port.ask().await?;
                cx.say(format!("Port {}.", port.text())).await?;
            }
            "deploy" => {
                let verdict = cx.approval("deploy").ask().await?;
                let said = if verdict.approved {
                    "Deployed."
                } else {
                    "Not deployed."
                };
                cx.say(said).await?;
            }
            "wait" => {
                cx.say("Working.").await?;
                cx.flush().await?;
                self.waiting.add_permits(1);
                tokio::select! {
                    through = self.gate.acquire() => through.unwrap().forget(),
                    () = cx.cancelled() => return Err(AgentError::Cancelled),
                }
                cx.say(" Done.").await?;
            }
            "fail" => {
                cx.say("Let me see.").await?;
                return Err(AgentError::failed("the model is out of reach"));
            }
            _ => cx.say(format!("You said {word}.")).await?,
        }
        Ok(StopReason::EndTurn)
    }
}

/// Does a bit of everything that needs no permission.
async fn work(cx: &TurnContext) -> Result<(), AgentError> {
    cx.think("A look will do.").await?;
    cx.say("Let me look.").await?;
    let entry = PlanEntry {
        content: "Look".to_owned(),
        status: Default::default(),
        priority: Default::default(),
    };
    cx.plan(vec![entry]).await?;
    let read = cx.tool("read_file").kind(ToolKind::Read);
    let read = read
        .title("Read deals.csv")
        .path("deals.csv")
        .start()
        .await?;
    read.complete(ToolOutput::default()).await?;
    let chart = Artifact {
        artifact_id: "chart-1".to_owned(),
        kind: "vega-lite".to_owned(),
        title: Some("Deals".to_owned()),
        mime_type: "application/vnd.vegalite.v5+json".to_owned(),
        spec: serde_json::json!({"mark": "bar"}),
        fallback: "A chart of deals".to_owned(),
        size_bytes: 14,
        provenance: serde_json::Value::Null,
        metadata: serde_json::Value::Null,
    };
    cx.emit(AgentEvent::Artifact(Box::new(chart))).await?;
    cx.say("**Three** deals.").await
}

async fn write(cx: &TurnContext, path: &str) -> Result<(), AgentError> {
    let tool = cx.tool("write_file").kind(ToolKind::Edit);
    match tool.title(format!("Write {path}")).path(path).ask().await {
        Ok(tool) => {
            tool.complete(ToolOutput::default()).await?;
            cx.say(format!("It is in {path}.")).await
        }
        Err(AgentError::Denied { .. }) => cx.say("Then I leave it.").await,
        Err(other) => Err(other),
    }
}

/// Asks about a call directly: without a check of the rules, the question is open at once.
async fn ask_permission(cx: &TurnContext, what: &str) -> Result<bool, AgentError> {
    let option = |id: &str, kind| PermissionOption {
        option_id: id.to_owned(),
        name: id.to_owned(),
        kind,
        scope: GrantScope::Once,
    };
    let options = vec![
        option("yes", PermissionOptionKind::AllowOnce),
        option("no", PermissionOptionKind::RejectOnce),
    ];
    let tool_call = ToolCall::new(format!("call-{what}"), what);
    let decision = cx.ask(Question { tool_call, options }).await?;
    Ok(decision.allows())
}

pub(crate) fn repository_path(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path)
}
