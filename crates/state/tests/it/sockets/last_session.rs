//! Clients that name no session return to the one they had.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use harn_model::{Principal, SessionId};
use harn_runtime::NewSession;
use harn_state::SessionMemory;
use harn_testkit::{StateServer, TestHub};

use crate::sockets::test_agent::{agent, serve_agent};

/// A memory that outlives the server, and whose content tests may set.
#[derive(Clone, Default)]
struct Notes(Arc<Mutex<Vec<(String, PathBuf, SessionId)>>>);

impl SessionMemory for Notes {
    fn last_session(&self, principal: &Principal, directory: &Path) -> Option<SessionId> {
        let notes = self.0.lock().unwrap();
        let mut notes = notes.iter().rev();
        let note = notes.find(|(whose, at, _)| whose == principal.as_str() && at == directory);
        note.map(|(.., session)| session.clone())
    }

    fn remember(&self, principal: &Principal, directory: &Path, session: &SessionId) {
        let note = (principal.to_string(), directory.to_owned(), session.clone());
        self.0.lock().unwrap().push(note);
    }
}

fn serve_with_memory(test: &TestHub, notes: &Notes) -> StateServer {
    test.serve_state_with(|config| config.memory = Arc::new(notes.clone()))
}

#[tokio::test(start_paused = true)]
async fn a_client_that_reconnects_returns_to_its_session() {
    let (_test, server) = serve_agent();
    let mut client = server.connect("").await;
    let session = client.session();
    client.submit("hello").await;
    client.read_until_quiet().await;
    let shown = client.messages();
    assert_eq!(shown.len(), 2);
    client.close().await;
    let client = server.connect("").await;
    assert_eq!(
        (client.session(), client.messages()),
        (session.clone(), shown)
    );
    // Concurrent clients share the session; a name makes no difference.
    for query in ["", "client=ann", "role=observer"] {
        assert_eq!(server.connect(query).await.session(), session, "{query}");
    }
}

#[tokio::test(start_paused = true)]
async fn concurrent_clients_get_the_same_session() {
    let (_test, server) = serve_agent();
    let (one, two) = tokio::join!(server.connect(""), server.connect(""));
    assert_eq!(one.session(), two.session());
}

#[tokio::test(start_paused = true)]
async fn a_new_session_is_created_on_request() {
    let (_test, server) = serve_agent();
    let plain = server.connect("").await.session();
    let new = server.connect("session=new").await.session();
    assert_ne!(new, plain);
    assert_ne!(server.connect("session=new").await.session(), new);
    // A client reaches it by its id, and does not return to it without.
    assert_eq!(server.connect("").await.session(), plain);
}

#[tokio::test(start_paused = true)]
async fn each_principal_has_its_own_session_in_each_directory() {
    let (test, server) = serve_agent();
    let elsewhere = test.workspace().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let elsewhere = format!("cwd={}", elsewhere.display());
    let ann = server.for_principal(Some("ann"));
    let sessions = [
        server.connect("").await.session(),
        server.connect(&elsewhere).await.session(),
        ann.connect("").await.session(),
    ];
    let again = [
        server.connect("").await.session(),
        server.connect(&elsewhere).await.session(),
        ann.connect("").await.session(),
    ];
    assert_eq!(sessions, again);
    let mut different = again.to_vec();
    different.sort();
    different.dedup();
    assert_eq!(different.len(), 3);
    // Without `cwd`, the directory of the server counts.
    let same = format!("cwd={}", test.workspace().display());
    assert_eq!(server.connect(&same).await.session(), sessions[0]);
}

/// A client never returns to a session of others, even if it is the newest of the directory.
#[tokio::test(start_paused = true)]
async fn a_client_does_not_return_to_the_session_of_an_editor() {
    let (test, server) = serve_agent();
    let new = || NewSession {
        cwd: test.workspace(),
        additional_directories: Vec::new(),
    };
    let before = test.hub().create(new()).await.unwrap();
    let mut client = server.connect("").await;
    let own = client.session();
    assert_ne!(own, before.id().as_str());
    let after = test.hub().create(new()).await.unwrap();
    // Nor to one that it switched to.
    let resume = serde_json::json!({"type": "resume", "sessionId": after.id().as_str()});
    client.command(resume).await;
    client
        .read_until(|state| state["session"]["id"] == after.id().as_str())
        .await;
    client.close().await;
    assert_eq!(server.connect("").await.session(), own);
}

#[tokio::test(start_paused = true)]
async fn a_deleted_session_is_replaced() {
    let (test, server) = serve_agent();
    let first = server.connect("").await;
    let gone = first.session();
    first.close().await;
    // A closed session is opened again.
    test.hub().close(&gone.as_str().into()).await;
    let back = server.connect("").await;
    assert_eq!(back.session(), gone);
    back.close().await;
    test.hub().delete(&gone.as_str().into()).await.unwrap();
    let next = server.connect("").await.session();
    assert_ne!(next, gone);
    assert_eq!(server.connect("").await.session(), next);
}

#[tokio::test(start_paused = true)]
async fn a_client_does_not_return_to_an_archived_session() {
    let (test, server) = serve_agent();
    let mut first = server.connect("").await;
    let archived = first.session();
    first.submit("hello").await;
    first.read_until_quiet().await;
    first.close().await;
    test.hub().archive(&archived.as_str().into()).await.unwrap();
    let next = server.connect("").await.session();
    assert_ne!(next, archived);
    assert_eq!(server.connect("").await.session(), next);
}

#[tokio::test(start_paused = true)]
async fn the_memory_outlives_the_server() {
    let notes = Notes::default();
    let mut test = TestHub::new(agent());
    let mut client = serve_with_memory(&test, &notes).connect("").await;
    let session = client.session();
    client.submit("hello").await;
    client.read_until_quiet().await;
    client.close().await;
    test.restart().await;
    let client = serve_with_memory(&test, &notes).connect("").await;
    assert_eq!(client.session(), session);
    assert_eq!(client.messages().len(), 2);
}

/// Two processes share one memory: each has a session of its own, and continues with it.
#[tokio::test(start_paused = true)]
async fn a_session_that_is_open_in_another_process_is_not_used() {
    let notes = Notes::default();
    let test = TestHub::new(agent());
    let server = serve_with_memory(&test, &notes);
    let here = server.connect("").await.session();
    let beside = test.start_second();
    let other = serve_with_memory(&beside, &notes);
    let there = other.connect("").await.session();
    assert_ne!(there, here);
    assert_eq!(notes.0.lock().unwrap().len(), 2);
    assert_eq!(server.connect("").await.session(), here);
    assert_eq!(other.connect("").await.session(), there);
}

/// The session from a memory is checked: one of another directory is not used.
#[tokio::test(start_paused = true)]
async fn a_wrong_memory_is_ignored() {
    let (owner, notes) = (Principal::owner(), Notes::default());
    let test = TestHub::new(agent());
    let elsewhere = test.workspace().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let new = NewSession {
        cwd: elsewhere,
        additional_directories: Vec::new(),
    };
    let other = test.hub().create(new).await.unwrap();
    for wrong in [other.id().as_str(), "nothing", "../../etc/passwd", ""] {
        notes.remember(&owner, &test.workspace(), &wrong.into());
        let session = serve_with_memory(&test, &notes).connect("").await.session();
        assert_ne!(session, wrong);
    }
}
