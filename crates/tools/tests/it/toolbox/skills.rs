//! Skills in a session with tools: a skill that a file activates, the tools it leaves, and the tool that loads
//! one.

use std::sync::Arc;

use harn_model::{Decision, ErrorCategory};
use harn_tools::{
    ToolboxConfig,
    skills::{SkillLibrary, SkillPlaces},
};
use serde_json::json;

use crate::toolbox::support::{Rig, StillClock, assert_failed, shown_text};

const DOCS: &str = "---
name: docs
short: Writes documentation
paths: ['*.md']
allowed_tools: [read_file, grep]
---
Write plainly.
";

async fn rig(files: &[(&str, &str)]) -> Rig {
    let library = SkillLibrary::new(SkillPlaces::default(), Arc::new(StillClock));
    let config = ToolboxConfig {
        skills: Some(Arc::new(library)),
        ..ToolboxConfig::default()
    };
    Rig::with(files, config).await
}

#[tokio::test]
async fn reading_a_file_activates_a_skill_that_limits_the_tools() {
    let files = [
        (".harn/skills/docs/SKILL.md", DOCS),
        ("notes.md", "Notes.\n"),
        ("code.rs", "fn main() {}\n"),
    ];
    let mut rig = rig(&files).await;
    let turn = rig.run_turn("visible").await;
    assert!(turn.agent_text().contains("glob") && turn.agent_text().contains("load_skill"));
    rig.call("read_file", json!({"path": "code.rs"})).await;
    rig.call("glob", json!({"pattern": "*"})).await;
    rig.call("read_file", json!({"path": "notes.md"})).await;

    let turn = rig.call("glob", json!({"pattern": "*"})).await;
    let words = "active skills do not allow glob; end docs to use it";
    assert_failed(&turn, ErrorCategory::PermissionDenied, words);
    let turn = rig.run_turn("visible").await;
    let said = turn.agent_text();
    let visible: Vec<_> = said.split(' ').collect();
    assert!(
        visible.contains(&"grep") && !visible.contains(&"glob"),
        "{said}"
    );
    rig.call("grep", json!({"pattern": "Notes"}))
        .await
        .only_call();
}

#[tokio::test]
async fn skill_can_be_loaded_by_name() {
    let mut rig = rig(&[(".harn/skills/docs/SKILL.md", DOCS)]).await;
    let turn = rig.call("load_skill", json!({"name": "docs"})).await;
    assert!(shown_text(turn.only_call().1).contains("Write plainly."));
    let turn = rig.call("load_skill", json!({"name": "nothing"})).await;
    assert_failed(&turn, ErrorCategory::ToolError, "nothing");
}

#[tokio::test]
async fn writing_what_the_workspace_runs_asks_in_every_mode_and_offers_no_lasting_answer() {
    let manifest = "[skills]\npaths = ['skills']\n\
                    [mcp_servers.db]\ncommand = 'python3'\nargs = ['tools/db.py']\n";
    let files = [
        ("harn.toml", manifest),
        (
            "skills/own/SKILL.md",
            "---\nshort: Own\nhooks: {activate: sh tools/hook.sh}\n---\nText",
        ),
        ("tools/other.py", ""),
    ];
    let mut rig = rig(&files).await;
    for mode in ["accept-edits", "auto"] {
        rig.session.set_mode(mode).await.unwrap();
        let write = |path: &str| json!({"path": path, "content": mode});
        let turn = rig.call("write_file", write("tools/other.py")).await;
        assert_eq!(turn.permission_question(), None, "{mode}");
        for path in [
            "harn.toml",
            "sub/harn.toml",
            "skills/own/run.sh",
            "skills/new/SKILL.md",
            "tools/db.py",
            "tools/hook.sh",
        ] {
            // Rejected, so that the manifest stays as it is.
            let reject = Decision::Rejected {
                option_id: None,
                reason: None,
            };
            let turn = rig.call_answered("write_file", write(path), reject).await;
            let asked = turn.permission_question().unwrap();
            let reason = &asked.policy_decision.as_ref().unwrap().reason;
            assert!(
                reason.contains("decides what runs in this workspace"),
                "{reason}"
            );
            assert_eq!(asked.grant, None, "{mode} {path}");
        }
    }
}
