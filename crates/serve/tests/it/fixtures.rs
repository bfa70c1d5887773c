//! `harn-serve fixtures` and `harn-serve schema`, as an author of a host uses them.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use expect_test::expect;
use harn_conformance::ConformanceRule;

fn harn_serve(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_harn-serve"));
    command.args(args).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn repository_path(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path)
}

/// Returns the file names of the fixtures, sorted.
fn fixture_files() -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(repository_path("fixtures/acp"))
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".json") || name.ends_with(".jsonl"))
        .collect();
    names.sort_unstable();
    names
}

#[test]
fn every_fixture_is_embedded() {
    let embedded = harn_conformance::fixtures();
    let embedded: Vec<_> = embedded.iter().map(|fixture| fixture.name).collect();
    let files = fixture_files();
    let stems = files.iter().filter_map(|file| file.rsplit_once('.'));
    let mut stems: Vec<_> = stems.map(|(stem, _)| stem).collect();
    stems.sort_unstable();
    // Cargo does not notice a new file in a folder.
    let repair = "touch crates/conformance/src/catalogue.rs";
    assert_eq!(embedded, stems, "the program was built before; {repair}");
}

#[test]
fn fixtures_are_listed_and_shown() {
    let list = harn_serve(&["fixtures", "list"]);
    assert!(list.status.success());
    let list = stdout(&list);
    for file in fixture_files() {
        let (name, _) = file.rsplit_once('.').unwrap();
        let row = list
            .lines()
            .find(|line| line.split_whitespace().next() == Some(name));
        let about = row
            .and_then(|row| row.strip_prefix(name))
            .unwrap_or_default();
        assert!(!about.trim().is_empty(), "{name}: {row:?}");
        let shown = harn_serve(&["fixtures", "show", &file]);
        let pinned = fs::read(repository_path("fixtures/acp").join(&file)).unwrap();
        assert_eq!(shown.stdout, pinned, "{name}");
    }
    let unknown = harn_serve(&["fixtures", "show", "permision-allowed"]);
    assert_eq!(unknown.status.code(), Some(2));
    let said = stderr(&unknown);
    assert!(said.contains("did you mean `permission-allowed`"), "{said}");
}

