//! Hooks and MCP servers of skills: they run through policy and broker, and not in an untrusted workspace.

use harn_tools::skills::SkillMatching;

use crate::skills::support::{Act, Disk, Rig};

const EFFECTS: &str = "hooks:\n  activate: touch \"${HARN_SKILL_DIR}/ran\"\n  deactivate: 'false'\n  \
                       other: touch never\n\
                       mcp_servers:\n  db: {command: serve}\n  log: {url: 'http://127.0.0.1:1/'}\n";

fn acts() -> Vec<Act> {
    vec![Act::Activate("tool"), Act::Deactivate("tool")]
}

#[tokio::test]
async fn untrusted_workspace_runs_no_hook_or_server() {
    for folder in [
        "home/ws/.harn/skills/tool",
        "home/ws/own/tool",
        "home/ws/.harn/packages/p/skills/tool",
    ] {
        let disk = Disk::new();
        disk.put("home/ws/harn.toml", "[skills]\npaths = ['own']\n");
        disk.write_skill(folder, EFFECTS);
        let mut rig = Rig::new(disk).await;
        let why =
            "warn: agent.skills: the skill tool comes with the workspace, which is not trusted, so";
        let how = "`harn-serve trust` trusts it";
        assert_eq!(
            rig.run_turn("x", acts()).await,
            [
                "0: matched by metadata: []".to_owned(),
                "0: + tool (wanted)".to_owned(),
                format!("{why} its MCP servers (db, log) are not connected; {how}"),
                format!("{why} its activate hook is not run; {how}"),
                "says \"ok\"".to_owned(),
                "0: - tool".to_owned(),
                format!("{why} its deactivate hook is not run; {how}"),
                "says \"ok\"".to_owned(),
            ],
            "{folder}"
        );
        assert!(!rig.disk.path(folder).join("ran").exists());
        // Unbinding servers that were never bound is harmless.
        assert_eq!(*rig.servers.0.lock().unwrap(), ["unbind tool"]);
    }
}

#[tokio::test]
async fn trusted_hooks_ask_before_they_run() {
    for (folder, trusted) in [
        ("home/ws/.harn/skills/tool", true),
        ("home/.harn/skills/tool", false),
    ] {
        let disk = Disk::new();
        disk.write_skill(folder, EFFECTS);
        let folder = disk.path(folder);
        let mut rig = Rig::with(disk, SkillMatching::default(), trusted).await;
        let line = format!(
            "HARN_SKILL_DIR='{}'; touch \"${{HARN_SKILL_DIR}}/ran\"",
            folder.display()
        );
        assert_eq!(
            rig.run_turn("x", acts()).await,
            [
                "0: matched by metadata: []".to_owned(),
                "0: + tool (wanted)".to_owned(),
                format!("asks String({line:?})"),
                "run_command ended: well".to_owned(),
                "says \"ok\"".to_owned(),
                "0: - tool".to_owned(),
                "asks String(\"false\")".to_owned(),
                "run_command ended: the hook failed: exit code 1".to_owned(),
                "says \"ok\"".to_owned(),
            ]
        );
        assert!(folder.join("ran").exists());
        let bound = rig.servers.0.lock().unwrap().clone();
        assert_eq!(bound, ["bind tool: db log", "unbind tool"]);
    }
}

#[tokio::test]
async fn closed_session_unbinds_skill_servers() {
    let disk = Disk::new();
    disk.write_skill(
        "home/.harn/skills/tool",
        "mcp_servers: {db: {command: x}}\n",
    );
    let mut rig = Rig::new(disk).await;
    rig.run_turn("x", vec![Act::Activate("tool")]).await;
    rig.reopen().await;
    rig.run_turn("x", vec![]).await;
    let bound = rig.servers.0.lock().unwrap().clone();
    assert_eq!(bound, ["bind tool: db", "unbind tool", "bind tool: db"]);
}

#[tokio::test]
async fn skill_servers_follow_the_trust_in_the_workspace() {
    let disk = Disk::new();
    disk.write_skill(
        "home/ws/.harn/skills/tool",
        "mcp_servers:\n  db: {command: serve}\n",
    );
    let mut rig = Rig::new(disk).await;
    rig.run_turn("x", vec![Act::Activate("tool")]).await;
    let told = |rig: &Rig| std::mem::take(&mut *rig.servers.0.lock().unwrap());
    assert_eq!(told(&rig), Vec::<String>::new());
    rig.trust(true);
    rig.run_turn("x", Vec::new()).await;
    assert_eq!(told(&rig), ["bind tool: db"]);
    // Nothing changed, so nothing is bound or unbound.
    rig.run_turn("x", Vec::new()).await;
    assert_eq!(told(&rig), Vec::<String>::new());
    rig.trust(false);
    rig.run_turn("x", Vec::new()).await;
    assert_eq!(told(&rig), ["unbind tool"]);
}
