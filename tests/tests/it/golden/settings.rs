//! Modes, options and slash commands.

use harn_model::{
    AgentEvent, CommandInput, ConfigChoice, ConfigOption, SlashCommand, StopReason, ToolKind,
};
use harn_runtime::AgentError;
use harn_testkit::{ScriptedAgent, TestHub};
use harn_tests::check_transcript;
use serde_json::json;

use crate::golden::{existing_session_params, initialize, open, prompt};

fn choice(value: &str, name: &str) -> ConfigChoice {
    ConfigChoice {
        value: value.to_owned(),
        name: name.to_owned(),
    }
}

#[tokio::test]
async fn clients_set_the_mode_and_options() {
    let depth = ConfigOption {
        id: "depth".to_owned(),
        name: "Depth".to_owned(),
        description: "How far to look".to_owned(),
        choices: vec![choice("quick", "Quick"), choice("thorough", "Thorough")],
        default: "quick".to_owned(),
    };
    let agent = ScriptedAgent::new(|cx| async move {
        let depth = cx.option("depth").unwrap_or_default();
        cx.say(format!("{} and {depth}", cx.mode())).await?;
        match cx.tool("write_file").kind(ToolKind::Edit).ask().await {
            Ok(_) => Err(AgentError::failed("nobody was asked")),
            Err(AgentError::Denied { .. }) => Ok(StopReason::EndTurn),
            Err(other) => Err(other),
        }
    })
    .options(vec![depth]);
    let test = TestHub::new(agent);
    let mut client = test.connect();
    initialize(&mut client).await;
    let session = open(&mut client, &test).await;

    let params = json!({"sessionId": session, "modeId": "read-only"});
    let id = client.send_request("session/set_mode", params).await;
    client.expect_update_of("current_mode_update").await;
    client.expect_update_of("config_option_update").await;
    client.expect_response(&id).await;

    let set = |config: &str, value: &str| json!({"sessionId": session, "configId": config, "value": value});
    let method = "session/set_config_option";
    let id = client.send_request(method, set("depth", "thorough")).await;
    client.expect_update_of("config_option_update").await;
    let answer = client.expect_response(&id).await;
    let current = |at: usize| &answer["configOptions"][at]["currentValue"];
    assert_eq!(
        (current(0), current(1)),
        (&json!("read-only"), &json!("thorough"))
    );

    let id = prompt(&mut client, &session, "Write").await;
    let (updates, _) = client.collect_updates_until(&id).await;
    assert_eq!(updates[0]["content"]["text"], "read-only and thorough");

    // The mode is an option too.
    let id = client.send_request(method, set("mode", "ask")).await;
    client.expect_update_of("current_mode_update").await;
    client.expect_update_of("config_option_update").await;
    let answer = client.expect_response(&id).await;
    assert_eq!(answer["configOptions"][0]["currentValue"], "ask");

    let params = json!({"sessionId": session, "modeId": "reckless"});
    let error = client.request_error("session/set_mode", params).await;
    assert_eq!(error["data"]["reason"], "unknown_mode");
    let error = client.request_error(method, set("width", "thorough")).await;
    assert_eq!(error["data"]["reason"], "unknown_option");
    let error = client
        .request_error(method, set("depth", "bottomless"))
        .await;
    assert_eq!(error["data"]["reason"], "unknown_value");
    let boolean =
        json!({"sessionId": session, "configId": "depth", "type": "boolean", "value": true});
    let error = client.request_error(method, boolean).await;
    assert_eq!(error["data"]["reason"], "invalid_params");

    // The settings persist.
    let params = existing_session_params(&session, &test.workspace());
    let answer = client.request("session/resume", params).await;
    assert_eq!(answer["configOptions"][1]["currentValue"], "thorough");
    client.close().await;
    check_transcript("settings", test.recorder());
}

#[tokio::test]
async fn clients_receive_slash_commands() {
    let greet = SlashCommand {
        name: "greet".to_owned(),
        description: "Say hello".to_owned(),
        input: Some(CommandInput {
            hint: "who".to_owned(),
        }),
    };
    let leave = SlashCommand {
        name: "leave".to_owned(),
        description: "Say goodbye".to_owned(),
        input: None,
    };
    let later = vec![leave.clone()];
    let agent = ScriptedAgent::new(move |cx| {
        let commands = later.clone();
        async move {
            cx.say(format!("You typed {}", cx.prompt_text())).await?;
            cx.emit(AgentEvent::commands(commands)).await?;
            Ok(StopReason::EndTurn)
        }
    });
    let mut test = TestHub::new(agent.commands(vec![greet, leave]));
    let mut client = test.connect();
    initialize(&mut client).await;
    // After the response: a client drops an update for a session that it does not know yet.
    let session = open(&mut client, &test).await;
    let update = client.expect_update_of("available_commands_update").await;
    assert_eq!(update["availableCommands"][0]["name"], "greet");
    let id = prompt(&mut client, &session, "/greet Ada").await;
    let (updates, _) = client.collect_updates_until(&id).await;
    assert_eq!(updates[1]["availableCommands"][0]["name"], "leave");
    client.close().await;

    test.restart().await;
    test.recorder().record_note("the agent is started again");
    let mut client = test.connect();
    initialize(&mut client).await;
    let params = existing_session_params(&session, &test.workspace());
    client.request("session/resume", params).await;
    let update = client.expect_update_of("available_commands_update").await;
    assert_eq!(update["availableCommands"][0]["name"], "leave");
    client.close().await;
    check_transcript("commands", test.recorder());
}
