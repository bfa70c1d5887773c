//! The document that lists all sessions.

use std::time::Duration;

use crate::golden_state::{agent::serve_agent, check_transcript};

#[tokio::test(start_paused = true)]
async fn session_list_follows_the_status_of_a_session() {
    let (test, server) = serve_agent();
    let mut list = server.connect_sessions().await;
    let mut client = server.connect("client=ada").await;
    list.read_until_quiet().await;
    test.clock().advance(Duration::from_secs(60));
    client.submit("Clean up").await;
    client.read_until_quiet().await;
    list.read_until_quiet().await;
    assert_eq!(list.text("/sessions/0/status"), "waiting");
    client.close().await;
    list.read_until_quiet().await;
    list.close().await;
    check_transcript("sessions", test.recorder());
}
