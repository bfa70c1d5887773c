//! The sandbox of a user who is not root, and of a system without namespaces.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, chown, symlink},
    path::PathBuf,
    process::Command,
};

use harn_sandbox::Confinement;
use tempfile::TempDir;

use crate::{
    programs::skip_without,
    rig::{CommandResult, TRIAL, skip_without_layers},
};

/// A workspace of another user, and a copy of the helper that this user can start.
struct WeakerRig {
    folder: TempDir,
    /// The command line that takes rights away.
    prefix: Vec<&'static str>,
    confinement: Confinement,
}

/// Allows no namespaces to the processes below.
const NO_NAMESPACES: &str = "echo 0 > /proc/sys/user/max_user_namespaces; echo 0 > /proc/sys/user/max_mnt_namespaces; \
                             exec \"$@\"";

const NOBODY: u32 = 65534;

impl WeakerRig {
    fn nobody() -> Option<Self> {
        if !rustix::process::geteuid().is_root() || skip_without("setpriv") || skip_without_layers()
        {
            return None;
        }
        Some(Self::new(&[
            "setpriv",
            "--reuid=65534",
            "--regid=65534",
            "--clear-groups",
            "--inh-caps=-all",
        ]))
    }

    fn without_namespaces() -> Option<Self> {
        if skip_without("unshare") || skip_without_layers() {
            return None;
        }
        Some(Self::new(&[
            "unshare",
            "-Ur",
            "sh",
            "-c",
            NO_NAMESPACES,
            "sh",
        ]))
    }

