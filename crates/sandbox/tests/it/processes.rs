//! What a command can do to other processes, and what remains of it.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    os::unix::process::{CommandExt as _, ExitStatusExt as _},
    process::{Child, Command, Stdio},
};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::{
    programs::skip_without,
    rig::{SandboxRig, TRIAL, skip_without_layers},
};

/// Starts processes that leave the group and the session, then prints a line and waits.
const LEAVE: &str = "
import os, sys
report, ready = os.pipe()
for depth in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.write(ready, b'x')
            import signal
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            while True: signal.pause()
        os._exit(0)
for depth in range(3): os.read(report, 1)
print('ready', flush=True)
";

/// A pipe that all descendants of a command hold: its end is the end of them all.
struct SurvivorPipe(std::io::PipeReader);

impl SurvivorPipe {
    /// Starts the command with stderr as the pipe, and waits for its first line.
    fn start(command: &mut Command) -> (Child, Self) {
        let (reader, writer) = std::io::pipe().unwrap();
        let mut child = command
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(writer)
            .spawn()
            .unwrap();
        // The command still holds the writer.
        command.stderr(Stdio::null());
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        assert_eq!(line, "ready\n");
        (child, Self(reader))
    }

    /// Waits until no process holds the pipe.
    fn wait_for_all(self) {
        let mut text = String::new();
        std::io::Read::read_to_string(&mut { self.0 }, &mut text).unwrap();
        assert_eq!(text, "");
    }
}

fn leaving_rig() -> Option<SandboxRig> {
    (!skip_without_layers() && !skip_without("python3")).then(SandboxRig::new)
}

#[test]
fn nothing_survives_the_command() {
    let Some(rig) = leaving_rig() else { return };
    let (mut child, pipe) = SurvivorPipe::start(&mut rig.command("python3", &["-c", LEAVE]));
    pipe.wait_for_all();
    assert!(child.wait().unwrap().success());
}

#[test]
fn nothing_survives_a_kill_of_any_stage() {
    let Some(rig) = leaving_rig() else { return };
    let script = format!("{LEAVE}\nsignal.pause()").replace("import os", "import signal, os");
    for stage in 0..3 {
        let (mut child, pipe) = SurvivorPipe::start(&mut rig.command("python3", &["-c", &script]));
        let supervisor = Pid::from_child(&child);
        match stage {
            0 => kill_process(supervisor, Signal::KILL).unwrap(),
            1 => kill_process(child_of(supervisor), Signal::KILL).unwrap(),
            _ => kill_process_group(supervisor, Signal::KILL).unwrap(),
        }
        pipe.wait_for_all();
        assert_eq!(child.wait().unwrap().signal(), Some(9), "stage {stage}");
    }
}

#[test]
fn nothing_survives_a_kill_at_any_moment() {
    let Some(rig) = leaving_rig() else { return };
    let script = "setsid sleep 1000 & (setsid sleep 1000 &) ; sleep 1000";
    for moment in 0..60 {
        let (mut reader, writer) = std::io::pipe().unwrap();
        let mut command = rig.command("sh", &["-c", script]);
        let mut child = command.process_group(0).stdout(writer).spawn().unwrap();
        drop(command);
        // Some of these kills find the helper at work, others the command.
        for _ in 0..moment * 20_000 {
            std::hint::spin_loop();
        }
        child.kill().unwrap();
        let mut text = String::new();
        std::io::Read::read_to_string(&mut reader, &mut text).unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(9));
    }
}

#[test]
fn nothing_survives_the_server() {
    let Some(rig) = leaving_rig() else { return };
    let script = format!("{LEAVE}\nsignal.pause()").replace("import os", "import signal, os");
    let mut server = Command::new(TRIAL);
    let confinement = serde_json::to_string(&rig.confinement).unwrap();
    server.args([&confinement, "python3", "-c", &script]);
    let (mut child, pipe) = SurvivorPipe::start(server.current_dir(rig.workspace()));
    child.kill().unwrap();
    pipe.wait_for_all();
    child.wait().unwrap();
}

