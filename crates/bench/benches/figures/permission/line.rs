//! Shell lines of 2 KiB, parsed and judged under a hundred rules. The floor splits the line at its spaces; the
//! peer is the `bash` grammar of editors, which only parses it. For the slowest line, the time to parse is a
//! separate figure.

use std::hint::black_box;

use anyhow::{Context, Result, ensure};
use harn_model::{PolicyAction, ToolKind};
use harn_policy::{Policy, PolicyCall, SessionMode, shell};
use serde_json::Value;
use tree_sitter::Parser;

use super::{decision, time_alternating};
use crate::{
    setup::Setup,
    table::{Bar, Figure, Table, Unit},
};

const BYTES: usize = 2048;
const MOST: f64 = 200e-6;

pub(super) fn measure(setup: &Setup, table: &mut Table) -> Result<()> {
    let policy = decision::policy(100).compile()?;
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into())?;
    let mut worst = [0.0; 3];
    for (name, line) in lines() {
        ensure!(line.len() == BYTES, "{name}: {} bytes", line.len());
        // The line must be parsed, with commands, so that the figure measures what its name states.
        let read = shell::read(&line);
        ensure!(!read.commands.is_empty(), "{name}: nothing was read");
        parser.parse(&line, None).context("the grammar gave up")?;
        let [floor, grammar, reading, ours] = time_alternating(
            setup.judgements,
            [
                &mut || split(&line),
                &mut || drop(black_box(parser.parse(black_box(&line), None))),
                &mut || drop(black_box(shell::read(black_box(&line)))),
                &mut || {
                    black_box(judge(&policy, &line));
                },
            ],
        );
        table.add(&Figure {
            name: format!("2 KiB of {name}"),
            unit: Unit::Micros,
            value: ours,
            against: Some(("grammar", grammar)),
            bar: Bar::AtMost(MOST),
        });
        if ours > worst[0] {
            worst = [ours, reading, floor];
        }
    }
    let [value, reading, floor] = worst;
    for against in [("reading", reading), ("split", floor)] {
        table.add(&Figure {
            name: "the slowest of these".to_owned(),
            unit: Unit::Micros,
            value,
            against: Some(against),
            bar: Bar::Told,
        });
    }
    Ok(())
}

fn split(line: &str) {
    let words: Vec<String> = black_box(line).split(' ').map(str::to_owned).collect();
    black_box(words);
}

fn judge(policy: &Policy, text: &str) -> PolicyAction {
    let line = shell::read(black_box(text));
    let call = PolicyCall {
        tool: "run",
        kind: Some(ToolKind::Execute),
        side_effect: None,
        capabilities: &[],
        arguments: &Value::Null,
        paths: &[],
        command: Some((text, &line)),
        findings: None,
        workspace: "/w",
        mode: SessionMode::Auto,
        agent: None,
        grants: &[],
    };
    policy.decide(&call).action
}

/// Returns lines of every kind, all of the same length.
fn lines() -> Vec<(&'static str, String)> {
    let nested = |open: &str, inner: &str, close: &str, depth: usize| {
        format!("{}{inner}{}", open.repeat(depth), close.repeat(depth))
    };
    vec![
        ("a pipeline", fill("cat a.txt", " | grep -v pattern")),
        (
            "a list of commands",
            fill("ls", " && echo done; ls -la src"),
        ),
        ("quotes", fill("echo", r#" 'it is' "so \"be\"" a\ b"#)),
        ("one program's words", fill("echo", " a")),
        ("variables", fill("echo", " \"$HOME/x\" ${y}")),
        ("substitutions in a row", fill("echo", " $(date +%s)")),
        (
            "substitutions in each other",
            fill(&nested("echo $(", "date", ")", 20), "; echo $(echo $(ls))"),
        ),
        (
            "shells in shells",
            fill("ls", "; sh -c 'sh -c \"ls -la | wc -l\"'"),
        ),
        (
            "wrappers",
            fill("ls", "; env -i nice -n 5 timeout 5 ls -la"),
        ),
        (
            "redirections",
            fill("ls", "; sort < in.txt >> out.txt 2>&1"),
        ),
        (
            "loops and branches",
            fill("ls", "; for f in a b; do if [ -f x ]; then cat x; fi; done"),
        ),
        (
            "a here-document",
            format!("cat <<'END'\n{}END", "words of it\n".repeat(165)),
        ),
        ("what no shell would read", fill("(", "( a; { b")),
    ]
    .into_iter()
    .map(|(name, line)| (name, pad(line)))
    .collect()
}

/// Returns `first` and as many of `part` as fit.
fn fill(first: &str, part: &str) -> String {
    let mut line = first.to_owned();
    while line.len() + part.len() <= BYTES {
        line.push_str(part);
    }
    line
}

/// Pads the line to the same length with a comment, which is parsed, too.
fn pad(mut line: String) -> String {
    if line.len() < BYTES {
        line.push_str(&format!("{:#<1$}", "\n", BYTES - line.len()));
    }
    line
}