    fn new(prefix: &[&'static str]) -> Self {
        let folder = TempDir::new().unwrap();
        let workspace = folder.path().join("workspace");
        let hidden = folder.path().join("hidden");
        for path in [&workspace, &hidden] {
            fs::create_dir(path).unwrap();
        }
        fs::write(hidden.join("key"), "secret").unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        fs::copy(TRIAL, folder.path().join("trial")).unwrap();
        if rustix::process::geteuid().is_root() && prefix[0] == "setpriv" {
            chown(&workspace, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        Self {
            prefix: prefix.to_vec(),
            confinement: Confinement {
                writable: vec![workspace],
                hidden: vec![hidden],
                ..Confinement::default()
            },
            folder,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn trial(&self, args: &[&str]) -> CommandResult {
        let mut command = Command::new(self.prefix[0]);
        command
            .args(&self.prefix[1..])
            .arg(self.path("trial"))
            .args(args);
        command
            .current_dir(self.path("workspace"))
            .output()
            .unwrap()
            .into()
    }

    fn sh(&self, script: &str) -> CommandResult {
        let confinement = serde_json::to_string(&self.confinement).unwrap();
        self.trial(&[&confinement, "sh", "-c", script])
    }
}

#[test]
fn user_without_privileges_has_a_whole_sandbox() {
    let Some(rig) = WeakerRig::nobody() else {
        return;
    };
    let support = rig.trial(&[]).err;
    assert_eq!(
        support.trim(),
        r#"{"layers":["namespaces","landlock","seccomp"],"gaps":[]}"#
    );
    assert_eq!(
        rig.sh("id -u; touch a && ls; ls -A ../hidden; set -- /proc/[0-9]*; echo $#")
            .success(),
        "65534\na\n2"
    );
    rig.sh("touch /tmp/a").fails_with("Read-only file system");
    rig.sh("chmod 700 .. ").fails_with("Read-only file system");
    rig.sh("cat /proc/1/environ")
        .fails_with("Permission denied");
    assert_eq!(
        rig.sh("grep -c 'Cap[A-Z][a-z]*:.0*$' /proc/self/status")
            .success(),
        "5"
    );
}

#[test]
fn setuid_program_gives_no_privileges() {
    let Some(rig) = WeakerRig::nobody() else {
        return;
    };
    let copy = rig.path("id");
    fs::copy("/usr/bin/id", &copy).unwrap();
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o4755)).unwrap();
    let mut outside = Command::new(rig.prefix[0]);
    let outside = outside.args(&rig.prefix[1..]).arg(copy).arg("-u").output();
    let outside = CommandResult::from(outside.unwrap());
    assert_eq!(outside.success(), "0");
    assert_eq!(rig.sh("../id -u").success(), "65534");
}

#[test]
fn processes_of_a_user_have_a_limit() {
    let Some(mut rig) = WeakerRig::nobody() else {
        return;
    };
    rig.confinement.limits.processes = Some(10);
    let script = "for it in 1 2 3 4 5 6 7 8 9 10; do sleep 1000 & done; echo all";
    rig.sh(script).fails_with("Cannot fork");
    rig.confinement.limits.processes = Some(100);
    assert_eq!(rig.sh(script).success(), "all");
}

#[test]
fn gaps_of_a_system_without_namespaces_are_named() {
    let Some(rig) = WeakerRig::without_namespaces() else {
        return;
    };
    let support = rig.trial(&[]).err;
    assert!(
        support.starts_with(r#"{"layers":["landlock","seccomp"],"gaps":["namespaces: "#),
        "{support}"
    );
}

#[test]
fn without_namespaces_writes_reads_and_sockets_are_limited() {
    let Some(rig) = WeakerRig::without_namespaces() else {
        return;
    };
    assert_eq!(
        rig.sh("echo x > a && cat a && echo y > /dev/null && cat < /dev/null")
            .success(),
        "x"
    );
    rig.sh("touch ../new").fails_with("Permission denied");
    rig.sh("cat ../hidden/key").fails_with("Permission denied");
    assert_eq!(rig.sh("exit 7").status.code(), Some(7));
    let server = "cat /proc/$(cut -d' ' -f4 /proc/$PPID/stat)/environ";
    rig.sh(server).fails_with("Permission denied");
    if !skip_without("python3") {
        rig.sh("python3 -c 'import socket; socket.socket(2)'")
            .fails_with("Permission denied");
    }
}

#[test]
fn without_namespaces_a_link_does_not_lead_to_hidden_files() {
    let Some(rig) = WeakerRig::without_namespaces() else {
        return;
    };
    fs::write(rig.path("other"), "other").unwrap();
    symlink("hidden", rig.path("link")).unwrap();
    symlink("hidden/key", rig.path("key")).unwrap();
    symlink("other", rig.path("open")).unwrap();
    assert_eq!(rig.sh("cat ../open").success(), "other");
    for path in ["../link/key", "../key", "../hidden/key"] {
        rig.sh(&format!("cat {path}"))
            .fails_with("Permission denied");
    }
}

#[test]
fn without_namespaces_nothing_survives_the_command() {
    let Some(rig) = WeakerRig::without_namespaces() else {
        return;
    };
    // The output ends when the last process that holds it has ended.
    let script = "setsid sh -c 'trap : TERM; while :; do sleep 1000; done' & \
                  (setsid sleep 1000 &) ; echo started";
    assert_eq!(rig.sh(script).success(), "started");
}

#[test]
fn without_namespaces_a_server_that_ends_leaves_nothing() {
    let Some(rig) = WeakerRig::without_namespaces() else {
        return;
    };
    let confinement = serde_json::to_string(&rig.confinement).unwrap();
    let mut command = Command::new(rig.prefix[0]);
    command
        .args(&rig.prefix[1..])
        .arg(rig.path("trial"))
        .arg(confinement);
    command.args([
        "sh",
        "-c",
        "setsid sleep 1000 & (setsid sleep 1000 &) ; echo started; sleep 1000",
    ]);
    let (reader, writer) = std::io::pipe().unwrap();
    let mut server = command
        .stderr(std::process::Stdio::null())
        .stdout(writer)
        .current_dir(rig.path("workspace"))
        .spawn()
        .unwrap();
    drop(command);
    let mut reader = std::io::BufReader::new(reader);
    let mut text = String::new();
    std::io::BufRead::read_line(&mut reader, &mut text).unwrap();
    server.kill().unwrap();
    server.wait().unwrap();
    std::io::Read::read_to_string(&mut reader, &mut text).unwrap();
    assert_eq!(text, "started\n");
}
