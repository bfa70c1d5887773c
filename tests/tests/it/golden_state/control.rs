//! Two clients on one session, and clients that return to a session.

use serde_json::json;

use crate::golden_state::{agent::serve_agent, check_transcript};

#[tokio::test(start_paused = true)]
async fn control_is_taken_and_given_up() {
    let (test, server) = serve_agent();
    let mut ada = server.connect("client=ada").await;
    ada.read_until_quiet().await;
    let mut grace = server.connect("session=session-1&client=grace").await;
    ada.read_until_quiet().await;
    grace.submit("Mine").await;
    grace.read_error().await;
    grace.command(json!({"type": "takeover"})).await;
    grace.read_until_quiet().await;
    ada.read_until_quiet().await;
    ada.submit("Mine").await;
    ada.read_error().await;
    grace.submit("Mine").await;
    grace.read_until_quiet().await;
    ada.read_until_quiet().await;
    assert_eq!(ada.text("/messages/0/author"), "grace");
    grace.command(json!({"type": "handback"})).await;
    grace.read_until_quiet().await;
    ada.read_until_quiet().await;
    assert_eq!(ada.state()["controller"], json!(null));
    test.recorder()
        .record_note("nobody has control: who wants something takes it");
    ada.submit("Mine").await;
    ada.read_until_quiet().await;
    grace.read_until_quiet().await;
    assert_eq!(grace.state()["controller"], "ada");
    assert_eq!(ada.state(), grace.state());
    ada.close().await;
    grace.read_until_quiet().await;
    grace.close().await;
    check_transcript("takeover", test.recorder());
}

#[tokio::test(start_paused = true)]
async fn a_client_that_names_no_session_returns_to_its_own() {
    let (test, server) = serve_agent();
    let mut client = server.connect("").await;
    client.submit("Hello").await;
    client.read_until_quiet().await;
    client.close().await;
    let client = server.connect("").await;
    assert_eq!(client.session(), "session-1");
    assert_eq!(client.messages().len(), 2);
    client.close().await;
    let client = server.connect("session=new").await;
    assert_eq!(client.session(), "session-2");
    client.close().await;
    check_transcript("reconnect", test.recorder());
}

#[tokio::test(start_paused = true)]
async fn resume_switches_to_another_session() {
    let (test, server) = serve_agent();
    let mut client = server.connect("").await;
    client.submit("Hello").await;
    client.read_until_quiet().await;
    client.close().await;
    let mut client = server.connect("session=new").await;
    assert_eq!(client.session(), "session-2");
    let resume = json!({"type": "resume", "sessionId": "session-1", "prompt": "Still there?"});
    client.command(resume).await;
    client.read_until_quiet().await;
    assert_eq!(client.messages().len(), 4);
    let nowhere = json!({"type": "resume", "sessionId": "session-9"});
    client.command(nowhere).await;
    client.read_error().await;
    assert_eq!(client.session(), "session-1");
    client.close().await;
    check_transcript("resume", test.recorder());
}
