//! `harn-serve threads`: the process as a client sees it, its files, and its end.

use std::{
    fs,
    io::Write,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    thread,
    time::Duration,
};

use crate::client::Agent;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A workspace and a state directory.
struct World(TempDir);

impl World {
    fn new() -> Self {
        let world = Self(TempDir::new().unwrap());
        fs::create_dir(world.work()).unwrap();
        world
    }

    fn work(&self) -> PathBuf {
        self.0.path().join("work")
    }

    fn harness(&self) -> PathBuf {
        self.work().join(".harness")
    }

    fn state(&self) -> PathBuf {
        self.0.path().join("state")
    }

    fn command(&self, command: &str, more: &[&str]) -> Command {
        let mut process = Command::new(env!("CARGO_BIN_EXE_harn-serve"));
        process.arg(command).arg("--state-dir").arg(self.state());
        process.args(more);
        process
    }

    fn start_threads(&self, more: &[&str]) -> Agent {
        let mut command = self.command("threads", more);
        Agent::start(command.arg("--cwd").arg(self.work()))
    }

    fn start_acp(&self, more: &[&str]) -> Agent {
        let mut agent = Agent::start(&mut self.command("acp", more));
        agent.request("initialize", json!({"protocolVersion": 1}));
        agent
    }

    /// Returns the arguments for an engine that plays these turns.
    fn script_args(&self, turns: &str) -> [String; 2] {
        let file = self.0.path().join("scenario.yaml");
        fs::write(&file, format!("name: told\nturns:\n{turns}")).unwrap();
        let engine = format!("script:{}", file.display());
        ["--engine".to_owned(), engine]
    }
}

fn as_strs(args: &[String]) -> Vec<&str> {
    args.iter().map(String::as_str).collect()
}

/// Runs a command with this input on stdin; returns its output.
fn run_with_input(command: &mut Command, input: &str) -> Output {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).unwrap();
    drop(stdin);
    child.wait_with_output().unwrap()
}

fn create(agent: &mut Agent) -> String {
    let made = agent.request("thread.create", json!({"title": "Try"}));
    made["thread"]["threadId"].as_str().unwrap().to_owned()
}

fn start(agent: &mut Agent, thread: &str, text: &str) -> String {
    let input = json!([{"type": "text", "text": text}]);
    let params = json!({"threadId": thread, "input": input});
    let started = agent.request("turn.start", params);
    started["turnId"].as_str().unwrap().to_owned()
}

/// Reads up to a notification with this method.
fn read_until(agent: &mut Agent, method: &str) -> Vec<Value> {
    let mut seen = Vec::new();
    loop {
        let message = agent.next();
        let found = message["method"] == method;
        seen.push(message);
        if found {
            return seen;
        }
    }
}

/// Sends a request that ends a turn, and reads until both the answer and the end have arrived.
fn request_and_wait(agent: &mut Agent, method: &str, params: Value, end: &str) -> Value {
    let id = agent.send(method, params);
    let (mut answered, mut ended) = (false, None);
    while !answered || ended.is_none() {
        let mut message = agent.next();
        if message["id"] == id {
            assert_eq!(message["result"], json!({"ok": true}), "{message}");
            answered = true;
        } else if message["method"] == end {
            ended = Some(message["params"].take());
        }
    }
    ended.unwrap()
}

fn thread_events(agent: &mut Agent, thread: &str) -> Vec<Value> {
    let mut got = agent.request("thread.get", json!({"threadId": thread}));
    serde_json::from_value(got["events"].take()).unwrap()
}

fn with_notification<'a>(events: &'a [Value], name: &str) -> Vec<&'a Value> {
    let found = events.iter();
    found.filter(|it| it["notification"] == name).collect()
}

fn file_mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

const HELLO: &str = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\"}\n";

#[test]
fn answer_is_written_although_input_ended() {
    let world = World::new();
    for name in ["threads", "harness"] {
        let mut command = world.command(name, &[]);
        let output = run_with_input(command.current_dir(world.work()), HELLO);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(answer["id"], 1);
        assert_eq!(answer["result"]["version"], "1.0.0");
        let server = json!({"name": "harn-serve", "version": env!("CARGO_PKG_VERSION")});
        assert_eq!(answer["result"]["serverInfo"], server);
        assert_eq!(answer["result"]["capabilities"]["persistence"], true);
        assert!(output.stderr.is_empty(), "{output:?}");
    }
    assert!(!world.harness().exists(), "nobody made a thread");
    assert!(!world.state().exists(), "nobody decided anything");
}

