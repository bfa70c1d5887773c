//! When skills become active, and the order of their events.

use harn_model::{ToolSource, ToolSpec};
use harn_tools::skills::{SkillMatchStrategy, SkillMatching};

use crate::skills::support::{Act, Disk, Rig};

fn disk_with_two_skills() -> Disk {
    let disk = Disk::new();
    disk.write_skill(
        "home/ws/.harn/skills/ship",
        "description: Ship a production release\nallowed_tools: [run_command, 'namespace:git']\n\
         paths: [infra/**]\n",
    );
    disk.write_skill(
        "home/ws/.harn/skills/review",
        "description: Review existing code\n",
    );
    disk
}

fn tool(name: &str, source: ToolSource) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: String::new(),
        schema: None,
        annotations: None,
        source,
        deprecated: false,
    }
}

#[tokio::test]
async fn session_without_skills_writes_no_skill_event() {
    let mut rig = Rig::new(Disk::new()).await;
    assert_eq!(rig.run_turn("ship it", vec![]).await, [""; 0]);
}

#[tokio::test]
async fn matching_skill_becomes_active_and_stays() {
    let mut rig = Rig::new(disk_with_two_skills()).await;
    assert_eq!(
        rig.run_turn("hello", vec![]).await,
        ["0: matched by metadata: []"]
    );
    assert_eq!(
        rig.run_turn("prepare the release", vec![Act::Iterate, Act::Iterate])
            .await,
        [
            "0: matched by metadata: [ship 0.40 (1 keyword hit)]",
            "0: + ship (1 keyword hit)",
            "scope ship: run_command namespace:git",
        ]
    );
    // It stays active; another joins, and the same set is reported once.
    assert_eq!(
        rig.run_turn("review the code", vec![]).await,
        [
            "0: matched by metadata: [review 2.57 (2 keyword hits; name in the prompt)]",
            "0: + review (2 keyword hits; name in the prompt)",
        ]
    );
    assert_eq!(
        rig.run_turn("review", vec![]).await,
        ["0: matched by metadata: [review 2.40 (1 keyword hit; name in the prompt)]"]
    );
    let active: Vec<_> = rig.skills().active().iter().map(|s| s.id.clone()).collect();
    assert_eq!(active, ["ship", "review"]);
}

#[tokio::test]
async fn non_sticky_matching_runs_at_each_iteration() {
    let matching = SkillMatching {
        sticky: false,
        ..SkillMatching::default()
    };
    let mut rig = Rig::with(disk_with_two_skills(), matching, false).await;
    assert_eq!(
        rig.run_turn("prepare the release", vec![]).await,
        [
            "0: matched by metadata: [ship 0.40 (1 keyword hit)]",
            "0: + ship (1 keyword hit)",
            "scope ship: run_command namespace:git",
        ]
    );
    assert_eq!(
        rig.run_turn("code", vec![Act::Activate("ship"), Act::Iterate])
            .await,
        [
            "0: matched by metadata: [review 0.40 (1 keyword hit)]",
            "0: - ship",
            "0: + review (1 keyword hit)",
            "0: + ship (wanted)",
            "scope ship: run_command namespace:git",
            "says \"ok\"",
            "0: matched again by metadata: [review 0.40 (1 keyword hit)]",
        ]
    );
    // A skill that was activated on request does not end by itself.
    assert_eq!(
        rig.run_turn("hello", vec![]).await,
        ["0: matched by metadata: []", "0: - review"]
    );
}

#[tokio::test]
async fn reading_a_file_activates_its_skill() {
    let mut rig = Rig::new(disk_with_two_skills()).await;
    let acts = vec![
        Act::Note("src/a.rs"),
        Act::Note("infra/main.tf"),
        Act::Note("infra/other.tf"),
    ];
    assert_eq!(
        rig.run_turn("look around", acts).await,
        [
            "0: matched by metadata: []",
            "0: + ship (infra/main.tf matches infra/**)",
            "scope ship: run_command namespace:git",
        ]
    );
    assert_eq!(
        rig.run_turn("go on", vec![]).await,
        [
            "0: matched by metadata with src/a.rs infra/main.tf infra/other.tf: \
             [ship 1.50 (working files match infra/**)]"
        ]
    );
}

#[tokio::test]
async fn slash_command_words_do_not_rank_skills() {
    let mut rig = Rig::new(disk_with_two_skills()).await;
    let acts = vec![Act::Note("infra/main.tf"), Act::Deactivate("ship")];
    assert_eq!(
        rig.run_turn("/mode review the release", vec![]).await,
        [""; 0]
    );
    rig.run_turn("look around", acts).await;
    // A file in use still ranks.
    assert_eq!(
        rig.run_turn(" /mode review", vec![]).await,
        ["0: matched by metadata with infra/main.tf: [ship 1.50 (working files match infra/**)]"]
    );
}

#[tokio::test]
async fn slash_command_deactivates_no_skill() {
    let matching = SkillMatching {
        sticky: false,
        ..SkillMatching::default()
    };
    let mut rig = Rig::with(disk_with_two_skills(), matching, false).await;
    rig.run_turn("prepare the release", vec![]).await;
    assert_eq!(rig.run_turn("/mode fast", vec![]).await, [""; 0]);
    let active: Vec<_> = rig.skills().active().iter().map(|s| s.id.clone()).collect();
    assert_eq!(active, ["ship"]);
}

