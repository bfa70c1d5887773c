//! A session's equipment: when it is refreshed, which commands it adds, how its changes are reported, and when it
//! closes.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use expect_test::expect;
use harn_model::{
    AgentEvent, ContentBlock, McpServerSpec, McpServerStatus, McpState, McpTransport, SlashCommand,
    StopReason, ToolsChange, plain_text,
};
use harn_runtime::{
    Agent, AgentError, Equipment, EquipmentChange, EquipmentLink, EquipmentProvider, Hub,
    NewEquipment, Seam, TurnContext, async_trait,
};

use crate::support::*;

/// Equipment that records its calls.
#[derive(Default)]
struct Noting {
    link: Mutex<Option<EquipmentLink>>,
    commands: Mutex<Vec<SlashCommand>>,
    servers: Mutex<Vec<McpServerSpec>>,
    skills_updated: AtomicBool,
    boundaries: AtomicU64,
    closed: AtomicBool,
}

impl Noting {
    async fn report(&self, change: EquipmentChange) {
        let link = self.link.lock().unwrap().clone().unwrap();
        link.report(change).await;
    }
}

/// Equips every session with the same `Noting`.
struct With(Arc<Noting>);

impl EquipmentProvider for With {
    fn equip(&self, session: NewEquipment) -> Arc<dyn Equipment> {
        assert!(session.files.unwrap().ends_with("session-1/files"));
        *self.0.link.lock().unwrap() = Some(session.link);
        self.0.clone()
    }
}

#[async_trait]
impl Equipment for Noting {
    fn add_servers(&self, servers: Vec<McpServerSpec>) {
        self.servers.lock().unwrap().extend(servers);
    }

    fn servers(&self) -> Vec<McpServerStatus> {
        let servers = self.servers.lock().unwrap();
        let status = |server: &McpServerSpec| McpServerStatus {
            name: server.name.clone(),
            state: McpState::Connecting,
            tools: None,
            error: None,
        };
        servers.iter().map(status).collect()
    }

    fn notify_skills_updated(&self) {
        self.skills_updated.store(true, Ordering::Relaxed);
    }

    fn commands(&self) -> Vec<SlashCommand> {
        self.commands.lock().unwrap().clone()
    }

    fn agent_for_command(
        &self,
        prompt: &[ContentBlock],
        agent: &Arc<dyn Agent>,
    ) -> Option<Arc<dyn Agent>> {
        let rest = plain_text(prompt).strip_prefix("/deploy")?.to_owned();
        Some(Arc::new(Deploy(rest, agent.clone())))
    }

    async fn refresh_at_boundary(&self, cx: &TurnContext) -> Result<(), AgentError> {
        let count = self.boundaries.fetch_add(1, Ordering::Relaxed);
        cx.think(format!("boundary {count}")).await
    }

    fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
    }
}

/// Calls its agent with another prompt.
struct Deploy(String, Arc<dyn Agent>);

#[async_trait]
impl Agent for Deploy {
    async fn turn(&self, cx: &mut TurnContext) -> Result<StopReason, AgentError> {
        let prompt = format!("Deploy{}, step by step.", self.0);
        let mut cx = cx.with_prompt(vec![ContentBlock::text(prompt)]);
        self.1.turn(&mut cx).await
    }
}

fn command(name: &str) -> SlashCommand {
    SlashCommand {
        name: name.to_owned(),
        description: format!("does {name}"),
        input: None,
    }
}

fn hub(world: &World) -> (Hub, Arc<Noting>) {
    let noting = Arc::<Noting>::default();
    let equip = Arc::new(With(noting.clone()));
    let says = agent(async |cx| {
        let mine = cx.equipment::<Noting>();
        assert!(mine.is_some(), "an agent finds what it knows");
        cx.say(cx.prompt_text()).await?;
        cx.seam(Seam::TurnStart).await?;
        Ok(StopReason::EndTurn)
    });
    let hub = world.hub_with(says, |config| config.equip = equip);
    (hub, noting)
}

