//! Skills of a host over the wire: the candidates that the host ranks, and the name under which a skill becomes
//! active.

use std::sync::Arc;

use harn_acp::ext::bridge::BridgeMethod;
use harn_model::StopReason;
use harn_testkit::{FakeHost, HostAnswer, ScriptedAgent, TestHub};
use harn_tools::{
    ToolboxConfig, Toolboxes,
    skills::{SkillLibrary, SkillMatchStrategy, SkillMatching, SkillPlaces},
};
use serde_json::{Value, json};

fn hub() -> TestHub {
    let agent = ScriptedAgent::new(|_| async { Ok(StopReason::EndTurn) });
    let builder = TestHub::builder(agent).config(|config| {
        let library = SkillLibrary::new(SkillPlaces::default(), config.clock.clone());
        config.equip = Arc::new(Toolboxes::new(ToolboxConfig {
            skills: Some(Arc::new(library)),
            matching: SkillMatching {
                strategy: SkillMatchStrategy::Host,
                ..SkillMatching::default()
            },
            ..ToolboxConfig::default()
        }));
    });
    builder.build()
}

#[tokio::test]
async fn host_ranks_skills_by_name_and_updates_have_name_and_id() {
    let test = hub();
    let mut client = test.connect();
    client
        .request("initialize", FakeHost::initialize_params())
        .await;
    let params = json!({"cwd": test.workspace(), "mcpServers": []});
    let session = client.request("session/new", params).await["sessionId"].take();
    let listed = json!([
        {"id": "acme/deploy", "name": "deploy", "description": "Ship it", "source": "host"},
        {"id": "look", "name": "look", "description": "Look", "manifest": {"when_to_use": "To look", "paths": ["src/**"]}},
    ]);
    let mut host =
        FakeHost::new().with_answer(BridgeMethod::SkillsList, HostAnswer::Result(listed));
    let text = json!([{"type": "text", "text": "Ship the release"}]);
    let params = json!({"sessionId": session, "prompt": text});
    let id = client.send_request("session/prompt", params).await;
    let (updates, _) = host.serve(&mut client, &id).await;

    let asked = |wanted: BridgeMethod| {
        let asked = host.requests().iter();
        let asked = asked.filter(move |(method, _)| *method == wanted);
        asked.map(|(_, params)| params.clone()).collect::<Vec<_>>()
    };
    // A skill with a complete list entry is not fetched; a skill is fetched once.
    assert_eq!(
        asked(BridgeMethod::SkillsFetch),
        [json!({"id": "acme/deploy"})]
    );
    assert_eq!(
        asked(BridgeMethod::SkillMatch),
        [json!({
            "strategy": "host",
            "prompt": "Ship the release",
            "working_files": [],
            "candidates": [
                {"name": "deploy", "description": "Ship it", "when_to_use": "To ship a release", "paths": []},
                {"name": "look", "description": "Look", "when_to_use": "To look", "paths": ["src/**"]},
            ],
        })]
    );
    let skills = updates.iter().filter(|update| {
        let name = update["sessionUpdate"].as_str().unwrap_or_default();
        name.starts_with("skill_")
    });
    let skills: Vec<&Value> = skills.map(|update| &update["_meta"]["harn"]).collect();
    let activated = json!({
        "skillName": "deploy", "skillId": "acme/deploy", "iteration": 0, "reason": "it is about a release",
    });
    let scoped = json!({"skillName": "deploy", "skillId": "acme/deploy", "allowedTools": ["dice"]});
    assert_eq!(skills, [&activated, &scoped]);
    client.close().await;
}
