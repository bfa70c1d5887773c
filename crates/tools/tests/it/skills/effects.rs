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

#[tokio::test]
async fn changed_or_new_file_of_a_trusted_skill_ends_its_effects() {
    let folder = "home/ws/.harn/skills/tool";
    let card = "hooks: {activate: '${HARN_SKILL_DIR}/run.sh', deactivate: 'tools/end.sh'}\n\
                mcp_servers: {db: {command: ./serve}}\n";
    let changes: [(&str, &str, &str); 5] = [
        (
            "home/ws/.harn/skills/tool/run.sh",
            ".harn/skills/tool/run.sh has changed",
            "echo",
        ),
        (
            "home/ws/.harn/skills/tool/lib/new.sh",
            ".harn/skills/tool/lib/new.sh is not among",
            "",
        ),
        ("home/ws/tools/end.sh", "tools/end.sh has changed", "echo"),
        ("home/ws/serve", "serve is not among", ""),
        (
            "home/ws/.harn/skills/tool/SKILL.md",
            ".harn/skills/tool/SKILL.md has changed",
            "",
        ),
    ];
    for (path, reason, text) in changes {
        let disk = Disk::new();
        disk.write_skill(folder, card);
        disk.put(&format!("{folder}/run.sh"), "true");
        disk.put("home/ws/tools/end.sh", "true");
        let mut rig = Rig::new(disk).await;
        rig.trust_content();
        rig.run_turn("x", vec![Act::Activate("tool")]).await;
        let told = |rig: &Rig| std::mem::take(&mut *rig.servers.0.lock().unwrap());
        assert_eq!(told(&rig), ["bind tool: db"], "{path}");
        // Another file of the workspace changes nothing.
        rig.disk.put("home/ws/notes.md", "");
        rig.run_turn("x", Vec::new()).await;
        assert_eq!(told(&rig), Vec::<String>::new(), "{path}");

        if text.is_empty() && path.ends_with("SKILL.md") {
            rig.disk
                .write_skill(folder, &format!("{card}description: other\n"));
        } else {
            rig.disk.put(path, text);
        }
        let lines = rig.run_turn("x", Vec::new()).await.join("\n");
        assert!(lines.contains(reason), "{path}: {lines}");
        assert!(
            lines.contains("`harn-serve trust` shows the difference"),
            "{lines}"
        );
        assert_eq!(told(&rig), ["unbind tool"], "{path}");
        let lines = rig
            .run_turn("x", vec![Act::Deactivate("tool")])
            .await
            .join("\n");
        assert!(
            lines.contains("its deactivate hook is not run"),
            "{path}: {lines}"
        );

        // After the user has seen it, it is obeyed again.
        rig.trust_content();
        rig.run_turn("x", vec![Act::Activate("tool")]).await;
        assert_eq!(told(&rig), ["unbind tool", "bind tool: db"], "{path}");
    }
}