/// Some conversations include misbehaving clients; the agent never misbehaves.
#[test]
fn the_agent_breaks_no_rule_in_any_fixture() {
    let folder = repository_path("fixtures/acp");
    let mut recordings = fixture_files();
    // It contains copies of single messages and is no recording.
    recordings.retain(|file| file != "session_update_extensions.json");
    let mut command = Command::new(env!("CARGO_BIN_EXE_harn-serve"));
    let verified = command
        .args(["fixtures", "verify"])
        .args(&recordings)
        .current_dir(&folder)
        .output()
        .unwrap();
    assert_eq!(stderr(&verified), "");
    let out = stdout(&verified);
    let is_summary = |line: &&str| line.ends_with(" findings") || line.ends_with(" 1 finding");
    assert_eq!(
        out.lines().filter(is_summary).count(),
        recordings.len(),
        "{out}"
    );
    let findings = out.lines().filter(|line| !is_summary(line));
    let findings: String = findings.map(|line| format!("{line}\n")).collect();
    expect![[r#"
        envelope.jsonl:3: unknown-method: unknown method `session/teleport` (sent by the client)
        envelope.jsonl:7: unknown-method: unknown method `session/teleported` (sent by the client)
        envelope.jsonl:15: wrong-shape: `params` lacks `mcpServers` (sent by the client)
        envelope.jsonl:18: not-a-message: an `error` without `id` (sent by the client)
        envelope.jsonl:19: answer-without-request: no request has the id `"never-asked"` (sent by the client)
        envelope.jsonl:20: answer-without-request: no request has the id `4711` (sent by the client)
        envelope.jsonl:24: wrong-shape: `params` lacks `mcpServers` (sent by the client)
        envelope.jsonl:24: wrong-shape: `params/cwd` should be string (sent by the client)
        envelope.jsonl:26: wrong-shape: `params` lacks `sessionId`, `prompt` (sent by the client)
        framing.jsonl:3: not-json: the line is not JSON (sent by the client)
        framing.jsonl:7: not-json: the line is not JSON (sent by the client)
        framing.jsonl:9: not-json: the line is not UTF-8 (sent by the client)
        framing.jsonl:11: not-json: the line is not JSON, or was too long to be read (sent by the client)
        framing.jsonl:13: not-a-message: batches are not supported; send one message per line (sent by the client)
        framing.jsonl:15: not-a-message: batches are not supported; send one message per line (sent by the client)
        framing.jsonl:17: not-a-message: the line is not an object (sent by the client)
        framing.jsonl:19: not-a-message: `jsonrpc` is not "2.0" (sent by the client)
        handshake-other-version.jsonl:1: unknown-member: `params/clientCapabilities` must not have `telepathy` (sent by the client)
        live-unread.jsonl:7: wrong-extension: `params/clientId` does not fit the schema's `pattern` (sent by the client)
        live-unread.jsonl:11: wrong-extension: `params/mode` is not one of the allowed values or variants (sent by the client)
        live-unread.jsonl:13: wrong-extension: `params/heartbeatSeconds` does not fit the schema's `minimum` (sent by the client)
        live-unread.jsonl:17: wrong-extension: `params/metadata` should be null or object (sent by the client)
        mcp-refused.jsonl:3: wrong-shape: `params/mcpServers` should be array (sent by the client)
        mcp-refused.jsonl:9: wrong-shape: `params/mcpServers/0/headers/0` should be object (sent by the client)
        mcp-refused.jsonl:11: wrong-shape: `params/mcpServers/0` lacks `command`, `args`, `env` (sent by the client)
        mcp-refused.jsonl:13: wrong-shape: `params/mcpServers/0` is not one of the allowed values or variants (sent by the client)
        mcp.jsonl:16: wrong-shape: `params` lacks `mcpServers` (sent by the client)
        mcp.jsonl:19: wrong-shape: `params` lacks `mcpServers` (sent by the client)
        permission-malformed.jsonl:9: wrong-shape: `result/outcome` is not one of the allowed values or variants (sent by the client)
        prompt-blocks.jsonl:14: wrong-shape: `params/prompt/0` is not one of the allowed values or variants (sent by the client)
        steering-changed.jsonl:31: unknown-member: `params` must not have `content` (sent by the client)
        steering-invalid-reminders.jsonl:5: wrong-extension: `params/mode` is not one of the allowed values or variants (sent by the client)
        steering-invalid-reminders.jsonl:8: unknown-member: `params` must not have `urgency` (sent by the client)
        steering-invalid-reminders.jsonl:10: unknown-member: `params/reminder` must not have `ttlTurns` (sent by the client)
        steering-invalid-reminders.jsonl:12: wrong-extension: `params` lacks `reminder` (sent by the client)
        steering-invalid-reminders.jsonl:16: wrong-extension: `params` lacks `reminder` (sent by the client)
        steering-invalid-reminders.jsonl:18: wrong-extension: `params` lacks `reminder` (sent by the client)
        steering-invalid-reminders.jsonl:20: wrong-extension: `params` lacks `reminder` (sent by the client)
        steering-invalid-reminders.jsonl:22: wrong-extension: `params` lacks `reminder` (sent by the client)
        steering-owners.jsonl:11: unknown-member: `params` must not have `content` (sent by the client)
        steering-owners.jsonl:14: wrong-extension: `params/content` does not fit the schema's `minItems` (sent by the client)
        steering-plain.jsonl:23: wrong-extension: `params/_meta/steering/idleBehavior` is not one of the allowed values or variants (sent by the client)
        steering-plain.jsonl:25: wrong-extension: `params/prompt` does not fit the schema's `minItems` (sent by the client)
        steering-plain.jsonl:27: wrong-extension: `params/prompt` should be array (sent by the client)
        steering-plain.jsonl:29: wrong-extension: `params` lacks `prompt` (sent by the client)
        steering-plain.jsonl:31: wrong-extension: `params` lacks `sessionId` (sent by the client)
        steering-refusals.jsonl:5: wrong-extension: `params` lacks `sessionId` (sent by the client)
        steering-refusals.jsonl:8: wrong-extension: `params/sessionId` should be string (sent by the client)
        steering-refusals.jsonl:10: wrong-extension: `params` lacks `mode` (sent by the client)
        steering-refusals.jsonl:12: wrong-extension: `params/mode` is not one of the allowed values or variants (sent by the client)
        steering-refusals.jsonl:14: wrong-extension: `params` lacks `content` (sent by the client)
        steering-refusals.jsonl:18: wrong-extension: `params/content` does not fit the schema's `minItems` (sent by the client)
        steering-refusals.jsonl:22: wrong-extension: `params/content` is not one of the allowed values or variants (sent by the client)
        steering-refusals.jsonl:24: wrong-extension: `params/_meta/harn/actor` is not one of the allowed values or variants (sent by the client)
        steering-refusals.jsonl:26: wrong-extension: `params` lacks `messageId` (sent by the client)
        steering-refusals.jsonl:28: wrong-extension: `params/messageId` does not fit the schema's `pattern` (sent by the client)
        steering-refusals.jsonl:30: wrong-extension: `params/messageId` should be string (sent by the client)
        steering-refusals.jsonl:32: wrong-extension: `params` lacks `messageId` (sent by the client)
        steering-refusals.jsonl:34: wrong-extension: `params/messageId` does not fit the schema's `pattern` (sent by the client)
        steering-refusals.jsonl:36: wrong-extension: `params` lacks `content` (sent by the client)
        steering-refusals.jsonl:40: wrong-extension: `params` lacks `sessionId` (sent by the client)
        steering-refusals.jsonl:42: wrong-extension: `params/sessionId` should be string (sent by the client)
        steering-refusals.jsonl:44: wrong-extension: `params` lacks `reminderId` (sent by the client)
        steering-refusals.jsonl:46: wrong-extension: `params/reminderId` does not fit the schema's `pattern` (sent by the client)
        steering-refusals.jsonl:48: wrong-extension: `params/sessionId` should be null or string (sent by the client)
        steering-refusals.jsonl:50: wrong-extension: `params` lacks `sessionId` (sent by the client)
        steering-refusals.jsonl:52: wrong-extension: `params/sessionId` does not fit the schema's `pattern` (sent by the client)
        steering-refusals.jsonl:54: wrong-extension: `params/sessionId` should be null or string (sent by the client)
        steering-refusals.jsonl:56: unknown-member: `params` must not have `messageId`, `reminderId`, `body` (sent by the client)
        steering-refusals.jsonl:58: unknown-member: `params` must not have `mode`, `content`, `reminderId`, `body` (sent by the client)
        steering-refusals.jsonl:60: unknown-member: `params` must not have `mode`, `reminderId`, `body` (sent by the client)
        steering-refusals.jsonl:62: unknown-member: `params` must not have `mode`, `content`, `messageId`, `reminderId`, 1 more (sent by the client)
        steering-refusals.jsonl:64: unknown-member: `params` must not have `content`, `messageId`, `reminderId` (sent by the client)
        steering-refusals.jsonl:66: unknown-member: `params` must not have `mode`, `content`, `messageId`, `body` (sent by the client)
        steering-refusals.jsonl:68: unknown-member: `params` must not have `mode`, `content`, `messageId`, `reminderId`, 1 more (sent by the client)
        steering-refusals.jsonl:70: unknown-member: `params` must not have `mode`, `content`, `messageId`, `reminderId`, 1 more (sent by the client)
        steering-refusals.jsonl:77: unknown-member: `params` must not have `body` (sent by the client)
        steering-reminders.jsonl:22: wrong-extension: `params` lacks `reminder` (sent by the client)
        steering-reminders.jsonl:25: wrong-extension: `params` lacks `reminderId` (sent by the client)
        steering-reminders.jsonl:28: wrong-extension: `params` lacks `reminderId` (sent by the client)
    "#]]
    .assert_eq(&findings);
    for line in findings.lines() {
        assert!(line.ends_with(" (sent by the client)"), "{line}");
    }
    assert_eq!(verified.status.code(), Some(1));
}

/// Runs verify on a text; returns the exit code and the output.
fn verify(text: &[u8], args: &[&str]) -> (i32, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_harn-serve"))
        .args(["fixtures", "verify", "-"])
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(text).unwrap();
    let output = child.wait_with_output().unwrap();
    (output.status.code().unwrap(), stdout(&output))
}

const LOST: &str = r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"completed"}}}"#;

