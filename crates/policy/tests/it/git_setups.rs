//! The table of repositories in `fixtures/policy/git.jsonl`: what a workspace can bring along so that git runs a
//! program. Each is made with the real `git`, and mode `auto` decides about git in it. A line that runs without a
//! question must not run the planted program. `UPDATE_EXPECT=1` rewrites the expectations. Needs `git`.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
};

use expect_test::expect_file;
use harn_model::{PolicyAction, ToolKind};
use harn_policy::{
    CommandFindings, Policy, PolicyCall, SessionMode, SessionRoots, ToolApprovalPolicy, shell,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{path_tree::StdProbe, programs::skip_without, shell_table::fixture};

/// A repository of the table.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Setup {
    /// The lines that make it, in a new repository with one commit; `{base}` is the folder of the test, `{plant}` a
    /// program that leaves a trace.
    script: String,
    /// The line to run.
    line: String,
    #[serde(default)]
    decision: String,
    #[serde(default)]
    reason: String,
    /// The purpose of the case.
    why: String,
}

/// Lines that mode `auto` runs in a harmless repository.
const READING: &[&str] = &[
    "git status",
    "git ls-files -m -o --exclude-standard",
    "git rev-parse --all",
    "git --no-pager branch -a -vv",
    "git --no-pager diff --no-ext-diff --no-textconv",
    "git --no-pager log --no-ext-diff --no-textconv -p",
    "git --no-pager show --no-ext-diff --no-textconv HEAD",
    "git --no-pager blame --no-textconv a.txt",
];

const BEFORE: &str =
    "git init -q -b main . && printf 'a\\nb\\n' > a.txt && git add . && git commit -qm one\n";

#[test]
fn no_repository_runs_its_program_without_a_question() {
    if skip_without("git") {
        return;
    }
    let text = fs::read_to_string(fixture("git.jsonl")).unwrap();
    let setups: Vec<Setup> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let parts = setups.chunks(setups.len().div_ceil(2));
    let results: Vec<_> = thread::scope(|scope| {
        let threads =
            parts.map(|part| scope.spawn(move || part.iter().map(check).collect::<Vec<_>>()));
        let threads: Vec<_> = threads.collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap())
            .collect()
    });
    let lines = results
        .iter()
        .map(|(setup, _)| serde_json::to_string(setup).unwrap() + "\n");
    expect_file![fixture("git.jsonl")].assert_eq(&lines.collect::<String>());
    let asks = results
        .iter()
        .filter(|(setup, _)| setup.decision == "ask")
        .count();
    assert!(asks >= 20, "{asks} hostile repositories");
    // Otherwise they would prove nothing. Which of them run it depends on the version of git.
    let alive = results.iter().filter(|(_, ran)| *ran).count();
    assert!(alive >= 30, "{alive} of {asks} would run their program");
}

/// Makes a repository, and returns it with the decision, and whether its line runs the planted program.
fn check(setup: &Setup) -> (Setup, bool) {
    let ground = Ground::new();
    let built = ground.run(&format!("{BEFORE}{}", ground.expand(&setup.script)));
    assert!(built, "{:?}", setup.script);
    ground.was_run();
    for line in READING {
        if ground.decide(line).0 == PolicyAction::Allow {
            ground.run(line);
            assert!(!ground.was_run(), "{line} ran it after {:?}", setup.script);
        }
    }
    let line = ground.expand(&setup.line);
    let (action, reason) = ground.decide(&line);
    let decision = match action {
        PolicyAction::Allow => "allow",
        PolicyAction::Ask => "ask",
        PolicyAction::Deny => "deny",
    };
    ground.run(&line);
    let ran = ground.was_run();
    assert!(
        !ran || action != PolicyAction::Allow,
        "{line} ran it after {:?}",
        setup.script
    );
    let found = Setup {
        decision: decision.to_owned(),
        reason: reason.replace(ground.base.to_str().unwrap(), "{base}"),
        ..setup.clone()
    };
    (found, ran)
}

/// A folder with a workspace, a home and the planted program.
struct Ground {
    base: PathBuf,
    policy: Policy,
    _dir: tempfile::TempDir,
}

