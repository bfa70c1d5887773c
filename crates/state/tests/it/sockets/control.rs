//! The control of a session among its clients.

use harn_model::ContentBlock;
use harn_runtime::{NoHost, SeatClaim};
use harn_testkit::{StateClient, StateServer};
use serde_json::json;
use std::sync::Arc;

use crate::sockets::test_agent::serve_agent;

async fn connect_second(server: &StateServer, first: &StateClient, query: &str) -> StateClient {
    server
        .connect(&format!("session={}&{query}", first.session()))
        .await
}

#[tokio::test(start_paused = true)]
async fn unnamed_sockets_share_control() {
    let (_test, server) = serve_agent();
    let mut one = server.connect("").await;
    let mut two = connect_second(&server, &one, "").await;
    assert_eq!(two.state()["controller"], "state");
    assert_eq!(two.state()["clients"], json!([]));
    one.submit("one").await;
    two.submit("two").await;
    one.read_until_quiet().await;
    two.read_until_quiet().await;
    assert_eq!(one.state(), two.state());
    assert_eq!(one.state()["messages"].as_array().unwrap().len(), 4);
    // The first one may disconnect.
    one.close().await;
    two.submit("three").await;
    two.read_until_quiet().await;
    assert_eq!(two.messages().pop().unwrap(), "assistant complete three");
    // Commands that need a name are rejected.
    for command in ["takeover", "handback"] {
        two.command(json!({"type": command})).await;
        let words = format!("{command} needs a name; connect with client=NAME in the URL");
        assert_eq!(two.read_error().await, words);
    }
}

