//! Rules and grants as files: who may allow, who may only restrict, and the effect of a changed or broken file.

use std::{fs, path::Path, thread};

use harn_model::{Grant, GrantEffect, GrantSubject, PolicyAction, PolicyDecision, ToolKind};
use harn_policy::{Policy, PolicyCall, SessionMode, ToolApprovalPolicy};
use harn_runtime::RuleBook;
use serde_json::Value;
use tempfile::TempDir;

use super::*;

/// A user's machine: their configuration, their state, a workspace.
struct TestMachine {
    dir: TempDir,
}

impl TestMachine {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        for name in ["config", "state", "work"] {
            fs::create_dir(dir.path().join(name)).unwrap();
        }
        Self { dir }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    fn write(&self, path: &str, text: &str) -> PathBuf {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    fn options(&self) -> ServeOptions {
        ServeOptions {
            config_dir: Some(self.path("config")),
            ..ServeOptions::new(self.path("state"))
        }
    }

    fn rules(&self) -> FileRules {
        FileRules::new(&self.options())
    }

    fn decide(&self, rules: &FileRules, tool: &str) -> PolicyAction {
        decide(&rules.policy(&self.path("work")).unwrap(), tool).action
    }

    fn policy_error(&self, rules: &FileRules) -> String {
        rules.policy(&self.path("work")).unwrap_err().to_string()
    }
}

fn decide(policy: &Policy, tool: &str) -> PolicyDecision {
    policy.decide(&PolicyCall {
        tool,
        kind: Some(ToolKind::Other),
        side_effect: None,
        capabilities: &[],
        arguments: &Value::Null,
        paths: &[],
        command: None,
        findings: None,
        workspace: "/w",
        mode: SessionMode::Ask,
        agent: None,
        grants: &[],
    })
}

const USER: &str = "config/policy.toml";
const WORKSPACE: &str = "work/.harn/policy.toml";

#[test]
fn without_files_only_the_mode_applies() {
    let machine = TestMachine::new();
    let rules = machine.rules();
    assert_eq!(machine.decide(&rules, "deploy"), PolicyAction::Ask);
    assert_eq!(rules.grants(&machine.path("work")).unwrap(), []);
    assert_eq!(fs::read_dir(machine.path("state")).unwrap().count(), 0);
}

#[test]
fn empty_files_add_no_rules() {
    let machine = TestMachine::new();
    let rules = machine.rules();
    let source = || {
        let policy = rules.policy(&machine.path("work")).unwrap();
        policy.source().clone()
    };
    assert_eq!(source(), ToolApprovalPolicy::default());
    machine.write(USER, "# none yet\n");
    machine.write(WORKSPACE, "auto_deny = []\n");
    assert_eq!(source(), ToolApprovalPolicy::default());
    machine.write(WORKSPACE, "auto_deny = [\"deploy\"]\n");
    let all = source().all_of;
    assert_eq!(all.len(), 1);
    assert_eq!(all[0].auto_deny, ["deploy"]);
}

#[test]
fn rules_without_an_id_are_named_after_their_file() {
    let machine = TestMachine::new();
    let rules = machine.rules();
    let reason = |tool: &str| {
        let policy = rules.policy(&machine.path("work")).unwrap();
        let decision = decide(&policy, tool);
        let id = decision.matched_rule.and_then(|rule| rule.id);
        (id.unwrap_or_default(), decision.reason)
    };
    let named = "[[rules]]\nid = \"mine\"\ndeny = { tool = \"deploy\" }\n";
    let inner = "[[all_of]]\n[[all_of.rules]]\ndeny = { tool = \"inner\" }\n";
    let user = format!("{named}[[rules]]\ndeny = {{ tool = \"publish\" }}\n{inner}");
    machine.write(USER, &user);
    machine.write(WORKSPACE, "[[rules]]\ndeny = { tool = \"format\" }\n");
    for (tool, id) in [
        ("deploy", "mine"),
        ("publish", "policy.toml:1"),
        ("inner", "policy.toml:all_of.0:0"),
        ("format", ".harn/policy.toml:0"),
    ] {
        let expected = (id.to_owned(), format!("the rule {id:?} denies"));
        assert_eq!(reason(tool), expected);
    }
}

#[test]
fn changed_file_applies_from_the_next_call() {
    let machine = TestMachine::new();
    let rules = machine.rules();
    machine.write(USER, "auto_approve = [\"deploy\"]\n");
    assert_eq!(machine.decide(&rules, "deploy"), PolicyAction::Allow);
    // As long as before, and written at once: its stamp may be the same.
    machine.write(USER, "auto_approve = [\"depart\"]\n");
    assert_eq!(machine.decide(&rules, "deploy"), PolicyAction::Ask);
    machine.write(USER, "auto_deny = [\"deploy\"]\n");
    assert_eq!(machine.decide(&rules, "deploy"), PolicyAction::Deny);
    fs::remove_file(machine.path(USER)).unwrap();
    assert_eq!(machine.decide(&rules, "deploy"), PolicyAction::Ask);
}

#[test]
fn unchanged_files_are_not_compiled_again() {
    let machine = TestMachine::new();
    machine.write(USER, "auto_approve = [\"deploy\"]\n");
    machine.write(WORKSPACE, "auto_deny = [\"rm_*\"]\n");
    let rules = machine.rules();
    let work = machine.path("work");
    let first = rules.policy(&work).unwrap();
    assert!(Arc::ptr_eq(&first, &rules.policy(&work).unwrap()));
    // Written again with the same text.
    machine.write(USER, "auto_approve = [\"deploy\"]\n");
    assert!(Arc::ptr_eq(&first, &rules.policy(&work).unwrap()));
    let elsewhere = rules.policy(&machine.path("state")).unwrap();
    assert!(!Arc::ptr_eq(&first, &elsewhere));
}

#[test]
fn workspace_policy_can_only_restrict() {
    let machine = TestMachine::new();
    let rules = machine.rules();
    machine.write(WORKSPACE, "auto_approve = [\"deploy\"]\n");
    assert_eq!(machine.decide(&rules, "deploy"), PolicyAction::Ask);
    machine.write(USER, "auto_approve = [\"deploy\", \"publish\"]\n");
    assert_eq!(machine.decide(&rules, "deploy"), PolicyAction::Allow);
    assert_eq!(machine.decide(&rules, "publish"), PolicyAction::Ask);
    // A workspace cannot lift that restriction itself.
    machine.write(
        WORKSPACE,
        "only_tightens = false\nauto_approve = [\"other\"]\n",
    );
    assert_eq!(machine.decide(&rules, "other"), PolicyAction::Ask);
    let inner = "[[all_of]]\nauto_approve = [\"other\"]\n";
    machine.write(WORKSPACE, inner);
    assert_eq!(machine.decide(&rules, "other"), PolicyAction::Ask);
    machine.write(WORKSPACE, "auto_deny = [\"deploy\"]\n");
    assert_eq!(machine.decide(&rules, "deploy"), PolicyAction::Deny);
}

#[test]
fn named_files_and_the_programs_own_rules_apply() {
    let machine = TestMachine::new();
    let named = machine.write("named.toml", "auto_approve = [\"deploy\"]\n");
    let own = ToolApprovalPolicy {
        auto_deny: vec!["drop_*".to_owned()],
        ..ToolApprovalPolicy::default()
    };
    let rules = FileRules::new(&ServeOptions {
        policy: own,
        policy_files: vec![named.clone()],
        ..machine.options()
    });
    assert_eq!(machine.decide(&rules, "deploy"), PolicyAction::Allow);
    assert_eq!(machine.decide(&rules, "drop_all"), PolicyAction::Deny);
    machine.write(USER, "require_approval = [\"deploy\"]\n");
    assert_eq!(machine.decide(&rules, "deploy"), PolicyAction::Ask);
    // The user relies on a file that they named.
    fs::remove_file(&named).unwrap();
    let error = machine.policy_error(&rules);
    assert_eq!(error, format!("{}: it no longer exists", named.display()));
}

#[test]
fn broken_file_error_names_the_line_until_it_is_repaired() {
    let machine = TestMachine::new();
    let rules = machine.rules();
    let table = [
        ("\nauto_deny = [\n", ": line 2, column 14: "),
        (
            "# mine\n\nauto_denny = []\n",
            ": line 3, column 1: unknown field `auto_denny`",
        ),
        ("# mine\nauto_deny = [\"a[\"]\n", "line 2: invalid pattern"),
        ("[[rules]]\naction = \"deny\"\n\n[rules.match]\n", "line 1"),
    ];
    for path in [USER, WORKSPACE] {
        for (text, place) in table {
            let file = machine.write(path, text);
            let error = machine.policy_error(&rules);
            assert!(error.starts_with(&file.display().to_string()), "{error}");
            assert!(error.contains(place), "{text:?}: {error}");
            assert_eq!(error.lines().count(), 1, "{error}");
            assert_eq!(error.trim_end(), error);
        }
        machine.write(path, "auto_deny = [\"deploy\"]\n");
        assert_eq!(machine.decide(&rules, "deploy"), PolicyAction::Deny);
    }
}

#[cfg(unix)]
#[test]
fn links_and_unusual_files_are_rejected() {
    let machine = TestMachine::new();
    let rules = machine.rules();
    let real = machine.write("elsewhere.toml", "auto_approve = [\"deploy\"]\n");
    let refused = "it is a link; put the file itself there";
    for (path, nowhere) in [(USER, "it is a broken link"), (WORKSPACE, refused)] {
        let file = machine.write(path, "");
        fs::remove_file(&file).unwrap();
        std::os::unix::fs::symlink(&real, &file).unwrap();
        // A user's own file may be elsewhere; a workspace's must be in the workspace.
        if path == USER {
            assert_eq!(machine.decide(&rules, "deploy"), PolicyAction::Allow);
            let target = real.canonicalize().unwrap();
            assert!(protected_paths(&machine.options()).contains(&target));
        } else {
            let error = machine.policy_error(&rules);
            assert!(error.ends_with(refused), "{error}");
        }
        fs::remove_file(&file).unwrap();
        // A dangling link is not the same as a missing file.
        std::os::unix::fs::symlink("/nowhere", &file).unwrap();
        let error = machine.policy_error(&rules);
        assert!(error.ends_with(nowhere), "{error}");
        fs::remove_file(&file).unwrap();
        fs::create_dir(&file).unwrap();
        let error = machine.policy_error(&rules);
        assert!(error.ends_with("it is a folder, not a file"), "{error}");
        fs::remove_dir(&file).unwrap();
        fs::write(&file, "#".repeat(1024 * 1024 + 1)).unwrap();
        let error = machine.policy_error(&rules);
        assert!(error.ends_with("it is larger than 1 MiB"), "{error}");
        fs::remove_file(&file).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &file,
            rustix::fs::FileType::Fifo,
            0o600.into(),
            0,
        )
        .unwrap();
        let error = machine.policy_error(&rules);
        assert!(error.ends_with("it is not a regular file"), "{error}");
        fs::remove_file(&file).unwrap();
    }
    // A file that the user names may be a link.
    let link = machine.path("link.toml");
    std::os::unix::fs::symlink(&real, &link).unwrap();
    assert!(check_named(&link).is_ok());
    assert!(check_found(&link).is_err());
}