#[tokio::test]
async fn unrelated_question_activates_no_skill() {
    let disk = Disk::new();
    disk.write_skill(
        "home/ws/.harn/skills/ship",
        "description: Use this to ship the release\nwhen_to_use: When the user is ready for it\n",
    );
    let mut rig = Rig::new(disk).await;
    assert_eq!(
        rig.run_turn("where is the configuration?", vec![]).await,
        ["0: matched by metadata: []"]
    );
}

#[tokio::test]
async fn deactivated_skill_returns_only_on_request() {
    let mut rig = Rig::new(disk_with_two_skills()).await;
    let acts = vec![
        Act::Deactivate("ship"),
        Act::Note("infra/main.tf"),
        Act::Deactivate("ship"),
    ];
    assert_eq!(
        rig.run_turn("release", acts).await,
        [
            "0: matched by metadata: [ship 0.40 (1 keyword hit)]",
            "0: + ship (1 keyword hit)",
            "scope ship: run_command namespace:git",
            "0: - ship",
            "says \"ok\"",
            "says \"error: the skill \\\"ship\\\" is not active\"",
        ]
    );
    let told = rig.run_turn("release", vec![Act::Activate("ship")]).await;
    assert_eq!(told[1], "0: + ship (wanted)");
}

#[tokio::test]
async fn active_skills_narrow_the_allowed_tools() {
    let mut rig = Rig::new(disk_with_two_skills()).await;
    let skills = rig.skills();
    let run = tool("run_command", ToolSource::Builtin);
    let read = tool("read_file", ToolSource::Builtin);
    let git = tool("mcp__git__log", ToolSource::Mcp("git".to_owned()));
    let other = tool("mcp__db__query", ToolSource::Mcp("db".to_owned()));
    let load = tool("load_skill", ToolSource::Builtin);
    let search = tool("__harn_tool_search", ToolSource::Builtin);
    let reach = || [&run, &read, &git, &other, &load, &search].map(|tool| skills.allows(tool));

    assert_eq!(reach(), [true; 6]);
    rig.run_turn("x", vec![Act::Activate("ship")]).await;
    assert_eq!(reach(), [true, false, true, false, true, true]);
    // A skill that names no tools adds nothing to those that do.
    rig.run_turn("x", vec![Act::Activate("review")]).await;
    assert_eq!(reach(), [true, false, true, false, true, true]);
    rig.disk
        .write_skill("home/ws/.harn/skills/all", "allowed_tools: ['*']\n");
    let told = rig.run_turn("x", vec![]).await;
    assert_eq!(told, ["0: matched by metadata: []"]);
    assert_eq!(
        rig.run_turn("x", vec![Act::Activate("all")]).await[1..],
        ["0: + all (wanted)", "says \"ok\""]
    );
    assert_eq!(reach(), [true; 6]);
    let told = rig
        .run_turn("x", vec![Act::Deactivate("all"), Act::Deactivate("ship")])
        .await;
    assert_eq!(
        told[1..],
        ["0: - all", "says \"ok\"", "0: - ship", "says \"ok\""]
    );
    assert_eq!(reach(), [true; 6]);
}

#[tokio::test]
async fn namespace_tags_select_tools_by_source() {
    let disk = Disk::new();
    disk.write_skill(
        "home/ws/.harn/skills/a",
        "allowed_tools: ['namespace:host', 'namespace:mcp:db', 'namespace:skill']\n",
    );
    let mut rig = Rig::new(disk).await;
    rig.run_turn("x", vec![Act::Activate("a")]).await;
    for (source, expected) in [
        (ToolSource::Host, true),
        (ToolSource::Mcp("db".to_owned()), true),
        (ToolSource::Mcp("git".to_owned()), false),
        (ToolSource::Skill("a".to_owned()), true),
        (ToolSource::Builtin, false),
        (ToolSource::Provider, false),
    ] {
        let allowed = rig.skills().allows(&tool("x", source.clone()));
        assert_eq!(allowed, expected, "{source:?}");
    }
}

#[tokio::test]
async fn reopened_session_has_its_active_skills() {
    let mut rig = Rig::new(disk_with_two_skills()).await;
    rig.run_turn("x", vec![Act::Activate("ship"), Act::Activate("review")])
        .await;
    std::fs::remove_dir_all(rig.disk.path("home/ws/.harn/skills/review")).unwrap();
    rig.reopen().await;
    assert_eq!(
        rig.run_turn("x", vec![]).await,
        ["0: - review", "0: matched by metadata: []"]
    );
    let active: Vec<_> = rig.skills().active().iter().map(|s| s.id.clone()).collect();
    assert_eq!(active, ["ship"]);
}

#[test]
fn unknown_strategy_falls_back_to_the_default() {
    assert_eq!(
        SkillMatchStrategy::from_name("host"),
        (SkillMatchStrategy::Host, None)
    );
    assert_eq!(
        SkillMatchStrategy::from_name("embedding"),
        (SkillMatchStrategy::Embedding, None)
    );
    let (strategy, warning) = SkillMatchStrategy::from_name("magic");
    assert_eq!(strategy, SkillMatchStrategy::Metadata);
    let warning = warning.unwrap();
    assert!(
        warning.starts_with("agent.skill_match: unknown strategy \"magic\""),
        "{warning}"
    );
}
