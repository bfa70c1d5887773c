//! A secret of a request is nowhere afterwards: not on the disk, in a response or in a log, and no agent
//! receives it.

use std::{
    fs, io,
    path::Path,
    sync::{Arc, Mutex},
};

use harn_testkit::openharness::{OpenHarnessShell, intent_request};
use serde_json::{Value, json};

use crate::support::Agent;

const CANARY: &str = "canary-5f1d";

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn contains_canary(bytes: &[u8]) -> bool {
    bytes
        .windows(CANARY.len())
        .any(|it| it == CANARY.as_bytes())
}

fn search(folder: &Path, read: &mut usize) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            search(&path, read);
        } else {
            *read += 1;
            assert!(
                !contains_canary(&fs::read(&path).unwrap()),
                "{}",
                path.display()
            );
        }
    }
}

#[tokio::test]
async fn secrets_are_not_stored_logged_or_returned() {
    let log = Log::default();
    let writer = log.clone();
    let logging = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    let _logging = tracing::subscriber::set_default(logging);
    tracing::info!("the log is read");
    let agent = Agent::new();
    let hub = agent.hub();
    let shell = OpenHarnessShell::new(&hub);
    let auth = json!({
        "tenant_id": CANARY, "credential_ref": CANARY, "session_id": CANARY, "token": CANARY,
    });
    let state = json!({"privacy_tier": "secret", "os": CANARY, "clipboard": [CANARY]});
    let mut message = intent_request("req_1", "hello");
    message["request"]["auth"] = auth;
    message["request"]["extensions"] = json!({"com.example": CANARY});
    message["request"]["context"]["environment_state"] = state;
    let mut bad = message.clone();
    bad["request_id"] = json!("req_2");
    bad["request"]["context"]["user_intent"] = json!([CANARY]);
    let mut failing = message.clone();
    failing["request_id"] = json!("req_3");
    failing["request"]["context"]["user_intent"] = json!("fail");
    let mut lost = message.clone();
    lost["request_id"] = json!("req_4");
    lost["request"]["context"]["continuation"] = json!({"run_id": CANARY});
    let broken = format!("{}{CANARY}", message);
    let mut answers = vec![shell.post_bytes(broken).await];
    for message in [&message, &message, &bad, &failing, &lost] {
        answers.push(shell.post(message).await);
    }
    assert!(answers[1].is_success());
    for answer in &answers {
        assert!(!contains_canary(&answer.bytes), "{:?}", answer.envelope);
        let headers = format!("{:?}", answer.headers);
        assert!(!contains_canary(headers.as_bytes()), "{headers}");
    }
    // Data that is not secret reaches the agent, which accepts resources.
    let mut open = message.clone();
    open["request_id"] = json!("req_5");
    let state: Value = json!({"privacy_tier": "restricted", "os": "plan9"});
    open["request"]["context"]["environment_state"] = state;
    assert!(shell.post(&open).await.is_success());
    let seen = agent.prompts();
    assert_eq!(seen.len(), 3);
    assert!(seen[2].contains("plan9"), "{}", seen[2]);
    assert!(!contains_canary(seen.join("\n").as_bytes()));
    hub.hub().shutdown().await;
    let mut read = 0;
    search(&hub.state_dir(), &mut read);
    assert!(read >= 2, "{read} files");
    let log = log.0.lock().unwrap();
    assert!(!log.is_empty());
    assert!(!contains_canary(&log), "{}", String::from_utf8_lossy(&log));
}