fn grant(workspace: &Path, words: &[&str]) -> Grant {
    let argv = words.iter().map(|word| (*word).to_owned()).collect();
    let grant = Grant {
        id: String::new(),
        effect: GrantEffect::Allow,
        workspace: workspace.display().to_string(),
        tool: "run_command".to_owned(),
        kind: None,
        subject: GrantSubject::Argv(argv),
    };
    // Computes the id from the content.
    harn_policy::with_effect(&grant, GrantEffect::Allow)
}

#[test]
fn grants_are_stored_by_workspace_and_revoked_by_id() {
    let machine = TestMachine::new();
    let work = machine.path("work");
    let (one, other) = (grant(&work, &["make"]), grant(Path::new("/x"), &["make"]));
    let rules = machine.rules();
    rules.remember(&one, 1_000).unwrap();
    rules.remember(&one, 2_000).unwrap();
    rules.remember(&other, 3_000).unwrap();
    let here = rules.grants(&work).unwrap();
    assert_eq!(here, std::slice::from_ref(&one));
    // Another process sees the same.
    let kept = machine.rules().grants.all().unwrap();
    assert_eq!(kept, [(one.clone(), 1_000), (other.clone(), 3_000)]);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = rules.grants.path().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    assert!(!rules.revoke("g-00000000").unwrap());
    assert!(machine.rules().revoke(&one.id).unwrap());
    assert!(!rules.revoke(&one.id).unwrap());
    assert_eq!(rules.grants(&work).unwrap(), []);
    assert_eq!(rules.grants.all().unwrap(), [(other, 3_000)]);
}

