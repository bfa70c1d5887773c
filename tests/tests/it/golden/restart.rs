//! Opening a session after a restart: `session/load` with its history, `session/resume` without.

use harn_testkit::StrictClient;
use harn_tests::check_transcript;
use serde_json::{Value, json};

use crate::golden::{existing_session_params, initialize, open, prompt, turn::working_hub};

#[tokio::test]
async fn load_after_a_restart_replays_the_same_updates() {
    let mut test = working_hub();
    let mut client = test.connect();
    initialize(&mut client).await;
    let session = open(&mut client, &test).await;
    let question = "Where is the parser?";
    let id = prompt(&mut client, &session, question).await;
    let (live, _) = client.collect_updates_until(&id).await;
    client.close().await;

    test.restart().await;
    test.recorder().record_note("the agent is started again");
    let mut client = test.connect();
    initialize(&mut client).await;
    let params = existing_session_params(&session, &test.workspace());
    let id = client.send_request("session/load", params).await;
    let (replayed, answer) = client.collect_updates_until(&id).await;
    assert_eq!(replayed[0]["sessionUpdate"], "user_message_chunk");
    assert_eq!(replayed[0]["content"]["text"], question);
    assert_eq!(
        replayed[1..],
        live,
        "the same ids and content, in the same order"
    );
    assert_eq!(answer["modes"]["currentModeId"], "ask");
    check_next_turn(&mut client, &session).await;
    client.close().await;
    check_transcript("load-after-restart", test.recorder());
}

#[tokio::test]
async fn resume_after_a_restart_continues_without_history() {
    let mut test = working_hub();
    let mut client = test.connect();
    initialize(&mut client).await;
    let session = open(&mut client, &test).await;
    let id = prompt(&mut client, &session, "Where is the parser?").await;
    client.collect_updates_until(&id).await;
    client.close().await;

    test.restart().await;
    test.recorder().record_note("the agent is started again");
    let mut client = test.connect();
    initialize(&mut client).await;
    let params = existing_session_params(&session, &test.workspace());
    client.request("session/resume", params).await;
    check_next_turn(&mut client, &session).await;
    client.close().await;
    check_transcript("resume", test.recorder());
}

async fn check_next_turn(client: &mut StrictClient, session: &Value) {
    let id = prompt(client, session, "And the lexer?").await;
    let (updates, result) = client.collect_updates_until(&id).await;
    assert_eq!(result, json!({"stopReason": "end_turn"}));
    // The session has its title already.
    let retitled = updates
        .iter()
        .any(|u| u["sessionUpdate"] == "session_info_update");
    assert!(!retitled);
}
