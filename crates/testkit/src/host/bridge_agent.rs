//! An agent that sends its host the request that the prompt names, and returns the answer as text.

use harn_acp::ext::bridge::{BridgeMethod, ProcessOperation};
use harn_model::{SkillMatchRequest, SkillToMatch, StopReason, ToolKind};
use harn_runtime::{AgentError, HostError, TurnContext};
use serde_json::{Value, json};

use crate::ScriptedAgent;

/// Returns an agent whose prompts are the names of bridge requests. After `host/call` follow the operation and its
/// arguments: `host/call process.list_shells {}`. The agent sends the answer as JSON, an error as its kind and
/// message.
pub fn asking_agent() -> ScriptedAgent {
    ScriptedAgent::new(|cx| async move {
        let prompt = cx.prompt_text();
        let (method, rest) = prompt.split_once(' ').unwrap_or((prompt.as_str(), ""));
        let Some(method) = BridgeMethod::from_name(method) else {
            return Err(AgentError::Failed("not a method of the bridge".to_owned()));
        };
        let said = match ask(&cx, method, rest).await? {
            Ok(answer) => answer.to_string(),
            Err(error) => format!("{}: {error}", kind(&error)),
        };
        cx.say(said).await?;
        Ok(StopReason::EndTurn)
    })
}

async fn ask(
    cx: &TurnContext,
    method: BridgeMethod,
    rest: &str,
) -> Result<Result<Value, HostError>, AgentError> {
    let host = cx.host();
    Ok(match method {
        BridgeMethod::BuiltinCall => {
            let args = json!({"sides": 6});
            let call = cx.tool("dice").input(args.clone()).start().await?;
            let answer = call.host().call_tool("dice", args).await;
            call.complete(()).await?;
            answer
        }
        BridgeMethod::Call => {
            let (operation, args) = rest.split_once(' ').unwrap_or((rest, "{}"));
            let args: Value = serde_json::from_str(args).unwrap_or_default();
            let kind = match ProcessOperation::from_name(operation) {
                Some(ProcessOperation::Exec) => ToolKind::Execute,
                _ => ToolKind::Read,
            };
            let call = cx.tool(operation).kind(kind).input(args.clone());
            let call = call.start().await?;
            let answer = call.host().call(operation, args).await;
            call.complete(()).await?;
            answer
        }
        BridgeMethod::Capabilities => host.capabilities().await.map(|it| json!(it.0)),
        BridgeMethod::ToolsList => host.list_tools().await.map(|it| json!(it)),
        BridgeMethod::SkillsList => host.list_skills().await.map(|it| json!(it)),
        BridgeMethod::SkillsFetch => host.fetch_skill("deploy").await.map(|it| {
            json!({
                "name": it.name, "description": it.description, "body": it.body, "manifest": it.manifest,
            })
        }),
        BridgeMethod::SkillMatch => host.match_skills(skill_match_request()).await.map(|it| json!(it)),
    })
}

fn skill_match_request() -> SkillMatchRequest {
    let skill = |name: &str, description: &str, path: &str| SkillToMatch {
        name: name.to_owned(),
        description: description.to_owned(),
        when_to_use: String::new(),
        paths: vec![path.to_owned()],
    };
    SkillMatchRequest {
        strategy: "host".to_owned(),
        prompt: "Ship the release".to_owned(),
        working_files: vec!["infra/main.tf".to_owned()],
        candidates: vec![
            skill("deploy", "Ship it", "infra/**"),
            skill("review", "Look at the code", "src/**"),
        ],
    }
}

fn kind(error: &HostError) -> &'static str {
    match error {
        HostError::Unsupported(_) => "unsupported",
        HostError::Denied(_) => "denied",
        HostError::TimedOut(_) => "timed out",
        HostError::Host(_) => "host",
        HostError::Failed(_) => "failed",
    }
}
