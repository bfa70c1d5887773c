//! Skills that are used on request: by a slash command or by the tool.

use harn_tools::skills::SessionSkills;

use crate::skills::support::{Act, Disk, Rig};

fn disk() -> Disk {
    let disk = Disk::new();
    disk.put(
        "home/ws/.harn/skills/deploy/SKILL.md",
        "---\nshort: Ship it\nargument_hint: STAGE\ndescription: release\n---\n\
         To $1 from ${HARN_SKILL_DIR} in ${HARN_SESSION_ID}: ${STAGE} $$",
    );
    disk.put("home/.harn/skills/mine/SKILL.md", "${STAGE} $ARGUMENTS");
    disk.write_skill(
        "home/ws/.harn/skills/secret",
        "disable_model_invocation: true\n",
    );
    disk.write_skill("home/ws/.harn/skills/inner", "user_invocable: false\n");
    disk.write_skill("home/ws/own/review", "");
    disk.put(
        "home/ws/harn.toml",
        "[[skill.source]]\npath = 'own'\nnamespace = 'acme'\n",
    );
    disk
}

#[tokio::test]
async fn each_invocable_skill_is_a_slash_command() {
    let mut rig = Rig::new(disk()).await;
    rig.run_turn("x", vec![]).await;
    let commands = rig.skills().commands();
    let commands: Vec<_> = commands
        .iter()
        .map(|one| {
            let hint = one.input.as_ref().map_or("", |input| &input.hint);
            format!("/{} {hint}: {}", one.name, one.description)
        })
        .collect();
    assert_eq!(
        commands,
        [
            "/acme:review : The review",
            "/deploy STAGE: Ship it",
            "/mine : ${STAGE} $ARGUMENTS",
            "/secret : The secret",
        ]
    );
}

#[tokio::test]
async fn slash_command_sends_the_skill_text_to_the_agent() {
    let mut rig = Rig::new(disk()).await;
    let folder = rig.disk.path("home/ws/.harn/skills/deploy");
    // A skill of the workspace cannot read the environment.
    let said = format!(
        "says {:?}",
        format!(
            "To two words from {} in session-0: ${{STAGE}} $",
            folder.display()
        )
    );
    assert_eq!(
        rig.run_turn("/deploy 'two words' $1", vec![Act::SayPrompt])
            .await,
        ["0: + deploy (the user typed /deploy)", said.as_str()]
    );
    assert_eq!(
        rig.run_turn("/mine a  b", vec![Act::SayPrompt]).await,
        ["0: + mine (the user typed /mine)", "says \"prod a  b\"",]
    );
    assert_eq!(
        rig.run_turn("/acme:review now", vec![Act::SayPrompt]).await,
        [
            "0: + review = acme/review (the user typed /acme:review)",
            "says \"Text of review: now\\n\"",
        ]
    );
    // A skill that was just written.
    rig.disk.write_skill("home/ws/.harn/skills/fresh", "");
    let told = rig.run_turn("/fresh air", vec![Act::SayPrompt]).await;
    assert_eq!(told.last().unwrap(), "says \"Text of fresh: air\\n\"");
    // Not a slash command, so an ordinary prompt.
    let told = rig.run_turn("/inner now", vec![Act::SayPrompt]).await;
    assert_eq!(told.last().unwrap(), "says \"/inner now\"");
}

#[tokio::test]
async fn removed_skill_is_not_a_slash_command() {
    let mut rig = Rig::new(disk()).await;
    rig.run_turn("x", vec![]).await;
    std::fs::remove_file(rig.disk.path("home/ws/.harn/skills/deploy/SKILL.md")).unwrap();
    let told = rig.run_turn("/deploy now", vec![Act::SayPrompt]).await;
    assert_eq!(told, ["says \"/deploy now\""]);
}

#[tokio::test]
async fn model_can_load_only_permitted_skills() {
    let mut rig = Rig::new(disk()).await;
    let acts = vec![
        Act::Load("review", "it"),
        Act::Load("secret", ""),
        Act::Load("nothing", ""),
    ];
    assert_eq!(
        rig.run_turn("x", acts).await,
        [
            "0: matched by metadata: []",
            "0: + review = acme/review (loaded by the model)",
            "says \"Text of review: it\\n\"",
            "says \"error: the skill \\\"secret\\\" is for people only (disable_model_invocation); ask the user to run it\"",
            "says \"error: unknown skill \\\"nothing\\\"; known skills: acme/review, deploy, inner, mine, secret\"",
        ]
    );
    let spec = SessionSkills::load_skill_spec();
    assert_eq!(spec.name, "load_skill");
}
