//! An agent that acts on its prompt, and a server for it.

use std::time::Duration;

use harn_model::{
    CommandInput, ConfigChoice, ConfigOption, Seam, SlashCommand, StopReason, ToolContent, ToolKind,
};
use harn_runtime::{AgentError, TurnContext};
use harn_testkit::{ScriptedAgent, StateServer, TestHub};
use tokio::time::sleep;

/// Longer than clients wait between two frames.
const A_WHILE: Duration = Duration::from_millis(20);

pub(crate) fn serve_agent() -> (TestHub, StateServer) {
    let test = TestHub::new(agent());
    let server = test.serve_state();
    (test, server)
}

pub(crate) fn agent() -> ScriptedAgent {
    let choice = |value: &str| ConfigChoice {
        value: value.to_owned(),
        name: value.to_uppercase(),
    };
    ScriptedAgent::new(|cx| async move { act(&cx).await })
        .options(vec![ConfigOption {
            id: "depth".to_owned(),
            name: "Depth".to_owned(),
            description: "How thoroughly to look".to_owned(),
            choices: vec![choice("1"), choice("2"), choice("true")],
            default: "1".to_owned(),
        }])
        .commands(vec![SlashCommand {
            name: "go".to_owned(),
            description: "Start".to_owned(),
            input: Some(CommandInput {
                hint: "where to".to_owned(),
            }),
        }])
}

async fn act(cx: &TurnContext) -> Result<StopReason, AgentError> {
    let prompt = cx.prompt_text();
    let (verb, rest) = prompt.split_once(' ').unwrap_or((&prompt, ""));
    match verb {
        "flood" => {
            for word in 0..rest.parse().unwrap_or(0) {
                cx.say(format!("{word} ")).await?;
                cx.flush().await?;
                sleep(Duration::from_millis(1)).await;
            }
        }
        "wait" => return work_until_stopped(cx).await,
        "tool" => {
            let tests = cx.tool("run_tests").kind(ToolKind::Search);
            let tests = tests.title("Run the tests").start().await?;
            for shown in ["one", "one\ntwo"] {
                tests.show(vec![ToolContent::text(shown)]).await?;
                sleep(A_WHILE).await;
            }
            tests.complete("one\ntwo\nthree".to_owned()).await?;
        }
        "ask" => {
            let clean = cx.tool("run_command").command("cargo clean");
            match clean.ask().await {
                Ok(call) => call.complete("cleaned".to_owned()).await?,
                Err(error @ AgentError::Cancelled) => return Err(error),
                Err(error) => cx.say(error.to_string()).await?,
            }
        }
        "question" => {
            let port = cx.question("Which port?").choices(["80", "443"]).ask();
            cx.say(format!("port {}", port.await?.text())).await?;
        }
        "approval" => {
            let verdict = cx.approval("deploy").ask().await?;
            cx.say(format!("deploy: {}", verdict.approved)).await?;
        }
        "dual" => {
            let verdict = cx.dual_control("launch").ask().await?;
            cx.say(format!("launch: {}", verdict.approved)).await?;
        }
        "escalation" => {
            let help = cx.escalation("The disk is full").assignee("on-call").ask();
            cx.say(format!("taken over: {}", help.await?.accepted))
                .await?;
        }
        "fail" => {
            cx.say("Let me look").await?;
            return Err(AgentError::failed("the model is not reachable"));
        }
        _ => {
            for word in prompt.split_inclusive(' ') {
                sleep(A_WHILE).await;
                cx.say(word).await?;
            }
        }
    }
    Ok(StopReason::EndTurn)
}

/// Works until it is cancelled or receives `enough`, and repeats the messages it receives meanwhile.
async fn work_until_stopped(cx: &TurnContext) -> Result<StopReason, AgentError> {
    cx.say("Working.").await?;
    cx.tool("look").kind(ToolKind::Search).start().await?;
    loop {
        tokio::select! {
            () = cx.cancelled() => return Err(AgentError::Cancelled),
            () = sleep(A_WHILE) => {}
        }
        let heard: Vec<_> = cx.seam(Seam::PostToolDispatch).await?.messages().collect();
        for word in heard {
            cx.say(format!("Heard: {word}")).await?;
            if word == "enough" {
                return Ok(StopReason::EndTurn);
            }
        }
    }
}