impl Ground {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        fs::create_dir(base.join("w")).unwrap();
        fs::create_dir(base.join("home")).unwrap();
        let plant = base.join("plant");
        let trace = base.join("RAN");
        // It passes its input on, as a filter does.
        fs::write(
            &plant,
            format!("#!/bin/sh\n: > '{}'\ncat 2>&-\nexit 0\n", trace.display()),
        )
        .unwrap();
        fs::set_permissions(&plant, fs::Permissions::from_mode(0o755)).unwrap();
        Self {
            base,
            policy: ToolApprovalPolicy::default().compile().unwrap(),
            _dir: dir,
        }
    }

    fn workspace(&self) -> PathBuf {
        self.base.join("w")
    }

    fn expand(&self, text: &str) -> String {
        let base = self.base.to_str().unwrap();
        text.replace("{plant}", &format!("{base}/plant"))
            .replace("{base}", base)
    }

    /// Runs a line in the workspace, and returns whether it succeeded.
    fn run(&self, line: &str) -> bool {
        let status = Command::new("timeout")
            .args(["10", "sh", "-eu", "-c", line])
            .current_dir(self.workspace())
            .env("HOME", self.base.join("home"))
            .env("XDG_CONFIG_HOME", self.base.join("home"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_AUTHOR_NAME", "a")
            .env("GIT_AUTHOR_EMAIL", "a@localhost")
            .env("GIT_COMMITTER_NAME", "a")
            .env("GIT_COMMITTER_EMAIL", "a@localhost")
            .env_remove("GIT_DIR")
            .env_remove("GIT_INDEX_FILE")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        status.unwrap().success()
    }

    /// Whether the planted program has run since the last time.
    fn was_run(&self) -> bool {
        fs::remove_file(self.base.join("RAN")).is_ok()
    }

    fn decide(&self, line: &str) -> (PolicyAction, String) {
        let workspace = self.workspace();
        let roots = SessionRoots::new(vec![workspace.clone()], Vec::new());
        let read = shell::read(line);
        let findings = CommandFindings::read(&roots, &[], &read, &StdProbe);
        let decision = self.policy.decide(&PolicyCall {
            tool: "run_command",
            kind: Some(ToolKind::Execute),
            side_effect: None,
            capabilities: &[],
            arguments: &Value::Null,
            paths: &[],
            command: Some((line, &read)),
            findings: Some(&findings),
            workspace: workspace.to_str().unwrap(),
            mode: SessionMode::Auto,
            agent: None,
            grants: &[],
        });
        (decision.action, decision.reason)
    }
}

/// Git's own parser finds no key in a configuration that the policy accepts, besides those that are harmless.
#[test]
fn git_reads_no_other_key_in_an_accepted_configuration() {
    if skip_without("git") {
        return;
    }
    let ground = Ground::new();
    assert!(ground.run(BEFORE));
    let config = ground.workspace().join(".git/config");
    let mut accepted = 0;
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut any = |most: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state >> 33).unwrap() % most
    };
    for _ in 0..30_000 {
        let text: String = (0..2 + any(10))
            .map(|_| PIECES[any(PIECES.len())])
            .collect();
        fs::write(&config, &text).unwrap();
        if ground.decide("git status").0 != PolicyAction::Allow {
            continue;
        }
        accepted += 1;
        if accepted > 300 {
            break;
        }
        let keys = list_keys(&config);
        assert!(
            !keys.to_lowercase().contains("fsmonitor"),
            "{text:?}: {keys}"
        );
    }
    assert!(accepted >= 100, "{accepted} configurations");
}

fn list_keys(config: &Path) -> String {
    let output = Command::new("git")
        .args(["config", "--list", "--name-only", "--file"])
        .arg(config)
        .stderr(Stdio::null())
        .output();
    String::from_utf8_lossy(&output.unwrap().stdout).into_owned()
}

/// Pieces of configurations, with a key that must not be overlooked.
const PIECES: &[&str] = &[
    "[core]",
    "[core]\n",
    "[user]\n",
    "[CORE]\n",
    "[core \"x\"]\n",
    "[remote \"o\"]\n",
    "fsmonitor = x",
    "fsmonitor",
    "bare = false",
    "bare = false\n",
    "bare\n",
    "name = a\n",
    "url = a\n",
    "name = \"",
    "\n",
    "\n",
    "\n",
    "\r\n",
    "\r",
    "\t",
    " ",
    "#",
    " # ",
    ";",
    "\"",
    "\\",
    "\\\n",
    "=",
    "]",
    "[",
    "\u{feff}",
    "\u{b}",
    "é",
    "..",
];
