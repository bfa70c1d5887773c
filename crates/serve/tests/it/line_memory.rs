//! The memory that a line costs which is no message.

use std::{fs, process::Command};

use serde_json::Value;

use crate::client::Agent;

const MIB: usize = 1024 * 1024;
const LINE: usize = 16 * MIB;
/// For everything else that the process does meanwhile.
const SLACK: usize = 8 * MIB;

/// Returns the highest memory of a process so far.
fn peak(pid: u32) -> usize {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak = peak.unwrap().trim().trim_end_matches(" kB");
    peak.parse::<usize>().unwrap() * 1024
}

#[test]
fn line_that_is_no_message_costs_at_most_twice_its_length() {
    let long = |begin: &str, piece: &str, end: &str| {
        let pieces = (LINE - begin.len() - end.len()) / piece.len();
        format!("{begin}{}{end}", piece.repeat(pieces))
    };
    let lines = [
        long("", "x", ""),
        long("[", "1,", "1]"),
        long(
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":[",
            "[],",
            "1]}",
        ),
        long("{\"text\":\"", "x", "\"}"),
        long("", "[", ""),
    ];
    let state = tempfile::tempdir().unwrap();
    for protocol in ["acp", "threads"] {
        for line in &lines {
            let mut command = Command::new(env!("CARGO_BIN_EXE_harn-serve"));
            let state = state.path().join("state");
            command.arg(protocol).arg("--state-dir").arg(state);
            command.current_dir("/");
            let mut agent = Agent::start(&mut command);
            agent.write_line("{}");
            agent.next_line();
            let before = peak(agent.pid());
            agent.write_line(line);
            let answer: Value = serde_json::from_str(&agent.next_line()).unwrap();
            let cost = peak(agent.pid()) - before;
            let begin = &line[..8];
            assert!(
                answer["error"]["code"].is_i64(),
                "{protocol}, {begin}…: {answer}"
            );
            assert!(
                cost <= 2 * LINE + SLACK,
                "{protocol}, {begin}…: {} MiB",
                cost / MIB
            );
        }
    }
}