/// The answer fills every buffer, and the client closes stdin first and reads late.
#[test]
fn answer_is_whole_when_it_is_read_late() {
    let world = World::new();
    let title = "x".repeat(3_000_000);
    let create =
        json!({"jsonrpc": "2.0", "id": 1, "method": "thread.create", "params": {"title": title}});
    let mut command = world.command("threads", &[]);
    command
        .current_dir(world.work())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    writeln!(stdin, "{create}").unwrap();
    drop(stdin);
    thread::sleep(Duration::from_secs(1));
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let lines = output.stdout.split(|byte| *byte == b'\n');
    let lines: Vec<Value> = lines
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect();
    assert_eq!(lines[0]["method"], "thread.created");
    assert_eq!(lines[1]["result"]["thread"]["title"], title);
}

#[test]
fn server_starts_in_a_read_only_directory() {
    let world = World::new();
    fs::set_permissions(world.work(), PermissionsExt::from_mode(0o500)).unwrap();
    let mut command = world.command("threads", &[]);
    let output = run_with_input(command.current_dir(world.work()), HELLO);
    fs::set_permissions(world.work(), PermissionsExt::from_mode(0o700)).unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(output.stdout.iter().filter(|it| **it == b'\n').count(), 1);
}

#[test]
fn missing_directory_is_rejected() {
    let world = World::new();
    for command in ["threads", "serve"] {
        let output = run_with_input(
            &mut world.command(command, &["--cwd", "/does/not/exist"]),
            "",
        );
        assert_eq!(output.status.code(), Some(2), "{command}");
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(told.contains("--cwd /does/not/exist"), "{told}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn link_in_place_of_the_folder_is_rejected_at_start() {
    let world = World::new();
    let elsewhere = world.0.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    symlink(&elsewhere, world.harness()).unwrap();
    let harness = world.harness();
    let apart = ["--sessions-dir", harness.to_str().unwrap()];
    let in_work = |command: &mut Command| run_with_input(command.current_dir(world.work()), HELLO);
    for (what, output) in [
        ("threads", in_work(&mut world.command("threads", &[]))),
        ("acp", in_work(&mut world.command("acp", &apart))),
    ] {
        assert_eq!(output.status.code(), Some(1), "{what}: {output:?}");
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(told.contains(".harness: it is a link"), "{what}: {told}");
        assert!(output.stdout.is_empty(), "{what}");
    }
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
}

#[test]
fn turn_completes_and_stores_private_files() {
    let world = World::new();
    let engine = world.script_args("  - steps: [{think: hm}, {say: \"Here \"}, {say: it is.}]\n");
    let mut agent = world.start_threads(&as_strs(&engine));
    let id = agent.send("thread.create", json!({"title": "Try"}));
    let created = agent.next();
    assert_eq!(created["method"], "thread.created", "before its answer");
    let made = agent.read_answer(id);
    let thread = made["result"]["thread"]["threadId"].as_str().unwrap();
    assert_eq!(created["params"]["threadId"], thread);
    let directory = made["result"]["thread"]["directory"].as_str().unwrap();
    assert_eq!(Path::new(directory), world.work());

    let turn = start(&mut agent, thread, "where?");
    let told = read_until(&mut agent, "turn.completed");
    assert_eq!(told.last().unwrap()["params"]["turnId"], turn.as_str());
    let deltas = told.iter().filter(|it| it["method"] == "item.delta");
    let said: String = deltas
        .filter(|it| it["params"]["reasoning"] != true)
        .filter_map(|it| it["params"]["delta"].as_str())
        .collect();
    assert_eq!(said, "Here it is.");
    let history = thread_events(&mut agent, thread);
    for name in ["thread.created", "turn.started", "turn.completed"] {
        assert_eq!(with_notification(&history, name).len(), 1, "{name}");
    }
    let (status, ..) = agent.end();
    assert_eq!(status.code(), Some(0));

    let root = world.harness();
    let folder = root.join("threads").join(thread);
    for dir in [&root, &root.join("threads"), &folder] {
        assert_eq!(file_mode(dir), 0o700, "{}", dir.display());
    }
    for file in ["meta.json", "events.jsonl"] {
        assert_eq!(file_mode(&folder.join(file)), 0o600, "{file}");
    }
    assert_eq!(fs::read_to_string(root.join(".gitignore")).unwrap(), "*\n");
    let meta: Value = serde_json::from_slice(&fs::read(folder.join("meta.json")).unwrap()).unwrap();
    assert_eq!(meta["threadId"], thread);
    assert_eq!(meta["title"], "Try");
    // As the end of the turn stored it.
    let turn = &told.last().unwrap()["params"]["turn"];
    let (created, updated) = (&meta["time"]["created"], &meta["time"]["updated"]);
    assert_eq!(updated, &turn["time"]["completed"]);
    assert_eq!(created, &made["result"]["thread"]["time"]["created"]);
    assert!(!world.state().exists(), "nothing was decided for good");

    let root = root.to_str().unwrap();
    let list = world.command("sessions", &["list", "--sessions-dir", root]);
    let listed = run_with_input(&mut { list }, "");
    let listed = String::from_utf8(listed.stdout).unwrap();
    assert!(listed.contains(thread), "{listed}");
    let doctor = run_with_input(&mut world.command("doctor", &["--sessions-dir", root]), "");
    let doctor = String::from_utf8(doctor.stdout).unwrap();
    let sessions = doctor.lines().find(|line| line.contains("sessions"));
    assert!(sessions.unwrap().trim_end().ends_with('1'), "{doctor}");
}

/// Returns the output of a call as the client has it: the appended deltas of its item, and the output at its end.
fn call_output<'a>(told: impl Iterator<Item = &'a Value>) -> (String, Value) {
    let (mut appended, mut end) = (String::new(), Value::Null);
    for params in told.filter(|params| params["itemId"].is_string()) {
        if params["type"] == "tool_log" {
            appended.push_str(params["delta"].as_str().unwrap_or_default());
        } else if params["type"] == "tool_exec" {
            end = params["data"]["output"].clone();
        }
    }
    (appended, end)
}

/// The command continues once the client has seen its first line, so both parts arrive in separate deltas.
#[test]
fn appended_deltas_equal_the_output_of_a_command() {
    let command = "echo '# `one`'; while [ ! -e go ]; do sleep 0.01; done; printf 'two\\n\\nthree'";
    let steps = format!("  - steps:\n      - run: {{command: {command:?}}}\n");
    let world = World::new();
    let scripted = world.script_args(&steps);
    let run = format!("/run {command}");
    for (engine, prompt) in [(as_strs(&scripted), "go"), (Vec::new(), run.as_str())] {
        let mut agent = world.start_threads(&engine);
        let thread = create(&mut agent);
        start(&mut agent, &thread, prompt);
        let mut told = read_until(&mut agent, "approval.requested");
        let request = told.last().unwrap()["params"]["requestId"].clone();
        agent.send(
            "approval.respond",
            json!({"requestId": request, "decision": "once"}),
        );
        while told.last().unwrap()["params"]["delta"] != "# `one`\n" {
            told.push(agent.next());
        }
        fs::write(world.work().join("go"), "").unwrap();
        told.extend(read_until(&mut agent, "turn.completed"));
        let whole = "# `one`\ntwo\n\nthree";
        let live = call_output(told.iter().map(|message| &message["params"]));
        assert_eq!(live, (whole.to_owned(), json!(whole)), "{prompt}");
        let history = thread_events(&mut agent, &thread);
        assert_eq!(call_output(history.iter()), live, "{prompt}");
        fs::remove_file(world.work().join("go")).unwrap();
    }
}

#[test]
fn killed_turn_is_recovered_as_an_error_with_its_history() {
    let world = World::new();
    let engine = world.script_args("  - steps: [{say: under way}, {await_cancel: {}}]\n");
    let engine = as_strs(&engine);
    let mut agent = world.start_threads(&engine);
    let thread = create(&mut agent);
    let turn = start(&mut agent, &thread, "go");
    read_until(&mut agent, "item.delta");
    let pid = Pid::from_raw(agent.pid().try_into().unwrap()).unwrap();
    kill_process(pid, Signal::KILL).unwrap();
    assert!(!agent.wait_for_exit().success());

    let mut again = world.start_threads(&engine);
    let history = thread_events(&mut again, &thread);
    let ends = with_notification(&history, "turn.error");
    let [end] = ends.as_slice() else {
        panic!("one end: {history:#?}");
    };
    assert_eq!(end["turnId"], turn.as_str());
    assert_eq!(end["status"], "error");
    assert!(end["error"].is_string());
    let text = serde_json::to_string(&history).unwrap();
    assert!(text.contains("under way"), "{history:#?}");
    let open = with_notification(&history, "item.started").len();
    assert_eq!(with_notification(&history, "item.completed").len(), open);
    // The thread can continue.
    start(&mut again, &thread, "once more");
    read_until(&mut again, "item.delta");
    assert_eq!(
        thread_events(&mut again, &thread)[..history.len()],
        history[..]
    );
    let cancel = json!({"threadId": thread});
    let end = request_and_wait(&mut again, "turn.cancel", cancel, "turn.error");
    assert_eq!(end["status"], "cancelled");
}

#[test]
fn threads_and_acp_sessions_share_their_format() {
    let world = World::new();
    let engine = world.script_args("  - steps: [{say: told once}]\n");
    let engine = as_strs(&engine);
    let mut agent = world.start_threads(&engine);
    let thread = create(&mut agent);
    start(&mut agent, &thread, "tell");
    read_until(&mut agent, "turn.completed");
    agent.end();

    let harness = world.harness();
    let harness = ["--sessions-dir", harness.to_str().unwrap()];
    let mut editor = world.start_acp(&[&engine[..], &harness].concat());
    let load = json!({"sessionId": thread, "cwd": world.work(), "mcpServers": []});
    editor.request("session/load", load);
    assert_eq!(editor.agent_text(), "told once");
    let id = editor.prompt(&thread, "again");
    assert_eq!(editor.read_answer(id)["result"]["stopReason"], "end_turn");
    editor.end();
    let mut agent = world.start_threads(&engine);
    let history = thread_events(&mut agent, &thread);
    assert_eq!(with_notification(&history, "turn.completed").len(), 2);
    agent.end();

    let mut editor = world.start_acp(&engine);
    let new = json!({"cwd": world.work(), "mcpServers": []});
    let new = editor.request("session/new", new);
    let session = new["sessionId"].as_str().unwrap().to_owned();
    let id = editor.prompt(&session, "tell");
    editor.read_answer(id);
    editor.end();
    let state = world.state();
    let state = ["--sessions-dir", state.to_str().unwrap()];
    let mut agent = world.start_threads(&[&engine[..], &state].concat());
    let listed = agent.request("thread.list", json!({}));
    let [only] = listed["threads"].as_array().unwrap().as_slice() else {
        panic!("one thread: {listed}");
    };
    assert_eq!(only["threadId"], session.as_str());
    let history = thread_events(&mut agent, &session);
    assert_eq!(with_notification(&history, "turn.completed").len(), 1);
    assert!(
        serde_json::to_string(&history)
            .unwrap()
            .contains("told once")
    );
}

#[test]
fn running_turn_is_cancelled_at_the_end_of_input() {
    let world = World::new();
    let mut agent = world.start_threads(&[]);
    let thread = create(&mut agent);
    let turn = start(&mut agent, &thread, "/run sleep 600");
    read_until(&mut agent, "approval.requested");
    agent.close_stdin();
    let end = read_until(&mut agent, "turn.error").pop().unwrap();
    assert_eq!(end["params"]["turnId"], turn.as_str(), "{end}");
    assert_eq!(end["params"]["status"], "cancelled", "{end}");
    assert_eq!(agent.wait_for_exit().code(), Some(0));
}

#[test]
fn end_leaves_no_child_processes() {
    for signal in [Some(Signal::TERM), None] {
        let world = World::new();
        let mut agent = world.start_threads(&[]);
        let thread = create(&mut agent);
        let run = "/run echo $$ > pid.tmp; mv pid.tmp pid; exec sleep 600";
        start(&mut agent, &thread, run);
        let asked = read_until(&mut agent, "approval.requested");
        let request = &asked.last().unwrap()["params"]["requestId"];
        let answer = json!({"requestId": request, "decision": "once"});
        agent.request("approval.respond", answer);
        let child = read_pid(&world.work().join("pid"), agent.pid());
        assert!(is_alive(child));
        match signal {
            Some(signal) => {
                let pid = Pid::from_raw(agent.pid().try_into().unwrap()).unwrap();
                kill_process(pid, signal).unwrap();
            }
            None => agent.close_stdin(),
        }
        assert_eq!(agent.wait_for_exit().code(), Some(0), "{signal:?}");
        for _ in 0..500 {
            if !is_alive(child) {
                break;
            }
            thread::sleep(Duration::from_millis(10));
        }
        assert!(!is_alive(child), "{signal:?}");
    }
}

/// Reads the id that a command of `server` wrote, which is that of its sandbox.
fn read_pid(file: &Path, server: u32) -> Pid {
    for _ in 0..3000 {
        if let Ok(text) = fs::read_to_string(file) {
            let inner = text.trim().parse().unwrap();
            let outer = harn_testkit::outer_pid(server, inner);
            return Pid::from_raw(outer.try_into().unwrap()).unwrap();
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("the command did not start");
}

fn is_alive(pid: Pid) -> bool {
    // A killed process that its new parent has not waited for still exists as a zombie.
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    let zombie = stat.is_ok_and(|stat| {
        let state = stat.rsplit(") ").next();
        state.is_some_and(|state| state.starts_with('Z'))
    });
    test_kill_process(pid).is_ok() && !zombie
}

/// A call that only a grant allows, and one that only the mode `auto` allows.
const GRANTED: &str = "/run echo hello; touch was-here";
const AUTOMATIC: &str = "/write was-here hello";

/// Creates a session that allows a command for the session and has the mode `auto`, in our own state directory;
/// returns its id.
fn create_permissive_session(world: &World) -> String {
    let mut agent = world.start_acp(&[]);
    agent.answer = "allow_session";
    let new = json!({"cwd": world.work(), "mcpServers": []});
    let new = agent.request("session/new", new);
    let session = new["sessionId"].as_str().unwrap().to_owned();
    let id = agent.prompt(&session, GRANTED);
    agent.read_answer(id);
    assert_eq!(agent.asked.len(), 1, "{:?}", agent.updates);
    let auto = json!({"sessionId": session, "modeId": "auto"});
    agent.request("session/set_mode", auto);
    agent.end();
    session
}

/// Opens a session with this method; returns how many of the two calls ask for permission.
fn count_questions(world: &World, method: &str, session: &str, more: &[&str]) -> usize {
    let mut agent = world.start_acp(more);
    agent.answer = "reject_once";
    let open = json!({"sessionId": session, "cwd": world.work(), "mcpServers": []});
    let opened = agent.request(method, open);
    let session = opened["sessionId"].as_str().unwrap_or(session).to_owned();
    for prompt in [GRANTED, AUTOMATIC] {
        let id = agent.prompt(&session, prompt);
        agent.read_answer(id);
    }
    agent.asked.len()
}

/// Moves such a session to the workspace, as a repository would contain it.
fn create_foreign_session(world: &World) -> String {
    let session = create_permissive_session(world);
    let asked = count_questions(world, "session/load", &session, &[]);
    assert_eq!(asked, 0, "our own is believed");
    fs::create_dir(world.harness()).unwrap();
    let (ours, theirs) = (world.state(), world.harness());
    fs::rename(ours.join("threads"), theirs.join("threads")).unwrap();
    fs::remove_file(world.work().join("was-here")).unwrap();
    session
}

#[test]
fn foreign_journal_grants_nothing_to_an_editor() {
    for method in ["session/fork", "session/resume", "session/load"] {
        let world = World::new();
        let session = create_foreign_session(&world);
        let harness = world.harness();
        let harness = ["--sessions-dir", harness.to_str().unwrap()];
        let asked = count_questions(&world, method, &session, &harness);
        assert_eq!(asked, 2, "{method}");
        assert!(!world.work().join("was-here").exists(), "{method}");
    }
}

#[test]
fn foreign_journal_grants_nothing_to_a_thread() {
    let world = World::new();
    let session = create_foreign_session(&world);
    let mut agent = world.start_threads(&[]);
    thread_events(&mut agent, &session);
    for prompt in [GRANTED, AUTOMATIC] {
        start(&mut agent, &session, prompt);
        let asked = read_until(&mut agent, "approval.requested");
        let request = &asked.last().unwrap()["params"]["requestId"];
        let answer = json!({"requestId": request, "decision": "reject"});
        request_and_wait(&mut agent, "approval.respond", answer, "turn.completed");
    }
    agent.end();
    assert!(!world.work().join("was-here").exists());
}

#[test]
fn tools_cannot_write_to_stored_threads() {
    let world = World::new();
    let mut agent = world.start_threads(&["--mode", "auto"]);
    let thread = create(&mut agent);
    let place = format!(".harness/threads/{thread}/meta.json");
    start(&mut agent, &thread, &format!("/write {place} {{}}"));
    read_until(&mut agent, "turn.completed");
    let history = serde_json::to_string(&thread_events(&mut agent, &thread)).unwrap();
    assert!(history.contains("\"error\""), "{history}");
    let meta = fs::read_to_string(world.work().join(place)).unwrap();
    assert!(meta.contains(&thread), "{meta}");
}
