//! Slash commands of a session's equipment: `/mcp`, for every session with MCP servers and any agent, and the
//! boundary before the commands of skills.

use std::{fmt::Write as _, sync::Arc};

use async_trait::async_trait;
use harn_model::{
    ContentBlock, McpServerStatus, McpState, SlashCommand, StopReason, ToolSource, ToolSpec,
};
use harn_runtime::{Agent, AgentError, AgentProfile, Equipment, TurnContext};

use super::{Toolbox, servers::ServerPart};
use crate::markdown::code;

const NAME: &str = "mcp";

/// Returns the command if there are servers.
pub(super) fn commands(servers: &ServerPart) -> Vec<SlashCommand> {
    if servers.all.statuses().is_empty() {
        return Vec::new();
    }
    vec![SlashCommand {
        name: NAME.to_owned(),
        description: "Show the MCP servers of this session and their state".to_owned(),
        input: None,
    }]
}

pub(super) fn command(
    servers: &Arc<ServerPart>,
    prompt: &[ContentBlock],
) -> Option<Arc<dyn Agent>> {
    let Some(ContentBlock::Text { text }) = prompt.first() else {
        return None;
    };
    let meant = text.split_whitespace().next()? == "/mcp";
    meant.then(|| Arc::new(McpCommand(servers.clone())) as Arc<dyn Agent>)
}

/// An agent that runs in place of the session's own. The runtime does not call `boundary` for it, but the agent
/// that receives the prompt next needs its tools.
pub(super) struct BoundaryAgent(pub(super) Arc<dyn Agent>);

#[async_trait]
impl Agent for BoundaryAgent {
    fn profile(&self) -> AgentProfile {
        self.0.profile()
    }

    async fn turn(&self, cx: &mut TurnContext) -> Result<StopReason, AgentError> {
        if let Some(toolbox) = Toolbox::from_turn(cx) {
            toolbox.refresh_at_boundary(cx).await?;
        }
        self.0.turn(cx).await
    }
}

struct McpCommand(Arc<ServerPart>);

#[async_trait]
impl Agent for McpCommand {
    async fn turn(&self, cx: &mut TurnContext) -> Result<StopReason, AgentError> {
        // Like any first prompt: a user who asks at once wants to see the result of the connections.
        self.0.wait(cx).await?;
        cx.say(format_servers(&self.0.all.statuses(), &self.0.all.tools()))
            .await?;
        Ok(StopReason::EndTurn)
    }
}

fn format_servers(servers: &[McpServerStatus], tools: &[ToolSpec]) -> String {
    if servers.is_empty() {
        return "This session has no MCP servers.\n".to_owned();
    }
    let mut out = String::new();
    for server in servers {
        let count = match server.tools {
            None => String::new(),
            Some(1) => ", 1 tool".to_owned(),
            Some(count) => format!(", {count} tools"),
        };
        let state = state_name(server.state);
        // Writing into a string cannot fail.
        let _ = write!(out, "- {}: {state}{count}", code(&server.name));
        if let Some(error) = &server.error {
            let _ = write!(out, "; {error}");
        }
        out.push('\n');
        let source = ToolSource::Mcp(server.name.clone());
        for tool in tools.iter().filter(|tool| tool.source == source) {
            let _ = writeln!(out, "  - {}", code(&tool.name));
        }
    }
    out
}

fn state_name(state: McpState) -> &'static str {
    match state {
        McpState::Connecting => "connecting",
        McpState::Ready => "ready",
        McpState::Failed => "failed, retrying",
        McpState::GivenUp => "given up",
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn the_command_lists_servers_with_state_and_tools() {
        let server = |name: &str, state, tools, error: Option<&str>| McpServerStatus {
            name: name.to_owned(),
            state,
            tools,
            error: error.map(str::to_owned),
        };
        let servers = [
            server("files", McpState::Ready, Some(14), None),
            server("issues", McpState::Failed, None, Some("it disconnected")),
            server("one", McpState::Ready, Some(1), None),
        ];
        let tool = ToolSpec {
            name: "mcp__one__add".to_owned(),
            description: String::new(),
            schema: None,
            annotations: None,
            source: ToolSource::Mcp("one".to_owned()),
            deprecated: false,
        };
        expect![[r#"
            - `files`: ready, 14 tools
            - `issues`: failed, retrying; it disconnected
            - `one`: ready, 1 tool
              - `mcp__one__add`
        "#]]
        .assert_eq(&format_servers(&servers, &[tool]));
        assert_eq!(
            format_servers(&[], &[]),
            "This session has no MCP servers.\n"
        );
    }
}
