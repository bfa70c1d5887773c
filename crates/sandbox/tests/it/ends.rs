//! The helper ends as the command ended, and passes on what the server set up.

use std::{
    io::Write as _,
    os::unix::process::{CommandExt as _, ExitStatusExt as _},
    process::Stdio,
};

use harn_sandbox::{SETUP_FAILED, SandboxHelper};

use crate::rig::{SandboxRig, skip_without_layers};

#[test]
fn exit_code_is_that_of_the_command() {
    let rig = SandboxRig::new();
    for code in [0, 1, 125, 255] {
        let result = rig.sh(&format!("exit {code}"));
        assert_eq!(result.status.code(), Some(code), "{result:?}");
    }
}

#[test]
fn signal_is_that_of_the_command() {
    let rig = SandboxRig::new();
    // Rust ignores the first and handles the second. Not 1 to 3: whoever starts the tests may ignore these.
    for signal in [13, 11, 10, 6, 9, 15] {
        let result = rig.sh(&format!("kill -{signal} $$"));
        assert_eq!(result.status.signal(), Some(signal), "{result:?}");
    }
}

#[test]
fn program_that_cannot_start_is_reported_as_by_a_shell() {
    let rig = SandboxRig::new();
    let missing = rig.run::<&str>("no-such-program", &[]);
    assert_eq!(missing.status.code(), Some(127));
    assert!(
        missing.err.starts_with("no-such-program: No such file"),
        "{missing:?}"
    );
    let no_program = rig.run::<&str>("/etc/passwd", &[]);
    assert_eq!(no_program.status.code(), Some(126));
    assert!(
        no_program.err.contains("Permission denied"),
        "{no_program:?}"
    );
}

#[test]
fn input_environment_and_folder_pass_through() {
    let rig = SandboxRig::new();
    let mut command = rig.command("sh", &["-c", "pwd; echo $GIVEN; cat"]);
    command.env("GIVEN", "a value");
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(b"from outside")
        .unwrap();
    let output = child.wait_with_output().unwrap();
    let expected = format!("{}\na value\nfrom outside", rig.workspace().display());
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
}

#[test]
fn output_ends_when_the_command_closes_it() {
    let rig = SandboxRig::new();
    let mut command = rig.command("sh", &["-c", "exec >&-; read line; exit 4"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = String::new();
    let reader = child.stdout.take().unwrap();
    std::io::Read::read_to_string(&mut { reader }, &mut out).unwrap();
    // The command still runs; it ends at the end of its input.
    assert!(child.try_wait().unwrap().is_none());
    assert_eq!(child.wait().unwrap().code(), Some(4));
}

#[test]
fn signal_to_the_group_reaches_the_command_and_not_the_helper() {
    if skip_without_layers() {
        return;
    }
    let rig = SandboxRig::new();
    let script = "trap 'echo caught; exit 3' TERM; echo ready; while :; do sleep 0.01; done";
    let mut command = rig.command("sh", &["-c", script]);
    let mut child = command
        .process_group(0)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = child.stdout.take().unwrap();
    let mut ready = [0; 6];
    std::io::Read::read_exact(&mut out, &mut ready).unwrap();
    let group = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process_group(group, rustix::process::Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(3));
    let mut rest = String::new();
    std::io::Read::read_to_string(&mut out, &mut rest).unwrap();
    assert_eq!(rest, "caught\n");
}

#[test]
fn helper_works_only_for_the_process_that_asked() {
    let rig = SandboxRig::new();
    let line = rig.command("touch", &["ran"]);
    let result = std::process::Command::new("sh")
        .args(["-c", "\"$@\"; exit $?", "sh"])
        .arg(line.get_program())
        .args(line.get_args())
        .current_dir(rig.workspace())
        .output()
        .unwrap();
    assert_eq!(result.status.code(), Some(SETUP_FAILED.into()));
    assert!(!rig.workspace().join("ran").exists());
}

#[test]
fn program_without_a_helper_is_no_sandbox() {
    for program in ["true", "false", "/no/such/program"] {
        let helper = SandboxHelper::new(program);
        assert!(helper.probe().is_none(), "{program}");
        let error =
            helper.wrap::<&str>(&harn_sandbox::Confinement::default(), "true".as_ref(), &[]);
        let text = error.unwrap_err().to_string();
        assert!(text.contains("does not answer as a helper"), "{text}");
    }
}
