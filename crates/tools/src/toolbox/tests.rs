//! Tools that others lend, which only this room can plug in.

use std::{sync::Arc, time::Duration};

use harn_journal::JsonlStore;
use harn_model::{
    ContentBlock, ErrorCategory, McpServerTag, Seq, StopReason, ToolCallUpdate, ToolExecutor,
    ToolSource,
};
use harn_runtime::{
    Agent, Clock, Equip, Hub, HubConfig, IdKind, Ids, NewSession, SessionMode, ToolError,
    ToolOutput,
};
use serde_json::{Value, json};

use super::*;
use crate::{DiskProbe, LocalHost};

/// An MCP server with a tool that reads and one that breaks.
struct Server;

#[async_trait]
impl Lender for Server {
    fn tools(&self) -> Vec<ToolSpec> {
        let tool = |name: &str| ToolSpec {
            name: name.to_owned(),
            description: String::new(),
            schema: Some(json!({"type": "object"})),
            annotations: Some(Builtin::ReadFile.annotations()),
            source: ToolSource::Mcp("ci".to_owned()),
            deprecated: false,
        };
        vec![tool("ci__status"), tool("ci__broken")]
    }

    async fn call(&self, tool: &str, arguments: Value) -> Result<ToolOutput, ToolError> {
        match tool {
            "ci__status" => Ok(arguments.into()),
            _ => Err(ToolError {
                message: "the server went away".to_owned(),
                category: ErrorCategory::McpServerError,
            }),
        }
    }
}

struct WithServer;

impl Equip for WithServer {
    fn equip(&self, session: NewEquipment) -> Arc<dyn Equipment> {
        let mut toolbox = Toolbox::new(Arc::default(), session);
        toolbox.servers = Arc::new(Server);
        Arc::new(toolbox)
    }
}

struct World;

impl Clock for World {
    fn now(&self) -> u64 {
        0
    }

    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }
}

impl Ids for World {
    fn mint(&self, kind: IdKind) -> String {
        format!("{kind:?}-1").to_lowercase()
    }
}

/// Calls the tool that its prompt names.
struct Caller;

#[async_trait]
impl Agent for Caller {
    async fn turn(&self, cx: &mut TurnContext) -> Result<StopReason, AgentError> {
        let toolbox = Toolbox::of(cx).ok_or_else(|| AgentError::failed("no toolbox"))?;
        // What fails is told on its call.
        let _ = toolbox.call(cx, &cx.prompt_text(), json!({"n": 1})).await;
        Ok(StopReason::EndTurn)
    }
}

/// How a call of this tool ended, and which tools were told of.
async fn call(tool: &str) -> (ToolCallUpdate, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let mut config = HubConfig::new(
        Arc::new(Caller),
        Arc::new(JsonlStore::new(folder.path().join("state"))),
        Arc::new(World),
        Arc::new(World),
        Arc::new(LocalHost::new()),
        Arc::new(DiskProbe),
    );
    config.equip = Arc::new(WithServer);
    config.default_mode = SessionMode::Ask;
    let hub = Hub::new(config);
    let new = NewSession {
        cwd: folder.path().canonicalize().unwrap(),
        additional_directories: Vec::new(),
    };
    let session = hub.create(new).await.unwrap();
    let mut events = session.subscribe(Seq::ZERO);
    let prompt = vec![ContentBlock::text(tool)];
    session.prompt(prompt, |_| ()).await.unwrap();
    let (mut end, mut added) = (None, Vec::new());
    loop {
        let Ok(batch) = events.next().await else {
            panic!("the session ended");
        };
        for envelope in batch.events() {
            match &envelope.event {
                AgentEvent::ToolCallUpdate(update) => end = Some((**update).clone()),
                AgentEvent::ToolsChanged(change) => added.clone_from(&change.added),
                AgentEvent::TurnEnded(_) => return (end.unwrap(), added),
                _ => {}
            }
        }
    }
}

#[tokio::test]
async fn a_tool_of_a_server_is_run_by_it() {
    let by = Some(ToolExecutor::McpServer {
        kind: McpServerTag::McpServer,
        server_name: "ci".to_owned(),
    });
    let (end, added) = call("ci__status").await;
    assert_eq!(added, ["ci__broken", "ci__status"]);
    assert_eq!(end.raw_output, Some(json!({"n": 1})));
    assert_eq!(end.executor, by);
    let (end, _) = call("ci__broken").await;
    assert_eq!(end.error_category, Some(ErrorCategory::McpServerError));
    assert_eq!(end.executor, by);
}
