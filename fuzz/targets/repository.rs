//! Repositories: any configuration and any index can be parsed, and a configuration to which a section that names a
//! program is added is never harmless.
#![no_main]

use std::{io, path::Path, sync::LazyLock};

use harn_fuzz::seeds::{self, GIT};
use harn_model::{PolicyAction, ToolKind};
use harn_policy::{
    CommandFindings, PathEntry, PathProbe, Policy, PolicyCall, SessionMode, SessionRoots,
    ToolApprovalPolicy, shell,
};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

static NONE: LazyLock<Policy> = LazyLock::new(|| {
    let policy = ToolApprovalPolicy::default().compile();
    policy.expect("a policy without rules")
});

/// The first byte that selects the index.
const INDEX: u8 = b'I';

fuzz_target!(init: seeds::write(files()), |data: &[u8]| {
    match data.split_first() {
        Some((&INDEX, index)) => {
            decide(Repository { config: b"", index: Some(index) });
        }
        _ => check_config(data),
    }
});

/// Returns configurations, the scripts of the table, and the beginning of an index.
fn files() -> Vec<Vec<u8>> {
    let plain = "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = https://a/b\n";
    let index = b"IDIRC\0\0\0\x02\0\0\0\0TREE\0\0\0\0____________________";
    let scripts = seeds::column(GIT, "script").map(String::into_bytes);
    [plain.as_bytes().to_vec(), index.to_vec()]
        .into_iter()
        .chain(scripts)
        .collect()
}

fn check_config(config: &[u8]) {
    decide(Repository {
        config,
        index: None,
    });
    for added in ["\n[core]\nfsmonitor = x\n", "\n[core] fsmonitor=x"] {
        for whole in [
            [config, added.as_bytes()].concat(),
            [added.as_bytes(), b"\n", config].concat(),
        ] {
            let action = decide(Repository {
                config: &whole,
                index: None,
            });
            assert_ne!(
                action,
                PolicyAction::Allow,
                "{:?}",
                String::from_utf8_lossy(&whole)
            );
        }
    }
}

fn decide(repository: Repository<'_>) -> PolicyAction {
    let line = shell::read("git status");
    let roots = SessionRoots::new(vec!["/w".into()], Vec::new());
    let findings = CommandFindings::read(&roots, &[], &line, &repository);
    let call = PolicyCall {
        tool: "run",
        kind: Some(ToolKind::Execute),
        side_effect: None,
        capabilities: &[],
        arguments: &Value::Null,
        paths: &[],
        command: Some(("git status", &line)),
        findings: Some(&findings),
        workspace: "/w",
        mode: SessionMode::Auto,
        agent: None,
        grants: &[],
    };
    NONE.decide(&call).action
}

/// A repository in `/w`.
struct Repository<'a> {
    config: &'a [u8],
    index: Option<&'a [u8]>,
}

impl PathProbe for Repository<'_> {
    fn read_entry(&self, path: &Path) -> io::Result<PathEntry> {
        let folders = ["/", "/w", "/w/.git", "/w/.git/objects", "/w/.git/refs"];
        let files = ["/w/.git/HEAD", "/w/.git/config"];
        let is = |names: &[&str]| names.iter().any(|name| Path::new(name) == path);
        Ok(if is(&folders) {
            PathEntry::Dir
        } else if is(&files) || (is(&["/w/.git/index"]) && self.index.is_some()) {
            PathEntry::File
        } else {
            PathEntry::Absent
        })
    }

    fn read_file(&self, path: &Path, limit: usize) -> io::Result<Vec<u8>> {
        let bytes = match path.file_name().and_then(|name| name.to_str()) {
            Some("HEAD") => b"ref: refs/heads/main\n",
            Some("index") => self.index.unwrap_or_default(),
            _ => self.config,
        };
        match bytes.len() <= limit {
            true => Ok(bytes.to_vec()),
            false => Err(io::ErrorKind::FileTooLarge.into()),
        }
    }
}