#[test]
fn unreadable_grants_file_is_not_changed() {
    let machine = TestMachine::new();
    let rules = machine.rules();
    let file = machine.write("state/grants.toml", "[[grant]]\nnonsense\n");
    let work = machine.path("work");
    let errors = [
        rules.grants(&work).unwrap_err(),
        rules.remember(&grant(&work, &["make"]), 1).unwrap_err(),
        rules.revoke("g-00000000").unwrap_err(),
    ];
    for error in errors {
        let error = error.to_string();
        assert!(error.starts_with(&file.display().to_string()), "{error}");
        assert!(error.contains("line 2"), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
    assert_eq!(fs::read_to_string(file).unwrap(), "[[grant]]\nnonsense\n");
}

#[test]
fn failed_write_of_a_grant_is_an_error() {
    let machine = TestMachine::new();
    // A file where the folder should be: not even root can write there.
    let rules = FileRules::new(&ServeOptions::new(machine.write("blocked", "")));
    let error = rules.remember(&grant(&machine.path("work"), &["make"]), 1);
    assert!(error.unwrap_err().to_string().contains("blocked"));
    let rules = machine.rules();
    fs::create_dir(machine.path("state/grants.tmp")).unwrap();
    let error = rules.remember(&grant(&machine.path("work"), &["make"]), 1);
    assert!(error.unwrap_err().to_string().contains("grants.toml"));
    assert!(!machine.path("state/grants.toml").exists());
}

/// Retries while another process has the lock, as on a slow disk.
fn retry_while_locked<T>(act: impl Fn() -> Result<T, PolicyError>) -> T {
    loop {
        match act() {
            Ok(done) => return done,
            Err(error) => assert!(error.to_string().contains("another process has locked it")),
        }
    }
}

#[test]
fn lock_that_another_process_holds_is_an_error() {
    let machine = TestMachine::new();
    let rules = machine.rules();
    let file = machine.write("state/grants.lock", "");
    let lock = fs::File::options().write(true).open(file).unwrap();
    lock.lock().unwrap();
    let one = grant(&machine.path("work"), &["make"]);
    let error = rules.remember(&one, 1).unwrap_err().to_string();
    assert!(error.ends_with("another process has locked it"), "{error}");
    drop(lock);
    rules.remember(&one, 1).unwrap();
}

#[test]
fn two_grants_with_one_id_are_both_stored() {
    let machine = TestMachine::new();
    let rules = machine.rules();
    let work = machine.path("work");
    let one = grant(&work, &["make"]);
    let other = Grant {
        id: one.id.clone(),
        ..grant(&work, &["make", "all"])
    };
    rules.remember(&one, 1).unwrap();
    rules.remember(&other, 2).unwrap();
    let kept = rules.grants(&work).unwrap();
    let kept: Vec<_> = kept.into_iter().map(|grant| grant.subject).collect();
    assert_eq!(kept, [one.subject, other.subject]);
}

#[test]
fn concurrent_changes_lose_no_grant() {
    const EACH: usize = 10;
    let machine = TestMachine::new();
    let work = machine.path("work");
    thread::scope(|scope| {
        for who in ["a", "b", "c", "d"] {
            // Its own `FileRules`, as another process has.
            let (rules, work) = (machine.rules(), &work);
            scope.spawn(move || {
                for n in 0..EACH {
                    let grant = grant(work, &["make", who, &n.to_string()]);
                    retry_while_locked(|| rules.remember(&grant, 1));
                    if n % 5 == 0 {
                        assert!(retry_while_locked(|| rules.revoke(&grant.id)));
                    }
                }
            });
        }
    });
    let kept = machine.rules().grants(&work).unwrap();
    assert_eq!(kept.len(), 4 * EACH / 5 * 4);
}

#[test]
fn files_that_decide_about_tools_are_protected() {
    let machine = TestMachine::new();
    let options = ServeOptions {
        policy_files: vec![machine.path("named.toml")],
        ..machine.options()
    };
    let places = ["state", "config", "named.toml"].map(|path| machine.path(path));
    assert_eq!(protected_paths(&options), places);
}
