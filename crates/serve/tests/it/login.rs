//! Signing in at the real server: its output at the start, the browser it opens, and its log.

// On other systems, other programs open a browser.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Child, Command, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use tempfile::TempDir;

/// Long enough for a busy machine; a passing test never waits this long.
const PATIENCE: Duration = Duration::from_secs(30);
const TOKEN: &str = "tests-token-0123456789";

struct Server {
    child: Child,
    lines: Receiver<String>,
}

impl Server {
    /// Starts a server that finds `opener` as the program that opens browsers.
    fn start(dir: &TempDir, opener: &str) -> Self {
        let bin = dir.path().join("bin");
        fs::create_dir(&bin).unwrap();
        let program = bin.join("xdg-open");
        fs::write(&program, opener).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_harn-serve"))
            .args(["serve", "--open", "--log-level", "trace", "--log-file"])
            .arg(dir.path().join("log"))
            .arg("--state-dir")
            .arg(dir.path().join("state"))
            .current_dir(dir.path())
            // No other program that opens a browser is in the path.
            .env("PATH", &bin)
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
        Self { child, lines }
    }

    /// Returns the rest of the next line of stderr that begins with `begins`.
    fn next_line_with(&self, begins: &str) -> String {
        loop {
            let line = self.lines.recv_timeout(PATIENCE).unwrap();
            if let Some(rest) = line.strip_prefix(begins) {
                return rest.to_owned();
            }
        }
    }

    fn end(mut self) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, Signal::TERM).unwrap();
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{status}");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Both fail only when the process has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn wait_for_file(file: &Path) -> String {
    for _ in 0..3000 {
        if let Ok(text) = fs::read_to_string(file) {
            return text;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("nothing was opened");
}

/// Posts a body; returns the status and the head of the response.
fn post(address: &str, path: &str, headers: &str, body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let length = body.len();
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: {address}\r\norigin: http://{address}\r\n{headers}\
         content-type: application/json\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, _) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, head.to_ascii_lowercase())
}

#[test]
fn open_flag_opens_a_browser_with_a_login_code() {
    let dir = TempDir::new().unwrap();
    // Written and then renamed, so that the test never reads half of it.
    let opener = "#!/bin/sh\n\
                  echo \"$# $1 ${HARN_SERVE_TOKEN-none}\" > opened.new\n\
                  /bin/mv opened.new opened\n";
    let server = Server::start(&dir, opener);
    let told = server.next_line_with("harn-serve: listening on http://");
    let address = told.strip_suffix("/acp").unwrap();
    let page = server.next_line_with("harn-serve: the page is at ");
    let words = server.next_line_with("harn-serve: the code in it works once, for 10 minutes");
    assert_eq!(words, "; after that, sign in with the token");
    assert_eq!(
        wait_for_file(&dir.path().join("opened")),
        format!("1 {page} none\n")
    );
    let code = page.strip_prefix(&format!("http://{address}/#code="));
    let code = code.unwrap().to_owned();

    let body = json!({"code": code}).to_string();
    let (status, head) = post(address, "/login", "", &body);
    assert_eq!(status, 204, "{head}");
    let set = head
        .lines()
        .find_map(|line| line.strip_prefix("set-cookie: "));
    let cookie = set.unwrap().split(';').next().unwrap();
    let (_, port) = address.rsplit_once(':').unwrap();
    assert!(cookie.starts_with(&format!("harn-{port}=v1.")), "{cookie}");
    assert_eq!(post(address, "/login", "", &body).0, 401);
    let asking = json!({
        "protocol_version": "1.0.0",
        "request_id": "req-1",
        "request": {"context": {"session_id": "desk", "user_intent": "/help"}},
    });
    let with = format!("cookie: {cookie}\r\n");
    let (status, head) = post(address, "/v1/openharness", &with, &asking.to_string());
    assert_eq!(status, 200, "{head}");
    let mac = cookie.rsplit_once('.').unwrap().1.to_owned();
    server.end();
    let logged = fs::read_to_string(dir.path().join("log")).unwrap();
    assert!(
        logged.contains("TRACE") || logged.contains("DEBUG"),
        "{logged}"
    );
    for secret in [code.as_str(), &mac, TOKEN] {
        assert!(!logged.contains(secret), "{secret} is in {logged}");
    }
}

#[test]
fn without_a_browser_the_url_is_printed() {
    let dir = TempDir::new().unwrap();
    let server = Server::start(&dir, "#!/bin/sh\nexit 3\n");
    let page = server.next_line_with("harn-serve: the page is at ");
    let by_hand =
        server.next_line_with("harn-serve: cannot open a browser; open this address by hand: ");
    assert_eq!(by_hand, page);
    server.end();
}