fn child_of(process: Pid) -> Pid {
    let process = process.as_raw_nonzero();
    let list = fs::read_to_string(format!("/proc/{process}/task/{process}/children")).unwrap();
    Pid::from_raw(list.trim().parse().unwrap()).unwrap()
}

#[test]
fn command_sees_only_its_own_processes() {
    let Some(rig) = leaving_rig() else { return };
    let script = "
import os
for name in sorted(os.listdir('/proc')):
    if name.isdigit():
        try:
            print(name, b'SECRET' in open(f'/proc/{name}/environ', 'rb').read())
        except PermissionError:
            print(name, 'refused')
";
    let mut command = rig.command("python3", &["-c", script]);
    let output = command
        .env("HARN_TEST_SECRET", "x")
        .env_remove("PYENV_ROOT")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let lines: Vec<&str> = text.lines().collect();
    // The init, and this command itself.
    assert_eq!(lines.first(), Some(&"1 refused"), "{output:?}");
    assert_eq!(lines.len(), 2, "{output:?}");
}

#[test]
fn calls_that_lead_around_are_refused() {
    let Some(rig) = leaving_rig() else { return };
    // The numbers are those of x86-64.
    if std::env::consts::ARCH != "x86_64" {
        return;
    }
    let script = "
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
for name, number, *args in [
    ('io_uring_setup', 425, 1, 0), ('clone3', 435, 0, 0), ('ptrace', 101, 0, 0, 0, 0), ('keyctl', 250, 0),
    ('process_vm_readv', 310, 1, 0, 0, 0, 0, 0), ('bpf', 321, 0), ('userfaultfd', 323, 0), ('setns', 308, 0, 0),
    ('open_by_handle_at', 304, 0, 0, 0), ('unshare', 272, 0x10000000), ('clone', 56, 0x10000011, 0, 0, 0, 0),
    ('ioctl', 16, 0, 0x5412, 0), ('ioctl', 16, 0, 0x7f00005412, 0),
    ('pidfd_getfd', 438, 0, 0, 0), ('x32', 0x40000000 + 39), ('x32 socket', 0x40000000 + 41, 2, 1, 0),
]:
    result = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) for a in args])
    print(name, ctypes.get_errno() if result < 0 else 'DONE')
";
    let refused = rig.python(script).success();
    let expected = "io_uring_setup 38\nclone3 38\nptrace 1\nkeyctl 1\nprocess_vm_readv 1\nbpf 1\nuserfaultfd 1\n\
                    setns 1\nopen_by_handle_at 1\nunshare 1\nclone 1\nioctl 1\nioctl 1\npidfd_getfd 1\n\
                    x32 38\nx32 socket 38";
    assert_eq!(refused, expected);
}

#[test]
fn first_process_is_out_of_reach() {
    let Some(rig) = leaving_rig() else { return };
    for attack in [
        "open('/proc/1/mem', 'r+b')",
        "import os; os.readlink('/proc/1/fd/0')",
        "import os; os.readlink('/proc/1/root')",
        "import os; os.readlink('/proc/1/cwd')",
    ] {
        rig.python(attack).fails_with("PermissionError");
    }
    let script = "import os\nfor signal in range(1, 32): os.kill(1, signal)\nprint('still here')";
    assert_eq!(rig.python(script).success(), "still here");
}

#[test]
fn command_inherits_only_its_streams() {
    let Some(rig) = leaving_rig() else { return };
    let line = rig.command("ls", &["/proc/self/fd"]);
    // The shell becomes the helper, so the process of the test remains the parent.
    let output = Command::new("sh")
        .args(["-c", "exec 7</etc 8</etc/passwd; exec \"$@\"", "sh"])
        .arg(line.get_program())
        .args(line.get_args())
        .current_dir(rig.workspace())
        .output()
        .unwrap();
    // 3 is the folder that `ls` reads.
    assert_eq!(String::from_utf8_lossy(&output.stdout), "0\n1\n2\n3\n");
}

#[test]
fn memory_has_a_limit() {
    let Some(mut rig) = leaving_rig() else { return };
    rig.confinement.limits.memory_bytes = Some(200 << 20);
    rig.python("bytearray(400 << 20)").fails_with("MemoryError");
    rig.python("bytearray(50 << 20)").success();
}