#[tokio::test]
async fn equipment_is_refreshed_at_each_turn_and_iteration() {
    let world = World::new();
    let (hub, _) = hub(&world);
    let session = world.session(&hub).await;
    let turn = prompt(&session, "hello").await;
    let events = whole_turn(&session, &turn).await;
    expect![[r#"
        1 turn_started msg-1
        2 agent_thought_chunk boundary 0 msg-2
        3 agent_message_chunk hello msg-3
        4 agent_thought_chunk boundary 1 msg-4
        5 loop_checkpoint
        6 session_info hello
        7 turn_ended stopped end_turn
    "#]]
    .assert_eq(&format_short(&events));
}

#[tokio::test]
async fn equipment_command_replaces_the_prompt_of_the_agent() {
    let world = World::new();
    let (hub, noting) = hub(&world);
    let session = world.session(&hub).await;
    *noting.commands.lock().unwrap() = vec![command("deploy"), command("permissions")];
    let names = || {
        let commands = session.commands().into_iter();
        commands.map(|it| it.name).collect::<Vec<_>>()
    };
    assert_eq!(names(), ["deploy", "permissions"]);
    let turn = prompt(&session, "/deploy to staging").await;
    let events = whole_turn(&session, &turn).await;
    let said = format_short(&events);
    // The event has the prompt as typed; only the agent receives the other one.
    assert!(said.contains("Deploy to staging, step by step."), "{said}");
    let AgentEvent::TurnStarted(started) = &events[0].event else {
        panic!("{said}");
    };
    assert_eq!(plain_text(&started.prompt), "/deploy to staging");
}

#[tokio::test]
async fn equipment_changes_are_events_and_its_commands_are_not_stored() {
    let world = World::new();
    let (hub, noting) = hub(&world);
    let session = world.session(&hub).await;
    let mut events = session.subscribe_from_now();
    // Nothing changed, so no event is written.
    noting.report(EquipmentChange::Commands).await;
    *noting.commands.lock().unwrap() = vec![command("deploy")];
    noting.report(EquipmentChange::Commands).await;
    noting.report(EquipmentChange::Commands).await;
    let tools = ToolsChange {
        added: vec!["grep".to_owned()],
        total: 1,
        ..ToolsChange::default()
    };
    noting.report(EquipmentChange::Tools(tools)).await;
    let servers = vec![McpServerStatus {
        name: "issues".to_owned(),
        state: McpState::Ready,
        tools: Some(3),
        error: None,
    }];
    noting.report(EquipmentChange::Servers(servers)).await;
    let last = |e: &harn_model::Envelope| matches!(e.event, AgentEvent::McpServers { .. });
    let told = collect_until(&mut events, last).await;
    expect![[r#"
        1 available_commands
        2 tools_changed
        3 mcp_servers
    "#]]
    .assert_eq(&format_short(&told));
    let AgentEvent::AvailableCommands {
        commands, equipped, ..
    } = &told[0].event
    else {
        panic!("no commands");
    };
    let names: Vec<_> = commands.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["deploy", "permissions"]);
    assert_eq!(equipped, &["deploy"]);
    // The view has no commands, because another process may have other equipment.
    assert_eq!(session.view().commands, None);
}

#[tokio::test]
async fn equipment_receives_servers_and_updates_and_closes_with_its_session() {
    let world = World::new();
    let (hub, noting) = hub(&world);
    let session = world.session(&hub).await;
    session.add_servers(vec![McpServerSpec {
        name: "issues".to_owned(),
        transport: McpTransport::Unsupported("sse"),
    }]);
    assert_eq!(session.mcp_servers()[0].name, "issues");
    session.notify_skills_updated();
    assert!(noting.skills_updated.load(Ordering::Relaxed));
    assert!(!noting.closed.load(Ordering::Relaxed));
    hub.close(session.id()).await;
    assert!(noting.closed.load(Ordering::Relaxed));
    // A change after the end is dropped without an error.
    noting.report(EquipmentChange::Commands).await;
}