#[tokio::test(start_paused = true)]
async fn the_first_named_client_controls_and_the_second_observes() {
    let (_test, server) = serve_agent();
    let mut ann = server.connect("client=ann").await;
    assert_eq!(ann.state()["controller"], "ann");
    let mut bob = connect_second(&server, &ann, "client=bob").await;
    assert_eq!(bob.state()["controller"], "ann");
    let modes: Vec<_> = bob.state()["clients"].as_array().unwrap().iter().collect();
    assert_eq!(
        (&modes[0]["id"], &modes[0]["mode"]),
        (&json!("ann"), &json!("controller"))
    );
    assert_eq!(
        (&modes[1]["id"], &modes[1]["mode"]),
        (&json!("bob"), &json!("observer"))
    );
    let words =
        "only ann, which controls the session, may do this; a client with a name may send takeover";
    for command in [
        json!({"type": "submit", "prompt": "mine"}),
        json!({"type": "steer", "message": "mine"}),
        json!({"type": "configure", "config": {"title": "mine"}}),
        json!({"type": "withdraw", "messageId": "m"}),
        json!({"type": "answer", "questionId": "q", "answer": "a"}),
    ] {
        bob.command(command.clone()).await;
        assert_eq!(bob.read_error().await, words, "{command}");
    }
    ann.read_until_quiet().await;
    assert_eq!(ann.state()["messages"], json!([]));

    bob.command(json!({"type": "takeover"})).await;
    bob.read_until(|state| state["controller"] == "bob").await;
    ann.read_until(|state| state["controller"] == "bob").await;
    ann.submit("mine").await;
    let words =
        "only bob, which controls the session, may do this; a client with a name may send takeover";
    assert_eq!(ann.read_error().await, words);
    bob.submit("mine").await;
    bob.read_until_status("running").await;
    assert_eq!(bob.text("/messages/0/author"), "bob");
    bob.read_until_status("idle").await;

    // Any client gets the control of a free session by a command, also the one that gave it up.
    bob.command(json!({"type": "handback"})).await;
    bob.read_until(|state| state["controller"].is_null()).await;
    // A second handback changes nothing.
    bob.command(json!({"type": "handback"})).await;
    bob.read_until_quiet().await;
    assert_eq!(bob.state()["controller"], json!(null));
    ann.submit("mine").await;
    ann.read_until(|state| state["controller"] == "ann").await;
    ann.read_until_quiet().await;
    assert_eq!(ann.messages().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_reconnects_keeps_its_mode() {
    let (_test, server) = serve_agent();
    let mut ann = server.connect("client=ann").await;
    let mut bob = connect_second(&server, &ann, "client=bob").await;
    // The page is loaded again before the old socket is missed.
    let mut again = connect_second(&server, &ann, "client=ann").await;
    assert_eq!(again.state()["controller"], "ann");
    assert_eq!(again.state()["clients"].as_array().unwrap().len(), 2);
    again.submit("hello").await;
    again.read_until_status("running").await;
    again.read_until_status("idle").await;
    // The end of the old socket takes nothing from the new one.
    ann.read_until_quiet().await;
    ann.close().await;
    again.read_until_quiet().await;
    assert_eq!(again.state()["controller"], "ann");
    again.submit("more").await;
    again.read_until_quiet().await;
    assert_eq!(again.messages().pop().unwrap(), "assistant complete more");
    // The same for an observer.
    let mut bob_again = connect_second(&server, &again, "client=bob").await;
    assert_eq!(bob_again.state()["controller"], "ann");
    bob.read_until_quiet().await;
    bob_again.submit("mine").await;
    assert!(bob_again.read_error().await.contains("only ann"));
}

#[tokio::test(start_paused = true)]
async fn control_is_free_after_the_controller_leaves() {
    let (_test, server) = serve_agent();
    let ann = server.connect("client=ann").await;
    let mut bob = connect_second(&server, &ann, "client=bob").await;
    ann.close().await;
    bob.read_until(|state| state["controller"] != "ann").await;
    bob.read_until(|state| state["clients"].as_array().unwrap().len() == 1)
        .await;
    bob.submit("mine").await;
    bob.read_until_status("running").await;
    assert_eq!(bob.state()["controller"], "bob");
    bob.read_until_status("idle").await;
}

#[tokio::test(start_paused = true)]
async fn an_observer_takes_control_only_by_takeover() {
    let (_test, server) = serve_agent();
    let mut eve = server.connect("client=eve&role=observer").await;
    assert_eq!(eve.state()["controller"], json!(null));
    eve.submit("mine").await;
    let words = "no client controls the session; only a controller may do this; a client with a name \
                 may send takeover";
    assert_eq!(eve.read_error().await, words);
    let mut nobody = connect_second(&server, &eve, "role=observer").await;
    nobody.submit("mine").await;
    assert_eq!(nobody.read_error().await, words);
    eve.command(json!({"type": "takeover"})).await;
    eve.read_until(|state| state["controller"] == "eve").await;
    eve.submit("mine").await;
    eve.read_until_status("running").await;
    eve.read_until_status("idle").await;
}

/// A controller of another wire, such as an editor, has a name as well.
#[tokio::test(start_paused = true)]
async fn a_client_of_another_wire_is_shown_as_controller() {
    let (test, server) = serve_agent();
    let mut ann = server.connect("client=ann").await;
    let session = test.hub().live_session(&ann.session().into()).unwrap();
    ann.command(json!({"type": "handback"})).await;
    ann.read_until(|state| state["controller"].is_null()).await;
    let editor = session.take_seat("editor", Arc::new(NoHost), SeatClaim::IfFree);
    ann.read_until(|state| state["controller"] == "editor")
        .await;
    ann.submit("mine").await;
    assert!(
        ann.read_error()
            .await
            .starts_with("only editor, which controls")
    );
    let said = vec![ContentBlock::text("theirs")];
    session.prompt(said, |_| ()).await.unwrap();
    ann.read_until(|state| state["status"] == "running").await;
    ann.read_until_status("idle").await;
    drop(editor);
    ann.read_until(|state| state["controller"].is_null()).await;
}

/// Control does not pass to the newer connection, because an observer asks for none.
#[tokio::test(start_paused = true)]
async fn an_observer_replaces_the_older_connection_of_its_name() {
    let (_test, server) = serve_agent();
    let mut older = server.connect("client=ann").await;
    assert_eq!(older.state()["controller"], "ann");
    let query = format!("session={}&client=ann&role=observer", older.session());
    let mut newer = server.connect(&query).await;
    newer
        .read_until(|state| state["controller"].is_null())
        .await;
    older
        .read_until(|state| state["controller"].is_null())
        .await;
}

/// An editor takes control without an event.
#[tokio::test(start_paused = true)]
async fn a_change_of_control_while_a_room_opens_is_shown() {
    let (test, server) = serve_agent();
    let first = server.connect("role=observer").await;
    let id = first.session();
    first.close().await;
    let session = test.hub().live_session(&id.as_str().into()).unwrap();
    let mut watcher = server.connect(&format!("session={id}&role=observer")).await;
    let _seat = session.take_seat("editor", Arc::new(NoHost), SeatClaim::IfFree);
    watcher
        .read_until(|state| state["controller"] == "editor")
        .await;
}