#[test]
fn findings_name_the_line_and_the_rule() {
    let (code, said) = verify(format!("\n{LOST}\r\n").as_bytes(), &[]);
    assert_eq!(code, 1);
    assert_eq!(
        said,
        "-:2: update-before-call: tool call `c` was not announced\n-: 1 message, 1 finding\n"
    );
    let (code, said) = verify(LOST.as_bytes(), &["--json"]);
    assert_eq!(code, 1);
    let object: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!(
        object,
        serde_json::json!({
            "file": "-", "line": 1, "to": "client", "rule": "update-before-call",
            "message": "tool call `c` was not announced",
        })
    );
    assert_eq!(
        verify(b"", &[]),
        (0, "-: 0 messages, no findings\n".to_owned())
    );
}

#[test]
fn bad_input_is_a_finding() {
    let (code, said) = verify(b"\xff\xfe\nhello?\n[[[[\n", &[]);
    assert_eq!(code, 1);
    assert_eq!(
        said.lines()
            .filter(|line| line.contains(": not-json: "))
            .count(),
        3,
        "{said}"
    );

    let mut long = vec![b'x'; 64 * 1024 * 1024 + 1];
    long.extend_from_slice(format!("\n{LOST}\n").as_bytes());
    let (_, said) = verify(&long, &[]);
    expect![[r"
        -:1: line-too-long: the line is longer than 64 MiB
        -:2: update-before-call: tool call `c` was not announced
        -: 2 messages, 2 findings
    "]]
    .assert_eq(&said);
}

#[test]
fn files_that_cannot_be_read_do_not_hide_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let good = folder.path().join("good.jsonl");
    fs::copy(repository_path("fixtures/acp/list-pages.jsonl"), &good).unwrap();
    let nowhere = folder.path().join("nowhere.jsonl");
    let paths = [&nowhere, &good].map(|path| path.to_str().unwrap());
    let verified = harn_serve(&["fixtures", "verify", paths[0], paths[1]]);
    assert_eq!(verified.status.code(), Some(2));
    assert!(stderr(&verified).contains(paths[0]));
    assert!(stdout(&verified).starts_with(paths[1]));
}

/// A pinned message is checked alone: only its shape can be wrong.
#[test]
fn messages_in_a_json_file_are_checked_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("one.json");
    let message: serde_json::Value = serde_json::from_str(LOST).unwrap();
    let check = |text: String| {
        fs::write(&path, text).unwrap();
        let verified = harn_serve(&["fixtures", "verify", path.to_str().unwrap()]);
        stdout(&verified).replace(folder.path().to_str().unwrap(), "")
    };
    let pretty = serde_json::to_string_pretty(&message).unwrap();
    assert_eq!(check(pretty), "/one.json: 1 message, no findings\n");
    let several = serde_json::to_string(&vec![&message; 2]).unwrap();
    assert_eq!(check(several), "/one.json: 2 messages, no findings\n");
    let lines = format!("{LOST}\n{LOST}\n");
    assert!(check(lines).contains("/one.json:1: update-before-call"));
    let wrong = LOST.replace("completed", "finished");
    assert!(check(wrong).contains("/one.json:1: wrong-shape: `params/update/status`"));
}

