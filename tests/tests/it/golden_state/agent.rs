//! The agent of the transcripts. It pauses between its actions, so that each is a frame of its own.

use std::time::Duration;

use harn_model::{
    CommandInput, ConfigChoice, ConfigOption, ErrorCategory, PlanEntry, PlanEntryStatus,
    PlanPriority, Seam, SlashCommand, StopReason, ToolContent, ToolKind,
};
use harn_runtime::{AgentError, ToolOutput, TurnContext};
use harn_testkit::{ScriptedAgent, StateServer, TestHub};
use serde_json::json;
use tokio::time::sleep;

pub(crate) fn serve_agent() -> (TestHub, StateServer) {
    let test = TestHub::new(agent());
    let server = test.serve_state();
    (test, server)
}

fn agent() -> ScriptedAgent {
    let choice = |value: &str, name: &str| ConfigChoice {
        value: value.to_owned(),
        name: name.to_owned(),
    };
    ScriptedAgent::new(|cx| async move { act(&cx).await })
        .options(vec![ConfigOption {
            id: "model".to_owned(),
            name: "Model".to_owned(),
            description: "Which model answers".to_owned(),
            choices: vec![choice("small", "Small"), choice("large", "Large")],
            default: "small".to_owned(),
        }])
        .commands(vec![SlashCommand {
            name: "review".to_owned(),
            description: "Review a file".to_owned(),
            input: Some(CommandInput {
                hint: "path".to_owned(),
            }),
        }])
}

/// Ends the current frame: flushes, and lets time pass.
async fn pause(cx: &TurnContext) -> Result<(), AgentError> {
    cx.flush().await?;
    sleep(Duration::from_millis(50)).await;
    Ok(())
}

async fn act(cx: &TurnContext) -> Result<StopReason, AgentError> {
    pause(cx).await?;
    match cx.prompt_text().as_str() {
        "Where is the parser?" => {
            cx.think("It was moved.").await?;
            pause(cx).await?;
            for words in ["The parser is ", "in ", "`src/parse.rs`."] {
                cx.say(words).await?;
                pause(cx).await?;
            }
        }
        "Run the tests" => run_tools(cx).await?,
        "Clean up" => {
            cx.say("Let me remove `target`.").await?;
            let clean = cx.tool("run_command").command("cargo clean");
            match clean.ask().await {
                Ok(call) => {
                    pause(cx).await?;
                    call.complete("Removed 214 files".to_owned()).await?;
                    pause(cx).await?;
                    cx.say("Done.").await?;
                }
                Err(AgentError::Denied { .. }) => {
                    pause(cx).await?;
                    cx.say("Then not.").await?;
                }
                Err(error) => return Err(error),
            }
            pause(cx).await?;
        }
        "Look around" => return look_around(cx).await,
        "Ask the model" => {
            cx.say("Let me ask").await?;
            pause(cx).await?;
            return Err(AgentError::failed("the model is not reachable"));
        }
        "Ship it" => ask_questions(cx).await?,
        prompt => {
            cx.say(format!("You said: {prompt}")).await?;
            pause(cx).await?;
        }
    }
    Ok(StopReason::EndTurn)
}

async fn run_tools(cx: &TurnContext) -> Result<(), AgentError> {
    let step = |content: &str, status| PlanEntry {
        content: content.to_owned(),
        status,
        priority: PlanPriority::High,
    };
    let plan = vec![
        step("Run them", PlanEntryStatus::InProgress),
        step("Count them", PlanEntryStatus::Pending),
    ];
    cx.plan(plan).await?;
    cx.say("Let me see.").await?;
    let tests = cx
        .tool("run_tests")
        .kind(ToolKind::Search)
        .title("Run the tests")
        .input(json!({"filter": "parse"}))
        .start()
        .await?;
    for shown in ["one", "one\ntwo"] {
        tests.show(vec![ToolContent::text(shown)]).await?;
        pause(cx).await?;
    }
    tests.complete("one\ntwo\nthree".to_owned()).await?;
    pause(cx).await?;
    let count = cx.tool("count").kind(ToolKind::Search).start().await?;
    let counted = ToolOutput {
        raw: Some(json!({"tests": 3})),
        ..ToolOutput::default()
    };
    count.complete(counted).await?;
    pause(cx).await?;
    let read = cx.tool("read_file").kind(ToolKind::Read).start().await?;
    read.fail("no such file", ErrorCategory::ToolError).await?;
    pause(cx).await?;
    cx.say("3 tests pass.").await?;
    pause(cx).await
}

/// Waits until the turn is cancelled or a message arrives.
async fn look_around(cx: &TurnContext) -> Result<StopReason, AgentError> {
    cx.say("Looking.").await?;
    cx.tool("look").kind(ToolKind::Search).start().await?;
    cx.flush().await?;
    loop {
        tokio::select! {
            () = cx.cancelled() => return Err(AgentError::Cancelled),
            () = sleep(Duration::from_secs(10)) => {}
        }
        let delivered = cx.seam(Seam::PostToolDispatch).await?;
        let heard: Vec<_> = delivered.messages().collect();
        if !heard.is_empty() {
            pause(cx).await?;
            cx.say(format!("I hear: {}", heard.join(", "))).await?;
            pause(cx).await?;
            return Ok(StopReason::EndTurn);
        }
    }
}

async fn ask_questions(cx: &TurnContext) -> Result<(), AgentError> {
    let port = cx.question("Which port?").choices(["80", "443"]);
    let port = port.default("443").ask().await?;
    pause(cx).await?;
    cx.say(format!("Port {}.", port.text())).await?;
    let deploy = cx.approval("deploy").detail("To production").ask().await?;
    pause(cx).await?;
    let word = match deploy.approved {
        true => "Deployed.",
        false => "Not deployed.",
    };
    cx.say(word).await?;
    let help = cx
        .escalation("The disk is full")
        .assignee("on-call")
        .ask()
        .await?;
    pause(cx).await?;
    let word = match help.accepted {
        true => "Somebody looks after it.",
        false => "Nobody looks after it.",
    };
    cx.say(word).await?;
    let launch = cx.dual_control("launch").ask().await?;
    pause(cx).await?;
    let word = match launch.approved {
        true => "Launched.",
        false => "Not launched.",
    };
    cx.say(word).await?;
    pause(cx).await
}
