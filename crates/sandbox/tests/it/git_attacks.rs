//! A command cannot make git outside the sandbox run its programs.

use std::{
    fs, io::Read as _, os::unix::process::CommandExt as _, path::Path, process::Stdio, sync::mpsc,
    thread, time::Duration,
};

use harn_sandbox::protected_git_paths;
use rustix::process::{Pid, Signal, kill_process_group};

use crate::{
    programs::skip_without,
    rig::{SandboxRig, skip_without_layers},
};

/// Returns a rig whose workspace is a repository with one commit and protected paths.
fn repository() -> Option<SandboxRig> {
    if skip_without_layers() || skip_without("git") || skip_without("python3") {
        return None;
    }
    let mut rig = SandboxRig::new();
    let setup = "git init -q . && git config user.name A && git config user.email a@b && \
                 git commit -q --allow-empty -m first";
    rig.sh(setup).success();
    rig.confinement.read_only = protected_git_paths(&rig.workspace());
    Some(rig)
}

#[test]
fn git_works_with_protected_configuration() {
    let Some(rig) = repository() else { return };
    let work = "echo a > a && git add a && git commit -qm second && git checkout -qb other && echo b > a && \
                git stash -q && git checkout -q - && git merge -q other && git gc -q && git log --oneline | wc -l";
    assert_eq!(rig.sh(work).success(), "2");
}

#[test]
fn configuration_and_hooks_cannot_be_changed() {
    let Some(rig) = repository() else { return };
    for attack in [
        "git config core.fsmonitor ./evil",
        "echo x >> .git/config",
        "echo x > .git/hooks/pre-commit",
        "rm -rf .git/hooks",
        "ln -sf ../evil .git/config",
        "cp -r .git copy && rm -rf .git && mv copy .git",
        "git worktree add -q ../workspace/w && git -C w config core.fsmonitor ./evil",
    ] {
        let result = rig.sh(attack);
        assert!(!result.status.success(), "{attack}: {result:?}");
    }
    for moved in [".git", ".git/config", ".git/hooks"] {
        rig.rename(moved).fails_with("busy");
    }
    let config = fs::read_to_string(rig.workspace().join(".git/config")).unwrap();
    assert!(!config.contains("evil"), "{config}");
    assert!(!rig.workspace().join(".git/hooks/pre-commit").exists());
}

#[test]
fn missing_hooks_cannot_be_created() {
    let Some(rig) = repository() else { return };
    fs::remove_dir_all(rig.workspace().join(".git/hooks")).unwrap();
    let result = rig.sh("mkdir -p .git/hooks && echo x > .git/hooks/pre-commit");
    result.fails_with("Read-only");
}

#[test]
fn missing_configuration_of_a_work_tree_cannot_be_created() {
    let Some(rig) = repository() else { return };
    let file = rig.workspace().join(".git/config.worktree");
    let attack = "printf '[core]\\nfsmonitor = ./evil' > .git/config.worktree";
    // Git ignores the file, and another program may have created it.
    rig.sh(attack).success();
    assert!(file.exists());
    fs::remove_file(&file).unwrap();
    let config = rig.workspace().join(".git/config");
    let text = fs::read_to_string(&config).unwrap();
    fs::write(config, text + "[extensions]\nworktreeConfig = true\n").unwrap();
    rig.sh(attack).fails_with("Read-only");
    assert_eq!(fs::read_to_string(file).unwrap(), "");
    rig.sh("git status").success();
}

#[test]
fn another_common_folder_does_not_survive_the_command() {
    let Some(rig) = repository() else { return };
    rig.sh("cp -r .git evil && echo ../evil > .git/commondir")
        .success();
    assert!(!rig.workspace().join(".git/commondir").exists());
}

#[test]
fn absence_of_a_head_does_not_end_the_protection() {
    let Some(mut rig) = repository() else { return };
    for prepare in [
        "mv .git/HEAD .git/h",
        "ln -s missing .git/HEAD",
        "rm .git/HEAD",
    ] {
        rig.sh(prepare).success();
        rig.confinement.read_only = protected_git_paths(&rig.workspace());
        rig.sh("rm -rf evil; cp -r .git evil; echo ../evil > .git/commondir")
            .success();
        assert!(
            !rig.workspace().join(".git/commondir").exists(),
            "{prepare}"
        );
        fs::remove_dir_all(rig.workspace().join(".git/hooks")).unwrap();
        rig.sh("echo x > .git/hooks/pre-commit")
            .fails_with("Read-only");
    }
    rig.sh("mv .git/h .git/HEAD && git status").success();
}

