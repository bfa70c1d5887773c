//! MCP servers in a session: awaited, reported, called through the rules, and closed with it.

use std::{
    ffi::OsString,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use harn_model::{
    AgentEvent, ErrorCategory, McpServerSpec, McpState, McpTransport, ToolCallStatus, ToolExecutor,
};
use harn_testkit::skip_without;
use harn_tools::{
    ToolboxConfig, TrustLookup, WorkspaceTrust,
    skills::{SkillLibrary, SkillPlaces},
};
use serde_json::json;

use crate::toolbox::support::{Rig, StillClock, allow_with, assert_failed, is_running, shown_text};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mcp_server.py");
const TOOLS: [&str; 5] = ["die", "env", "pids", "sleep", "where"];

fn server(name: &str) -> McpServerSpec {
    McpServerSpec {
        name: name.to_owned(),
        transport: McpTransport::Stdio {
            command: "python3".to_owned(),
            args: vec![SCRIPT.to_owned()],
            env: Vec::new(),
        },
    }
}

/// The trust in the workspace, which a test can change.
#[derive(Default)]
struct Somebody(AtomicBool);

impl TrustLookup for Somebody {
    fn trust(&self, _: &Path) -> WorkspaceTrust {
        match self.0.load(Ordering::SeqCst) {
            true => WorkspaceTrust::Everything,
            false => WorkspaceTrust::Nothing,
        }
    }
}

fn config(trust: &Arc<Somebody>) -> ToolboxConfig {
    let path = std::env::vars_os().filter(|(key, _)| key == "PATH");
    let path: Vec<(OsString, OsString)> = path.collect();
    let library = SkillLibrary::new(SkillPlaces::default(), Arc::new(StillClock));
    ToolboxConfig {
        inherited: path.into(),
        trust: trust.clone(),
        skills: Some(Arc::new(library)),
        ..ToolboxConfig::default()
    }
}

async fn rig(files: &[(&str, &str)]) -> (Rig, Arc<Somebody>) {
    let trust = Arc::default();
    (Rig::with(files, config(&trust)).await, trust)
}

fn server_names(rig: &Rig) -> Vec<String> {
    let servers = rig.session.mcp_servers();
    servers.into_iter().map(|server| server.name).collect()
}

fn is_offered(rig: &Rig) -> bool {
    rig.session.commands().iter().any(|it| it.name == "mcp")
}

/// Waits until none of them is running; only the test's own time limit bounds the wait.
async fn wait_until_gone(pids: &str) {
    while pids.split(' ').any(is_running) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn client_server_is_awaited_reported_and_called() {
    if skip_without("python3") {
        return;
    }
    let (mut rig, _) = rig(&[]).await;
    assert!(!is_offered(&rig));
    rig.session.add_servers(vec![server("small")]);
    assert!(is_offered(&rig));
    // The server is still connecting, but the first prompt finds its tools.
    let turn = rig.call_allowed("mcp__small__pids", json!({})).await;
    let (_, end) = turn.only_call();
    assert_eq!(end.status, ToolCallStatus::Completed, "{end:?}");
    let Some(ToolExecutor::McpServer { server_name, .. }) = &end.executor else {
        panic!("{:?}", end.executor);
    };
    assert_eq!(server_name, "small");
    let pids = end
        .raw_output
        .as_ref()
        .unwrap()
        .as_str()
        .unwrap()
        .to_owned();

    let changes = turn.changes();
    let added: Vec<_> = changes.iter().flat_map(|change| &change.added).collect();
    let tools = TOOLS.map(|tool| format!("mcp__small__{tool}"));
    assert_eq!(added, tools.iter().collect::<Vec<_>>());
    let states = turn.servers().into_iter().map(|told| told[0].state);
    let states: Vec<_> = states.collect();
    assert_eq!(states.last(), Some(&McpState::Ready), "{states:?}");

    let turn = rig.run_turn("/mcp").await;
    let lines = TOOLS.map(|tool| format!("  - `mcp__small__{tool}`\n"));
    let expected = format!("- `small`: ready, 5 tools\n{}", lines.concat());
    assert_eq!(turn.agent_text(), expected);

    let turn = rig
        .call_allowed("mcp__small__die", json!({"code": 3}))
        .await;
    assert_failed(&turn, ErrorCategory::McpServerError, "small");
    wait_until_gone(&pids).await;
}

#[tokio::test]
async fn server_ends_with_its_session() {
    if skip_without("python3") {
        return;
    }
    let (mut rig, _) = rig(&[]).await;
    rig.session.add_servers(vec![server("small")]);
    let turn = rig.call_allowed("mcp__small__pids", json!({})).await;
    let pids = turn.only_call().1.raw_output.clone().unwrap();
    rig.hub.close(rig.session.id()).await;
    wait_until_gone(pids.as_str().unwrap()).await;
}

#[tokio::test]
async fn worker_uses_the_servers_of_its_session_without_reporting_them() {
    if skip_without("python3") {
        return;
    }
    let (mut rig, _) = rig(&[]).await;
    rig.session.add_servers(vec![server("small")]);
    rig.run_turn("visible").await;
    rig.start_turn("worker: mcp__small__where {}").await;
    let asked = rig
        .collect_until(|event| matches!(event, AgentEvent::PermissionAsked(_)))
        .await;
    let ask = asked.permission_question().unwrap().ask_id.clone();
    rig.session.answer(ask, allow_with(None)).await;
    let turn = rig.finish().await;
    for part in [asked, turn] {
        assert!(part.changes().is_empty() && part.servers().is_empty());
    }
}

fn manifest(names: &[&str]) -> String {
    let table =
        |name: &&str| format!("[mcp_servers.{name}]\ncommand = 'python3'\nargs = ['{SCRIPT}']\n");
    names.iter().map(table).collect()
}

#[tokio::test]
async fn servers_of_a_workspace_need_trust() {
    if skip_without("python3") {
        return;
    }
    let (mut rig, trust) = rig(&[("harn.toml", &manifest(&["one", "two"]))]).await;
    let turn = rig.run_turn("visible").await;
    assert_eq!(
        turn.warnings(),
        [
            "the workspace is not trusted, so the MCP servers of its harn.toml (one, two) are not connected; \
             `harn-serve trust` trusts it"
        ]
    );
    assert!(!turn.agent_text().contains("mcp__"));
    assert!(
        rig.run_turn("visible").await.warnings().is_empty(),
        "told once"
    );
    assert_eq!(server_names(&rig), Vec::<String>::new());
    assert!(!is_offered(&rig));

    trust.0.store(true, Ordering::SeqCst);
    let turn = rig.run_turn("visible").await;
    assert!(
        turn.agent_text().contains("mcp__one__where"),
        "{}",
        turn.agent_text()
    );
    assert!(turn.agent_text().contains("mcp__two__where"));

    // A server that the client added stays the client's, even when the manifest no longer has its name.
    rig.session.add_servers(vec![server("one")]);
    rig.put("harn.toml", &manifest(&["three"]));
    let turn = rig.run_turn("visible").await;
    assert_eq!(server_names(&rig), ["one", "three"]);
    assert!(
        turn.agent_text().contains("mcp__three__where"),
        "{}",
        turn.agent_text()
    );

    trust.0.store(false, Ordering::SeqCst);
    rig.run_turn("visible").await;
    assert_eq!(server_names(&rig), ["one"]);
}

#[tokio::test]
async fn servers_of_a_trusted_workspace_connect_when_its_session_opens() {
    if skip_without("python3") {
        return;
    }
    let trust = Arc::new(Somebody(AtomicBool::new(true)));
    let files = [("harn.toml", &*manifest(&["one"]))];
    let mut rig = Rig::with(&files, config(&trust)).await;
    // No prompt was sent.
    let ready = |event: &AgentEvent| match event {
        AgentEvent::McpServers { servers } => servers.iter().all(|it| it.state == McpState::Ready),
        _ => false,
    };
    rig.collect_until(ready).await;
    assert_eq!(server_names(&rig), ["one"]);
}

#[tokio::test]
async fn skill_servers_are_connected_while_the_skill_is_active() {
    if skip_without("python3") {
        return;
    }
    let skill = format!(
        "---\nname: helper\nshort: Helps\nuser_invocable: true\nmcp_servers:\n  own:\n    \
         command: python3\n    args: ['{SCRIPT}']\n---\nvisible"
    );
    let (mut rig, trust) = rig(&[(".harn/skills/helper/SKILL.md", &skill)]).await;
    trust.0.store(true, Ordering::SeqCst);
    assert_eq!(server_names(&rig), Vec::<String>::new());
    rig.run_turn("/helper").await;
    assert_eq!(server_names(&rig), ["own"]);
    let turn = rig.call_allowed("mcp__own__where", json!({})).await;
    assert!(shown_text(turn.only_call().1).contains("workspace"));
    // A removed skill is not active.
    std::fs::remove_dir_all(rig.path(".harn/skills/helper")).unwrap();
    rig.run_turn("visible").await;
    assert_eq!(server_names(&rig), Vec::<String>::new());
}
