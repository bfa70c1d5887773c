//! OpenHarness on `harn-serve serve`, over plain sockets, as any Shell can use it.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Long enough for a busy machine; a passing test never waits this long.
const PATIENCE: Duration = Duration::from_secs(30);
const TOKEN: &str = "tests-token-0123456789";
const PATHS: [&str; 2] = ["/v1/openharness", "/openharness/invoke"];

const SCENARIO: &str = "
name: told
turns:
  - match: ^stay
    steps: [{write: {path: under-way, text: here}}, {await_cancel: {}}]
  - steps: [{say: Here it is.}]
";

/// A running server, with the address that it printed.
struct Server {
    child: Child,
    address: String,
    announced: String,
}

impl Server {
    fn start(dir: &TempDir) -> Self {
        let work = dir.path().join("work");
        fs::create_dir_all(&work).unwrap();
        let scenario = dir.path().join("scenario.yaml");
        fs::write(&scenario, SCENARIO).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_harn-serve"))
            .args(["serve", "--engine"])
            .arg(format!("script:{}", scenario.display()))
            .arg("--state-dir")
            .arg(dir.path().join("state"))
            .args(["--mode", "auto", "--cwd"])
            .arg(&work)
            .env("HARN_SERVE_TOKEN", TOKEN)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, lines) = mpsc::sync_channel(64);
        let stderr = child.stderr.take().unwrap();
        thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                // Read to the end, also without a receiver.
                let _ = sender.send(line);
            }
        });
        let announced = loop {
            let line = lines.recv_timeout(PATIENCE).unwrap();
            if let Some((_, url)) = line.split_once("OpenHarness is at ") {
                break url.to_owned();
            }
        };
        let (_, rest) = announced.split_once("://").unwrap();
        let (address, _) = rest.split_once('/').unwrap();
        Self {
            address: address.to_owned(),
            child,
            announced,
        }
    }

    /// Posts a body; returns the status, the headers and the body of the response.
    fn post(&self, path: &str, token: Option<&str>, body: &str) -> (u16, String, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let token = token.map(|token| format!("authorization: Bearer {token}\r\n"));
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: {}\r\n{}content-type: application/json\r\n\
             connection: close\r\ncontent-length: {}\r\n\r\n{body}",
            self.address,
            token.unwrap_or_default(),
            body.len()
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, head.to_ascii_lowercase(), body.to_owned())
    }

    fn invoke(&self, path: &str, body: &Value) -> Value {
        let (status, _, answer) = self.post(path, Some(TOKEN), &body.to_string());
        assert_eq!(status, 200, "{answer}");
        serde_json::from_str(&answer).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Both fail only when the process has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn request_body(request_id: &str) -> Value {
    json!({
        "protocol_version": "1.0.0",
        "request_id": request_id,
        "correlation_id": "cor-1",
        "request": {"context": {"session_id": "desk", "user_intent": "Where is it?"}},
    })
}

fn message_texts(envelope: &Value) -> Vec<&str> {
    let directives = envelope["response"]["action_directives"].as_array();
    let messages = directives
        .into_iter()
        .flatten()
        .filter(|it| it["action_type"] == "render_message");
    messages
        .filter_map(|it| it["payload"]["text"].as_str())
        .collect()
}

#[test]
fn a_shell_asks_on_either_path() {
    let dir = TempDir::new().unwrap();
    let server = Server::start(&dir);
    assert!(server.announced.ends_with(PATHS[0]), "{}", server.announced);
    for (path, id) in PATHS.into_iter().zip(["req-1", "req-2"]) {
        let answer = server.invoke(path, &request_body(id));
        assert_eq!(answer["request_id"], id);
        assert_eq!(answer["correlation_id"], "cor-1");
        assert_eq!(answer["response"]["status"], "success", "{answer}");
        assert_eq!(message_texts(&answer), ["Here it is."], "{answer}");
    }
    let threads = fs::read_dir(dir.path().join("state/threads")).unwrap();
    let [only] = threads.collect::<Vec<_>>().try_into().unwrap();
    let meta = fs::read(only.unwrap().path().join("meta.json")).unwrap();
    let meta: Value = serde_json::from_slice(&meta).unwrap();
    let work = dir.path().join("work");
    assert_eq!(meta["directory"].as_str(), work.to_str());
}

#[test]
fn request_without_a_token_gets_an_envelope() {
    let dir = TempDir::new().unwrap();
    let server = Server::start(&dir);
    for path in PATHS {
        for token in [None, Some("wrong-token-0123456789")] {
            let body = request_body("req-1").to_string();
            let (status, head, answer) = server.post(path, token, &body);
            assert_eq!(status, 401, "{answer}");
            assert!(head.contains("www-authenticate: bearer"), "{head}");
            let envelope: Value = serde_json::from_str(&answer).unwrap();
            assert_eq!(envelope["response"]["status"], "error", "{answer}");
            assert!(envelope["response"]["error"]["code"].is_string());
        }
    }
    assert!(!dir.path().join("state/threads").exists());
}

#[test]
fn broken_json_gets_an_envelope() {
    let dir = TempDir::new().unwrap();
    let server = Server::start(&dir);
    for path in PATHS {
        let (status, _, answer) = server.post(path, Some(TOKEN), "{\"protocol_version\": ");
        assert_eq!(status, 400, "{answer}");
        let envelope: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(envelope["response"]["status"], "error", "{answer}");
    }
}

#[test]
fn waiting_shell_receives_run_cancelled_when_the_server_ends() {
    let dir = TempDir::new().unwrap();
    let mut server = Server::start(&dir);
    let mut stay = request_body("req-1");
    stay["request"]["context"]["user_intent"] = json!("stay");
    let answer = thread::scope(|scope| {
        let waiting = scope.spawn(|| server.invoke(PATHS[0], &stay));
        let mark = dir.path().join("work/under-way");
        for _ in 0..3000 {
            if mark.exists() {
                break;
            }
            thread::sleep(Duration::from_millis(10));
        }
        assert!(mark.exists(), "the run did not begin");
        let pid = Pid::from_raw(server.child.id().try_into().unwrap()).unwrap();
        kill_process(pid, Signal::TERM).unwrap();
        waiting.join().unwrap()
    });
    assert_eq!(answer["request_id"], "req-1", "{answer}");
    assert_eq!(answer["response"]["status"], "error", "{answer}");
    let error = &answer["response"]["error"];
    assert_eq!(error["code"], "run_cancelled", "{answer}");
    assert_eq!(error["retryable"], false, "{answer}");
    assert!(server.child.wait().unwrap().success());
    // The same request returns the same answer after a restart.
    let server = Server::start(&dir);
    assert_eq!(server.invoke(PATHS[0], &stay), answer);
}

#[test]
fn the_same_request_after_a_restart_gets_the_same_answer() {
    let dir = TempDir::new().unwrap();
    let server = Server::start(&dir);
    let first = server.invoke(PATHS[0], &request_body("req-1"));
    assert_eq!(message_texts(&first), ["Here it is."], "{first}");
    drop(server);

    let server = Server::start(&dir);
    let again = server.invoke(PATHS[1], &request_body("req-1"));
    assert_eq!(again, first);
    // The agent did not run a second time.
    let mut other = request_body("req-1");
    other["request"]["context"]["user_intent"] = json!("Something else");
    let conflict = server.invoke(PATHS[0], &other);
    assert_eq!(
        conflict["response"]["error"]["code"], "request_id_conflict",
        "{conflict}"
    );
}
