//! The example in `docs/permissions.md` parses, and does what the page says.

use std::path::{Path, PathBuf};

use harn_model::{PolicyAction, ToolKind};
use harn_policy::{
    Policy, PolicyCall, SessionMode, SessionRoots, ToolApprovalPolicy, locate_all, shell,
};
use harn_tools::DiskProbe;
use serde_json::Value;

fn example_policy() -> Policy {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/permissions.md");
    let page = std::fs::read_to_string(page).unwrap();
    let mut blocks = page.split("```toml\n").skip(1);
    let (toml, _) = blocks.next().unwrap().split_once("```").unwrap();
    assert!(blocks.next().is_none(), "one example is tested");
    let policy = ToolApprovalPolicy::from_toml("docs/permissions.md", toml).unwrap();
    policy.compile().unwrap()
}

struct Case<'a> {
    tool: &'a str,
    kind: ToolKind,
    path: Option<&'a str>,
    command: Option<&'a str>,
    mode: SessionMode,
    agent: Option<&'a str>,
}

fn decide(policy: &Policy, workspace: &Path, case: &Case<'_>) -> PolicyAction {
    let roots = SessionRoots::new(vec![workspace.to_owned()], Vec::new());
    let given: Vec<_> = case.path.into_iter().map(str::to_owned).collect();
    let paths = locate_all(&roots, &given, &DiskProbe);
    let line = case.command.map(|text| (text, shell::read(text)));
    let decision = policy.decide(&PolicyCall {
        tool: case.tool,
        kind: Some(case.kind),
        side_effect: None,
        capabilities: &[],
        arguments: &Value::Null,
        paths: &paths,
        command: line.as_ref().map(|(text, line)| (*text, line)),
        findings: None,
        workspace: "/w",
        mode: case.mode,
        agent: case.agent,
        grants: &[],
    });
    decision.action
}

#[test]
fn the_example_does_what_the_page_says() {
    use PolicyAction::{Allow, Ask, Deny};
    let (policy, dir) = (example_policy(), tempfile::tempdir().unwrap());
    let workspace: PathBuf = dir.path().canonicalize().unwrap();
    let tool = |tool| Case {
        tool,
        kind: ToolKind::Other,
        path: None,
        command: None,
        mode: SessionMode::Ask,
        agent: None,
    };
    let edit = |path| Case {
        kind: ToolKind::Edit,
        path: Some(path),
        ..tool("write_file")
    };
    let read = |path| Case {
        kind: ToolKind::Read,
        path: Some(path),
        ..tool("read_file")
    };
    let run = |command| Case {
        kind: ToolKind::Execute,
        command: Some(command),
        ..tool("run_command")
    };
    let table = [
        (tool("list_things"), Allow),
        (tool("publish_page"), Ask),
        (tool("drop_table"), Deny),
        (tool("anything"), Ask),
        (edit("src/lib.rs"), Allow),
        (edit("src/../src/lib.rs"), Allow),
        (edit("docs/a.md"), Ask),
        (edit("LICENSE"), Deny),
        (edit("src/key.pem"), Deny),
        (edit(".git/hooks/pre-commit"), Deny),
        (edit("../elsewhere"), Deny),
        (read("LICENSE"), Allow),
        (read(".env"), Deny),
        (read("/etc/hostname"), Deny),
        (read("/srv/shared/a"), Allow),
        (edit("/srv/shared/a"), Allow),
        (run("cargo test --workspace"), Allow),
        (run("cargo clippy"), Allow),
        (run("cargo clippy --fix"), Ask),
        (run("git status && cargo test"), Allow),
        (run("git status && make"), Ask),
        (run("git status; rm x"), Deny),
        (run("sudo rm x"), Deny),
        (run("sh -c 'rm x'"), Deny),
        (run("git push --force"), Ask),
        (run("$EDITOR notes.md"), Ask),
        (
            Case {
                mode: SessionMode::Auto,
                agent: Some("scout-1"),
                ..run("curl https://example.org")
            },
            Deny,
        ),
        (run("curl https://example.org"), Ask),
    ];
    for (case, expected) in table {
        let decided = decide(&policy, &workspace, &case);
        let what = case.command.or(case.path).unwrap_or(case.tool);
        assert_eq!(decided, expected, "{} {what}", case.tool);
    }
}