#[test]
fn another_common_folder_does_not_survive_a_kill_of_the_group() {
    let Some(rig) = repository() else { return };
    let script = "trap '' TERM; echo ../evil > .git/commondir; echo ready; while :; do echo ../evil > .git/commondir; done";
    let mut command = rig.command("sh", &["-c", script]);
    let mut child = command
        .process_group(0)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let out = child.stdout.as_mut().unwrap();
    let mut ready = [0; 6];
    out.read_exact(&mut ready).unwrap();
    let redirection = rig.workspace().join(".git/commondir");
    assert!(redirection.exists());
    let group = Pid::from_child(&child);
    kill_process_group(group, Signal::KILL).unwrap();
    child.wait().unwrap();
    // The removal follows the end of the last process of the command.
    assert!(is_gone_within(&redirection, Duration::from_secs(20)));
}

/// Looks at a path until it is gone.
fn is_gone_within(path: &Path, limit: Duration) -> bool {
    let (done, gone) = mpsc::sync_channel(1);
    let path = path.to_owned();
    thread::spawn(move || {
        while path.symlink_metadata().is_ok() {
            thread::yield_now();
        }
        done.send(())
    });
    gone.recv_timeout(limit).is_ok()
}

#[test]
fn another_common_folder_of_two_commands_does_not_survive_both() {
    let Some(rig) = repository() else { return };
    let start = |script: &str| {
        let mut command = rig.command("sh", &["-c", script]);
        let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = pipes.spawn().unwrap();
        let mut ready = [0; 6];
        child
            .stdout
            .as_mut()
            .unwrap()
            .read_exact(&mut ready)
            .unwrap();
        child
    };
    let mut first = start("echo ../evil > .git/commondir; echo ready; cat");
    let mut second = start("echo ready; cat; echo ../evil > .git/commondir && echo created");
    drop(first.stdin.take());
    assert!(first.wait().unwrap().success());
    let redirection = rig.workspace().join(".git/commondir");
    assert!(!redirection.exists());
    drop(second.stdin.take());
    assert!(second.wait().unwrap().success());
    assert!(!redirection.exists());
}

#[test]
fn present_common_folder_does_not_end_the_protection() {
    let Some(mut rig) = repository() else { return };
    rig.sh("cp -r .git evil").success();
    fs::write(rig.workspace().join(".git/commondir"), "../evil\n").unwrap();
    rig.confinement.read_only = protected_git_paths(&rig.workspace());
    for attack in [
        "echo x >> .git/config",
        "echo x > .git/hooks/pre-commit",
        "echo x >> evil/config",
        "rm .git/commondir",
    ] {
        let result = rig.sh(attack);
        assert!(!result.status.success(), "{attack}: {result:?}");
    }
}

#[test]
fn submodules_and_git_files_are_protected() {
    let Some(mut rig) = repository() else { return };
    let setup = "git init -q ../outside/lib && git -C ../outside/lib -c user.name=A -c user.email=a@b commit -q \
                 --allow-empty -m lib && git -c protocol.file.allow=always submodule add -q ../outside/lib deep/lib";
    rig.confinement.read_only.clear();
    rig.confinement.writable.push(rig.path("outside"));
    rig.sh(setup).success();
    rig.confinement.writable.pop();
    let git_file = rig.workspace().join("deep/lib/.git");
    assert!(git_file.is_file());
    rig.confinement.read_only = protected_git_paths(&rig.workspace());
    rig.confinement
        .read_only
        .extend(protected_git_paths(&rig.workspace().join("deep/lib")));
    for attack in [
        "echo x >> .git/modules/deep/lib/config",
        "echo x > .git/modules/deep/lib/hooks/post-checkout",
        "rm deep/lib/.git",
        "echo 'gitdir: /evil' > deep/lib/.git",
    ] {
        let result = rig.sh(attack);
        assert!(!result.status.success(), "{attack}: {result:?}");
    }
    assert_eq!(
        rig.sh("git submodule status | wc -l; git -C deep/lib status -s")
            .success(),
        "1"
    );
}

#[test]
fn link_to_a_repository_is_followed() {
    let Some(rig) = repository() else { return };
    let other = rig.path("outside/linked");
    fs::create_dir(&other).unwrap();
    fs::write(
        other.join(".git"),
        format!("gitdir: {}/.git\n", rig.workspace().display()),
    )
    .unwrap();
    let paths = protected_git_paths(&other);
    assert!(paths.contains(&other.join(".git")), "{paths:?}");
    assert!(
        paths.contains(&rig.workspace().join(".git/hooks")),
        "{paths:?}"
    );
}
