//! `harn-serve attach` in real terminals, on a real server.

mod tmux;

use std::{
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use harn_testkit::skip_without;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use crate::attach::tmux::{PATIENCE, Tmux};

const SCENARIO: &str = r#"
name: house
turns:
  - match: "^write"
    steps:
      - say: "I would like to leave a note."
      - ask:
          tool: write_file
          kind: edit
          title: "Write NOTES.md"
          diff: {path: NOTES.md, old_text: "Nobody.\n", new_text: "Somebody.\n"}
          on_allow: [{say: "Written."}]
          on_reject: [{say: "Then I leave it."}]
  - match: "^slow"
    steps: [{say: "Working slowly."}, {await_cancel: {}}]
  - match: "^stay"
    steps: [{say: "Ready."}, {idle: {}}, {tell_delivered: {}}]
  - match: "^ask"
    steps: [{question: {prompt: "Which door?", choices: [red, blue], on_answer: [{say: "Through that one."}]}}]
  - steps:
      - think: "where is it?"
      - emit: {type: plan, plan: [{content: "look", status: completed}]}
      - emit: {type: tool_call, tool_call_id: "t-{turn}", tool_name: look, title: "Look around", kind: read}
      - emit: {type: tool_call_update, tool_call_id: "t-{turn}", tool_name: look, status: completed}
      - say: "Behind the curtain."
"#;

fn harn_serve() -> &'static str {
    env!("CARGO_BIN_EXE_harn-serve")
}

/// A state directory, a scenario and a working directory.
struct Place {
    dir: TempDir,
}

impl Place {
    fn new() -> Self {
        let dir = TempDir::new().unwrap();
        fs::write(dir.path().join("house.yaml"), SCENARIO).unwrap();
        fs::create_dir(dir.path().join("work")).unwrap();
        Self { dir }
    }

    fn state(&self) -> PathBuf {
        self.dir.path().join("state")
    }

    fn work(&self) -> PathBuf {
        self.dir.path().join("work")
    }

    fn tmux(&self) -> Tmux {
        Tmux::new(self.dir.path())
    }

