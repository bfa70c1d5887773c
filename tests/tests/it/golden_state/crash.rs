//! A session after a crash, with a running turn and a queued prompt.

use std::fs;

use crate::golden_state::{agent::serve_agent, check_transcript};

#[tokio::test(start_paused = true)]
async fn crash_fails_the_running_turn_and_the_queued_prompt() {
    let (test, server) = serve_agent();
    let mut client = server.connect("").await;
    client.submit("Look around").await;
    client.read_until_quiet().await;
    client.submit("And then?").await;
    client.read_until_quiet().await;
    // The log of this moment is what a process finds after a crash.
    let log = test.log_path(&"session-1".into());
    let written = fs::read(&log).unwrap();
    client.close().await;
    test.hub().shutdown().await;
    fs::write(&log, written).unwrap();
    test.recorder()
        .record_note("the server was killed, and is started again");
    let after = test.start_second();
    let server = after.serve_state();
    let mut client = server.connect("session=session-1").await;
    client.read_until_quiet().await;
    assert_eq!(client.text("/status"), "error");
    assert_eq!(
        client.messages(),
        [
            "user complete Look around",
            "assistant error Looking.",
            "user error And then?",
        ]
    );
    client.submit("Once more").await;
    client.read_until_quiet().await;
    assert_eq!(client.text("/status"), "idle");
    client.close().await;
    check_transcript("restart", test.recorder());
}
