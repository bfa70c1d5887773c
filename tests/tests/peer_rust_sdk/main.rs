//! The Rust SDK's client as a peer of the real binary, over the SDK's own transports: a process, HTTP and
//! WebSocket.
//!
//! Owns the list of what that client must be able to do with a plain agent; the other clients in `peers/` run
//! the same list. Never calls our crates.

mod extensions;
mod host;
#[cfg(feature = "sdk-http")]
mod network;
mod shapes;
mod steering;

use std::path::PathBuf;

use agent_client_protocol::{
    Error,
    schema::ProtocolVersion,
    v1::schema::{
        CancelNotification, ContentBlock, ListSessionsRequest, LoadSessionRequest,
        NewSessionRequest, PromptRequest, SessionId, StopReason, TextContent,
    },
};
use anyhow::{Result, ensure};
use serde_json::json;

use host::{Connection, Host, Place};

#[tokio::test]
async fn client_initializes_the_agent() -> Result<()> {
    let place = Place::new()?;
    let host = Host::default();
    let hello = host
        .visit_without_complaints(&place, async |_, hello| Ok(hello))
        .await?;
    assert_eq!(hello.protocol_version, ProtocolVersion::V1);
    assert_eq!(
        hello.agent_info.map(|info| info.name).as_deref(),
        Some("peer")
    );
    assert!(hello.agent_capabilities.load_session);
    assert!(hello.agent_capabilities.session_capabilities.list.is_some());
    Ok(())
}

#[tokio::test]
async fn client_receives_a_thought_a_plan_a_tool_call_and_the_text_of_a_turn() -> Result<()> {
    let place = Place::new()?;
    let host = Host::default();
    let stop = host
        .visit_without_complaints(&place, async |agent, _| {
            let session = open(&agent, &place).await?;
            prompt(&agent, &session, "hello").await
        })
        .await?;
    assert_eq!(stop, StopReason::EndTurn);
    assert_eq!(host.text("agent_thought_chunk"), "Where is it?");
    assert_eq!(host.text("agent_message_chunk"), "There are three lines.");
    let plan = &host.updates_of_kind("plan")[0]["entries"];
    assert_eq!(plan[0]["content"], "Look at the file");
    assert_eq!(plan[1]["content"], "Answer");
    let call = &host.updates_of_kind("tool_call")[0];
    assert_eq!(call["toolCallId"], "look-1");
    assert_eq!(call["kind"], "read");
    assert_eq!(host.last_call(), json!(["look-1", "completed"]));
    Ok(())
}

#[tokio::test]
async fn client_allows_a_permission_request() -> Result<()> {
    check_permission_answer("allow_once", "It is written.", "completed").await
}

#[tokio::test]
async fn client_rejects_a_permission_request() -> Result<()> {
    check_permission_answer("reject_once", "Then I leave it.", "failed").await
}

async fn check_permission_answer(choice: &'static str, words: &str, status: &str) -> Result<()> {
    let place = Place::new()?;
    let host = Host::default();
    host.choose(choice);
    let stop = host
        .visit_without_complaints(&place, async |agent, _| {
            let session = open(&agent, &place).await?;
            prompt(&agent, &session, "perm please").await
        })
        .await?;
    ensure!(stop == StopReason::EndTurn, "stopped with {stop:?}");
    let asked = host.questions();
    ensure!(asked.len() == 1, "asked {} times", asked.len());
    let (call, options) = (&asked[0]["toolCall"], &asked[0]["options"]);
    assert_eq!(call["title"], "Write notes.txt");
    assert_eq!(call["kind"], "edit");
    assert_eq!(call["rawInput"], json!({"path": "notes.txt"}));
    for id in ["allow_once", "reject_once"] {
        let mut offered = options.as_array().into_iter().flatten();
        let option = offered.find(|option| option["optionId"] == id);
        assert_eq!(option.map(|option| &option["kind"]), Some(&json!(id)));
    }
    assert_eq!(
        host.text("agent_message_chunk"),
        format!("May I write a note? {words}")
    );
    assert_eq!(host.last_call(), json!([call["toolCallId"], status]));
    Ok(())
}

