//! The owner of a run: the principal that the transport authenticated, whatever the body contains.

use std::sync::Arc;

use harn_model::LiveClientMode;
use harn_runtime::{AttachClient, ControlPreemption, DriverAction, NoHost, SeatClaim};
use harn_testkit::openharness::{
    OpenHarnessShell, continuation_request, decision_request, intent_request,
};
use serde_json::json;

use crate::support::{Agent, session_of_run};

#[tokio::test]
async fn same_names_of_two_tenants_are_two_sessions() {
    let agent = Agent::new();
    let hub = agent.hub();
    let shell = OpenHarnessShell::new(&hub);
    let (ada, bob) = (
        shell.for_principal(Some("ada")),
        shell.for_principal(Some("bob")),
    );
    let message = intent_request("req_1", "hello");
    let (of_ada, of_bob) = (ada.post(&message).await, bob.post(&message).await);
    assert_eq!(agent.turns(), 2, "one for each");
    assert_ne!(session_of_run(&of_ada), session_of_run(&of_bob));
    // The tenant in the body changes nothing.
    let mut liar = intent_request("req_2", "hello");
    liar["request"]["auth"] = json!({"tenant_id": "ada", "session_id": "sess_1"});
    assert_eq!(
        session_of_run(&bob.post(&liar).await),
        session_of_run(&of_bob)
    );
    let mut liar = intent_request("req_1", "hello");
    liar["request"]["auth"] = json!({"tenant_id": "ada"});
    assert_eq!(bob.post(&liar).await.bytes, of_bob.bytes);
    // Another tab is another session.
    let mut tab = intent_request("req_3", "hello");
    tab["request"]["context"]["conversation_id"] = json!("tab_2");
    assert_ne!(
        session_of_run(&ada.post(&tab).await),
        session_of_run(&of_ada)
    );
}

#[tokio::test]
async fn the_run_of_another_tenant_is_unknown() {
    let agent = Agent::new();
    let hub = agent.hub();
    let shell = OpenHarnessShell::new(&hub);
    let (ada, bob) = (
        shell.for_principal(Some("ada")),
        shell.for_principal(Some("bob")),
    );
    let asked = ada.post(&intent_request("req_1", "write")).await;
    let id = &asked.questions()[0];
    let unknown = "continuation_not_found";
    let place = asked.continuation();
    assert_eq!(
        bob.post(&continuation_request("req_1", &place))
            .await
            .code(),
        unknown
    );
    for ours in [
        json!({"approval": {"id": id, "decision": "once"}}),
        json!({"cancel": true}),
    ] {
        let message = decision_request("req_2", &place, &ours);
        assert_eq!(bob.post(&message).await.code(), unknown);
        assert_eq!(
            shell.post(&message).await.code(),
            unknown,
            "nor the owner's"
        );
    }
    assert_eq!(
        ada.post(&continuation_request("req_2", &place))
            .await
            .state(),
        "parked"
    );
    assert_eq!(agent.turns(), 1);
}

#[tokio::test]
async fn session_with_another_controller_is_busy() {
    let agent = Agent::new();
    let hub = agent.hub();
    let shell = OpenHarnessShell::new(&hub);
    let first = shell.post(&intent_request("req_1", "hello")).await;
    let session = hub.hub().open(&session_of_run(&first), None).await.unwrap();
    assert_eq!(
        session.live_state().controller,
        None,
        "not while nothing runs"
    );
    let editor = session.take_seat("editor", Arc::new(NoHost), SeatClaim::IfFree);
    editor.drive(DriverAction::Steer, None).unwrap();
    let message = intent_request("req_2", "hello");
    let busy = shell.post(&message).await;
    assert_eq!(busy.code(), "engine_busy");
    assert_eq!(busy.response()["error"]["retryable"], true);
    editor.leave().await;
    assert!(shell.post(&message).await.is_success());
    assert_eq!(agent.turns(), 2);
}

#[tokio::test]
async fn takeover_blocks_decisions_until_the_client_leaves() {
    let agent = Agent::new();
    let hub = agent.hub();
    let shell = OpenHarnessShell::new(&hub);
    let asked = shell.post(&intent_request("req_1", "write")).await;
    let session = hub.hub().open(&session_of_run(&asked), None).await.unwrap();
    let editor = session.take_seat("editor", Arc::new(NoHost), SeatClaim::Never);
    let client = AttachClient {
        mode: LiveClientMode::Controller,
        taking: ControlPreemption::Outright,
        ..AttachClient::observer("ada")
    };
    editor.attach(client).await.unwrap();
    let yes = json!({"approval": {"id": asked.questions()[0], "decision": "once"}});
    let yes = decision_request("req_2", &asked.continuation(), &yes);
    assert_eq!(shell.post(&yes).await.code(), "engine_busy");
    let poll = continuation_request("req_3", &asked.continuation());
    assert_eq!(shell.post(&poll).await.questions(), asked.questions());
    // After the other client has left, the decision counts.
    editor.leave().await;
    assert_eq!(shell.post(&yes).await.text(), "It is in notes.txt.");
}

#[tokio::test]
async fn session_open_in_another_process_is_busy() {
    let agent = Agent::new();
    let hub = agent.hub();
    let beside = hub.start_second();
    assert!(
        OpenHarnessShell::new(&beside)
            .post(&intent_request("req_1", "hello"))
            .await
            .is_success()
    );
    let shell = OpenHarnessShell::new(&hub);
    let message = intent_request("req_2", "hello");
    let in_use = shell.post(&message).await;
    assert_eq!(in_use.code(), "engine_busy");
    assert_eq!(in_use.response()["error"]["retryable"], true);
    beside.hub().shutdown().await;
    assert!(shell.post(&message).await.is_success());
}