/// Returns the messages of a transcript to these sides, as `tee` would have recorded them.
fn bare_messages(file: &str, sides: &[&str]) -> String {
    let text = fs::read_to_string(repository_path("fixtures/acp").join(file)).unwrap();
    let entries = text
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let entries = entries.filter(|entry| entry.get("message").is_some());
    let entries = entries.filter(|entry| sides.iter().any(|side| entry["to"] == *side));
    entries
        .map(|entry| format!("{}\n", entry["message"]))
        .collect()
}

#[test]
fn bare_messages_of_both_sides_are_verified() {
    for file in [
        "turn",
        "permission-allowed",
        "host",
        "settings",
        "tour-meta",
    ] {
        let file = format!("{file}.jsonl");
        for sides in [&["agent", "client"][..], &["agent"]] {
            let (code, said) = verify(bare_messages(&file, sides).as_bytes(), &[]);
            assert_eq!(code, 0, "{file} to {sides:?}: {said}");
        }
    }
}

#[test]
fn bare_messages_of_the_agent_break_no_rule() {
    for file in fixture_files()
        .iter()
        .filter(|file| file.ends_with(".jsonl"))
    {
        // A replay restarts the event ids. Only the client's own messages show that it requested one.
        let text = fs::read_to_string(repository_path("fixtures/acp").join(file)).unwrap();
        let replays = text.contains(r#""method":"session/load""#);
        let sides: &[&str] = if replays {
            &["agent", "client"]
        } else {
            &["client"]
        };
        let (_, said) = verify(bare_messages(file, sides).as_bytes(), &[]);
        let of_the_agent =
            |line: &&str| !line.starts_with("-: ") && !line.ends_with("(sent by the client)");
        let faults: Vec<_> = said.lines().filter(of_the_agent).collect();
        assert_eq!(faults, [""; 0], "{file}");
    }
}

#[test]
fn every_rule_is_listed_and_explained() {
    let rules = stdout(&harn_serve(&["fixtures", "rules"]));
    let page = fs::read_to_string(repository_path("docs/kit.md")).unwrap();
    for rule in ConformanceRule::ALL {
        assert!(rules.contains(rule.sentence()), "{rule}");
        let row = format!("| `{rule}` | {} |", rule.sentence());
        assert!(page.contains(&row), "docs/kit.md lacks this row:\n{row}");
    }
}

#[test]
fn schemas_are_written_as_they_are_published() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("a/b");
    let written = harn_serve(&["schema", "--out", out.to_str().unwrap()]);
    assert!(written.status.success());
    let listed = stdout(&harn_serve(&["schema"]));
    let mut count = 0;
    for file in fs::read_dir(&out).unwrap() {
        let path = file.unwrap().path();
        let file = path.file_name().unwrap().to_str().unwrap();
        let published = fs::read(repository_path("spec/schemas").join(file)).unwrap();
        assert_eq!(fs::read(&path).unwrap(), published, "{file}");
        assert!(stdout(&written).contains(&format!("wrote {}\n", path.display())));
        let name = file.strip_suffix(".schema.json").unwrap();
        assert!(listed.contains(&format!("\n{name} ")), "{name}: {listed}");
        assert_eq!(harn_serve(&["schema", name]).stdout, published);
        assert_eq!(harn_serve(&["schema", file]).stdout, published);
        count += 1;
    }
    let all = fs::read_dir(repository_path("spec/schemas")).unwrap();
    let all = all.filter(|file| file.as_ref().unwrap().path().extension().unwrap() == "json");
    assert_eq!(count, all.count());
    let unknown = harn_serve(&["schema", "agent-events"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(stderr(&unknown).contains("did you mean `agent-event`"));
}