    /// Starts a server and waits until it can be reached.
    fn serve(&self) -> Server {
        let scenario = self.dir.path().join("house.yaml");
        let child = Command::new(harn_serve())
            .args([
                "serve",
                "--engine",
                &format!("script:{}", scenario.display()),
            ])
            .arg("--state-dir")
            .arg(self.state())
            .env("XDG_CONFIG_HOME", self.dir.path().join("config"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut server = Server {
            child,
            url: String::new(),
        };
        let said = BufReader::new(server.child.stderr.take().unwrap());
        for line in said.lines() {
            let line = line.unwrap();
            if let Some((_, at)) = line.split_once("listening on http://") {
                server.url = format!("ws://{at}");
                break;
            }
        }
        let socket = self
            .state()
            .join(format!("live/{}.sock", server.child.id()));
        wait(|| socket.exists(), "the server's socket");
        server
    }

    /// Opens an attached client in a terminal.
    fn attach(&self, tmux: &Tmux, name: &str, args: &[&str]) {
        let state = self.state();
        let state = state.to_str().unwrap();
        let command = [harn_serve(), "attach", "--state-dir", state, "--name", name];
        tmux.open(name, &self.work(), &[&command, args].concat());
    }

    fn run(&self, args: &[&str]) -> Output {
        Command::new(harn_serve())
            .args(args)
            .arg("--state-dir")
            .arg(self.state())
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }
}

struct Server {
    child: Child,
    url: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        // Both fail only when the process has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn wait(mut done: impl FnMut() -> bool, what: &str) {
    let began = Instant::now();
    while !done() {
        assert!(began.elapsed() < PATIENCE, "{what} does not come");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Returns the id of the only stored session.
fn stored_session(state: &Path) -> String {
    let mut threads = fs::read_dir(state.join("threads")).unwrap();
    let thread = threads.next().unwrap().unwrap();
    thread.file_name().into_string().unwrap()
}

#[test]
fn attach_prompts_approves_takes_over_and_resizes() {
    if skip_without("tmux") {
        return;
    }
    let place = Place::new();
    let _server = place.serve();
    let tmux = place.tmux();

    // Begin a session, and send a prompt.
    place.attach(&tmux, "desk", &["--new"]);
    tmux.wait_for("desk", "you control");
    tmux.type_text("desk", "where is it?");
    tmux.press("desk", "Enter");
    let screen = tmux.wait_for("desk", "Behind the curtain.");
    assert!(screen.contains("> where is it?"), "{screen}");
    assert!(screen.contains("≡ Look around  ✓"), "{screen}");
    assert!(screen.contains("[x] look"), "{screen}");

    // The agent asks; the change is shown, and a letter allows it.
    tmux.type_text("desk", "write a note");
    tmux.press("desk", "Enter");
    let screen = tmux.wait_for("desk", "y) ");
    assert!(screen.contains("? ✎ Write NOTES.md"), "{screen}");
    assert!(
        screen.contains("-Nobody.") && screen.contains("+Somebody."),
        "{screen}"
    );
    tmux.press("desk", "y");
    tmux.wait_for("desk", "Written.");

    // Another client selects the session from the list, and observes it.
    place.attach(&tmux, "phone", &[]);
    tmux.wait_for("phone", "desk controls");
    tmux.press("phone", "Enter");
    let screen = tmux.wait_for("phone", "desk controls this session; you watch");
    assert!(screen.contains("Written."), "{screen}");
    tmux.wait_for("desk", "phone watches");

    // Its input is ignored until it takes over.
    tmux.type_text("phone", "x");
    tmux.press("phone", "C-t");
    tmux.wait_for("phone", "you control");
    tmux.wait_for("desk", "phone took over from you");
    tmux.type_text("phone", "slow");
    tmux.press("phone", "Enter");
    tmux.wait_for("phone", "Working slowly.");
    let screen = tmux.wait_for("desk", "Working slowly.");
    assert!(screen.contains("> slow  (phone)"), "{screen}");

    // Any size works.
    for (columns, rows) in [(40, 10), (12, 3), (1, 1), (132, 50)] {
        tmux.resize("desk", columns, rows);
    }
    tmux.wait_for("desk", "where is it?");
    tmux.resize("desk", 40, 10);
    let fits = |screen: &str| screen.contains("phone controls") && screen.contains("? help");
    tmux.wait_until("desk", fits, "its status and keys in forty columns");

    // The controller cancels.
    tmux.press("phone", "Escape");
    tmux.wait_for("phone", "· cancelled");
    tmux.wait_for("desk", "· cancelled");

    // Control is released, and taken again.
    tmux.press("phone", "C-r");
    tmux.wait_for("phone", "you gave up control");
    tmux.wait_for("desk", "phone gave up control");
    tmux.press("desk", "t");
    tmux.wait_for("desk", "you control");
    tmux.wait_for("phone", "desk took over");

    // Leaving does not end the session.
    tmux.press("desk", "C-c");
    tmux.wait_for("desk", "Ctrl-C again leaves");
    tmux.press("desk", "C-c");
    let screen = tmux.wait_for("desk", "exit: 0");
    assert!(screen.contains("attach again with"), "{screen}");
    tmux.wait_for("phone", "no controller");
    let list = place.run(&["sessions", "list"]);
    let list = String::from_utf8(list.stdout).unwrap();
    assert!(list.contains("live") && list.contains("none"), "{list}");
}

#[test]
fn open_question_moves_to_the_client_that_takes_over() {
    if skip_without("tmux") {
        return;
    }
    let place = Place::new();
    let _server = place.serve();
    let tmux = place.tmux();
    place.attach(&tmux, "desk", &["--new"]);
    tmux.wait_for("desk", "you control");
    tmux.type_text("desk", "write a note");
    tmux.press("desk", "Enter");
    tmux.wait_for("desk", "y) ");
    let id = stored_session(&place.state());
    place.attach(&tmux, "phone", &[&id[..12]]);
    tmux.wait_for("phone", "you watch");
    assert!(!tmux.screen("phone").contains("y) "));
    tmux.press("phone", "C-t");
    tmux.wait_for("phone", "y) ");
    tmux.wait_until_gone("desk", "y) ");
    let list = place.run(&["sessions", "list"]);
    let list = String::from_utf8(list.stdout).unwrap();
    assert!(
        list.contains("working") && list.contains("phone, just now"),
        "{list}"
    );
    let screen = tmux.wait_for("phone", "Reject this once");
    assert!(screen.contains("n) Reject this once"), "{screen}");
    tmux.type_text("phone", "n");
    tmux.wait_for("phone", "Then I leave it.");
    tmux.wait_for("desk", "Then I leave it.");

    // A question with choices, and a message during the turn.
    tmux.type_text("phone", "ask");
    tmux.press("phone", "Enter");
    tmux.wait_for("phone", "2) blue");
    tmux.press("phone", "2");
    tmux.press("phone", "Enter");
    tmux.wait_for("phone", "Through that one.");
    tmux.type_text("phone", "stay");
    tmux.press("phone", "Enter");
    tmux.wait_for("phone", "the agent waits");
    tmux.type_text("phone", "hello");
    tmux.press("phone", "C-s");
    tmux.wait_for("phone", "message: hello");
}

#[test]
fn controller_reconnects_to_a_restarted_server() {
    if skip_without("tmux") {
        return;
    }
    let place = Place::new();
    let mut server = place.serve();
    let tmux = place.tmux();
    place.attach(&tmux, "desk", &["--new"]);
    tmux.wait_for("desk", "you control");
    tmux.type_text("desk", "where is it?");
    tmux.press("desk", "Enter");
    tmux.wait_for("desk", "Behind the curtain.");
    // Killed, so that it sends nothing and does not remove its socket.
    server.child.kill().unwrap();
    server.child.wait().unwrap();
    tmux.wait_for("desk", "disconnected");
    let _server = place.serve();
    let screen = tmux.wait_for("desk", "reconnected, nothing was missed");
    assert_eq!(screen.matches("Behind the curtain.").count(), 1, "{screen}");
    tmux.type_text("desk", "again?");
    tmux.press("desk", "Enter");
    let twice = |screen: &str| screen.matches("Behind the curtain.").count() == 2;
    tmux.wait_until("desk", twice, "a second answer");
}

#[test]
fn observer_of_a_restarted_server_waits_until_the_session_is_opened() {
    if skip_without("tmux") {
        return;
    }
    let place = Place::new();
    let mut server = place.serve();
    let tmux = place.tmux();
    place.attach(&tmux, "desk", &["--new"]);
    tmux.wait_for("desk", "you control");
    tmux.type_text("desk", "where is it?");
    tmux.press("desk", "Enter");
    tmux.wait_for("desk", "Behind the curtain.");
    let id = stored_session(&place.state());
    place.attach(&tmux, "tab", &["--observe", &id["ses_".len()..12]]);
    tmux.wait_for("tab", "Behind the curtain.");
    tmux.press("desk", "C-d");
    tmux.wait_for("desk", "attach again with");
    server.child.kill().unwrap();
    server.child.wait().unwrap();
    tmux.wait_for("tab", "disconnected");
    let _server = place.serve();
    tmux.wait_for("tab", "the session is stored, but not open");
    place.attach(&tmux, "pad", &["--open", &id]);
    tmux.wait_for("pad", "you control");
    tmux.wait_for("tab", "reconnected, nothing was missed");
    tmux.wait_for("tab", "pad controls");
}

#[test]
fn a_replaced_terminal_does_not_fight_the_newer_client_of_its_name() {
    if skip_without("tmux") {
        return;
    }
    let place = Place::new();
    let server = place.serve();
    let tmux = place.tmux();
    place.attach(&tmux, "desk", &["--new"]);
    tmux.wait_for("desk", "you control");
    let mut newer = Command::new(harn_serve())
        .args(["attach", "--json", "--name", "desk"])
        .args(["--url", &server.url, "--state-dir"])
        .arg(place.state())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    tmux.wait_for("desk", "another client attached under your name");
    // No client controls the session now, so a third client does. The comparison ends with its turn.
    place.attach(&tmux, "porch", &[&stored_session(&place.state())]);
    tmux.wait_for("porch", "you control");
    tmux.type_text("porch", "where is it?");
    tmux.press("porch", "Enter");
    let mut replaced = Vec::new();
    for line in BufReader::new(newer.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        if line.contains(r#""reason":"replaced""#) {
            replaced.push(line.clone());
        }
        let params: Value = serde_json::from_str(&line).unwrap();
        if params["kind"] == "turn_ended" {
            break;
        }
    }
    // The older connection was replaced once, and the newer one never.
    assert_eq!(replaced.len(), 1, "{replaced:?}");
    kill_process(Pid::from_child(&newer), Signal::INT).unwrap();
    assert_eq!(newer.wait().unwrap().code(), Some(0));
}

#[test]
fn attach_json_prints_a_line_per_update() {
    if skip_without("tmux") {
        return;
    }
    let place = Place::new();
    let server = place.serve();
    let tmux = place.tmux();
    place.attach(&tmux, "desk", &["--new"]);
    tmux.wait_for("desk", "you control");
    let mut watching = Command::new(harn_serve())
        .args(["attach", "--json", "--url", &server.url, "--state-dir"])
        .arg(place.state())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(watching.stdout.take().unwrap()).lines();
    tmux.type_text("desk", "where is it?");
    tmux.press("desk", "Enter");
    let mut said = String::new();
    loop {
        let line = lines.next().expect("it goes on").unwrap();
        let params: Value = serde_json::from_str(&line).unwrap();
        // The list of commands is transient, and has no event id.
        let placed = params["update"]["sessionUpdate"] != "available_commands_update";
        let place = &params["_meta"]["harn"]["eventId"];
        assert!(place.is_string() == placed, "{line}");
        if params["update"]["sessionUpdate"] == "agent_message_chunk" {
            said.push_str(params["update"]["content"]["text"].as_str().unwrap());
        }
        if params["kind"] == "turn_ended" {
            break;
        }
    }
    assert_eq!(said, "Behind the curtain.");
    kill_process(Pid::from_child(&watching), Signal::INT).unwrap();
    assert_eq!(watching.wait().unwrap().code(), Some(0));
}

#[test]
fn attach_errors_explain_the_problem() {
    let place = Place::new();
    let fails = |args: &[&str], code: i32, words: &str| {
        let output = place.run(args);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{args:?}: {error}");
        assert!(error.contains(words), "{args:?}: {error}");
    };
    fails(&["attach"], 2, "--json prints one line per update");
    fails(&["attach", "--json"], 1, "`harn-serve serve` starts one");
    fails(
        &["attach", "--json", "--url", "http://x"],
        2,
        "ws://HOST:PORT/acp",
    );
    let nobody = ["attach", "--json", "--url", "ws://127.0.0.1:1"];
    fails(&nobody, 1, "no token");
    let server = place.serve();
    let token = place.dir.path().join("wrong");
    fs::write(&token, "wrong").unwrap();
    let wrong = [
        "--url",
        &server.url,
        "--token-file",
        token.to_str().unwrap(),
    ];
    let refused = [&["attach", "--json"], &wrong[..]].concat();
    fails(&refused, 1, "rejects the token");
    fails(&["attach", "--json"], 1, "no session is live");
    fails(
        &["attach", "--json", "nothing"],
        1,
        "no session nothing is live",
    );
    fails(&nobody, 1, "no server answers at ws://127.0.0.1:1/acp");
}

#[test]
fn run_has_the_keys_that_attach_has() {
    if skip_without("tmux") {
        return;
    }
    let place = Place::new();
    let tmux = place.tmux();
    let (scenario, state) = (place.dir.path().join("house.yaml"), place.state());
    let engine = format!("script:{}", scenario.display());
    let state = state.to_str().unwrap();
    let run = |name: &str| {
        let command = [harn_serve(), "run", "--engine", &engine];
        let asks = ["--state-dir", state, "write a note"];
        tmux.open(name, &place.work(), &[&command[..], &asks].concat());
        tmux.wait_for(name, "or Enter to refuse")
    };
    let screen = run("desk");
    let at = |key: &str| screen.find(&format!("\n  {key}) "));
    let shown: Vec<_> = ["y", "s", "w", "n", "x"].map(at).into();
    assert!(
        shown.iter().all(Option::is_some) && shown.is_sorted(),
        "{screen}"
    );
    assert!(screen.contains("\ny, s, w, n, x, or Enter"), "{screen}");
    // An undefined key is reported; so is a capital letter that would mean a permanent rule.
    for typed in ["q", "W"] {
        tmux.type_text("desk", typed);
        tmux.press("desk", "Enter");
        tmux.wait_for(
            "desk",
            &format!("`{typed}` is not a valid answer; answer y, s, w, n or x"),
        );
    }
    tmux.type_text("desk", "N");
    tmux.press("desk", "Enter");
    tmux.wait_for("desk", "Then I leave it.");
    // No grant was stored, so the next call asks again.
    run("again");
    tmux.type_text("again", "w");
    tmux.press("again", "Enter");
    tmux.wait_for("again", "Written.");
    let grants = place.run(&["grants", "list", "--all"]);
    let grants = String::from_utf8(grants.stdout).unwrap();
    let written = grants.matches("  allow  write_file  ");
    assert_eq!(written.count(), 1, "{grants}");
}