#[tokio::test]
async fn client_cancels_a_running_prompt_and_sends_another() -> Result<()> {
    let place = Place::new()?;
    let host = Host::default();
    let stops = host
        .visit_without_complaints(&place, async |agent, _| {
            let session = open(&agent, &place).await?;
            let cancelled = cancel_in_the_middle(&host, &agent, &session).await?;
            Ok((cancelled, prompt(&agent, &session, "hello").await?))
        })
        .await?;
    assert_eq!(stops, (StopReason::Cancelled, StopReason::EndTurn));
    Ok(())
}

#[tokio::test]
async fn client_lists_the_sessions_of_a_folder() -> Result<()> {
    let place = Place::new()?;
    let host = Host::default();
    let (session, here, elsewhere) = host
        .visit_without_complaints(&place, async |agent, _| {
            let session = open(&agent, &place).await?;
            prompt(&agent, &session, "hello").await?;
            let list = async |cwd: PathBuf| {
                let request = ListSessionsRequest::new().cwd(cwd);
                let answer = agent.send_request(request).block_task().await?;
                Ok::<_, Error>(answer.sessions)
            };
            let here = list(place.cwd()).await?;
            Ok((session, here, list(place.cwd().join("elsewhere")).await?))
        })
        .await?;
    let here: Vec<_> = here.into_iter().map(|s| (s.session_id, s.cwd)).collect();
    assert_eq!(here, [(session, place.cwd())]);
    assert!(elsewhere.is_empty(), "{elsewhere:?}");
    Ok(())
}

#[tokio::test]
async fn load_in_a_new_process_shows_the_live_conversation() -> Result<()> {
    let place = Place::new()?;
    let live = Host::default();
    let session = live
        .visit_without_complaints(&place, async |agent, _| {
            let session = open(&agent, &place).await?;
            prompt(&agent, &session, "hello").await?;
            prompt(&agent, &session, "perm one").await?;
            live.choose("reject_once");
            prompt(&agent, &session, "perm two").await?;
            cancel_in_the_middle(&live, &agent, &session).await?;
            Ok(session)
        })
        .await?;
    let replayed = Host::default();
    replayed
        .visit_without_complaints(&place, async |agent, _| {
            let request = LoadSessionRequest::new(session, place.cwd());
            agent.send_request(request).block_task().await
        })
        .await?;
    assert_eq!(replayed.conversation(), live.conversation());
    assert!(
        live.conversation().len() >= 12,
        "too short: {:?}",
        live.conversation()
    );
    let said: Vec<_> = replayed
        .updates_of_kind("user_message_chunk")
        .iter()
        .map(|update| update["content"]["text"].clone())
        .collect();
    assert_eq!(said, ["hello", "perm one", "perm two", "slow"]);
    assert!(
        replayed.questions().is_empty(),
        "a settled question is not asked again"
    );
    Ok(())
}

#[tokio::test]
async fn client_accepts_activity_that_plain_acp_cannot_express() -> Result<()> {
    let place = Place::new()?;
    let host = Host::default();
    let stop = host
        .visit_without_complaints(&place, async |agent, _| {
            let session = open(&agent, &place).await?;
            prompt(&agent, &session, "activity").await
        })
        .await?;
    assert_eq!(stop, StopReason::EndTurn);
    assert!(host.text("agent_message_chunk").contains("All quiet."));
    Ok(())
}

async fn open(agent: &Connection, place: &Place) -> Result<SessionId, Error> {
    let request = NewSessionRequest::new(place.cwd());
    Ok(agent.send_request(request).block_task().await?.session_id)
}

async fn prompt(agent: &Connection, session: &SessionId, text: &str) -> Result<StopReason, Error> {
    let blocks = vec![ContentBlock::Text(TextContent::new(text))];
    let request = PromptRequest::new(session.clone(), blocks);
    Ok(agent.send_request(request).block_task().await?.stop_reason)
}

async fn cancel_in_the_middle(
    host: &Host,
    agent: &Connection,
    session: &SessionId,
) -> Result<StopReason, Error> {
    let cancel = async {
        host.working.notified().await;
        agent.send_notification(CancelNotification::new(session.clone()))
    };
    let (stop, sent) = tokio::join!(prompt(agent, session, "slow"), cancel);
    sent?;
    stop
}
