//! The guard: starts a command without namespaces, and kills what it leaves behind.
//!
//! It adopts processes whose parents ended, finds its descendants in `/proc` and kills them until none is left. It
//! also does so when it is asked to end, and when the server ends. Only a `SIGKILL` to the guard itself leaves
//! processes that left the group.

use std::{
    fs,
    os::unix::process::CommandExt as _,
    path::PathBuf,
    process::{Command, exit, id},
};

use nix::sys::signal::{SigSet, Signal as BlockedSignal};
use rustix::{
    process::{Pid, Signal, WaitOptions, getpid, kill_process, set_child_subreaper, wait},
    thread::{NanosleepRelativeResult, Timespec, nanosleep},
};

use super::{
    SetupError, capabilities,
    child_end::{ChildEnd, start_error},
    end, failed, follow_parent, fork,
    init::close_inherited_files,
    landlock_rules, limits,
    mounts::{DEVICES, existing},
    seccomp_filter,
    supervisor::release_stdio,
};
use crate::helper::HelperTask;

pub(super) fn run(task: &HelperTask) -> Result<ChildEnd, SetupError> {
    follow_parent(task.spec.parent, Signal::TERM)?;
    set_child_subreaper(Some(getpid())).map_err(failed("cannot adopt processes"))?;
    let guard = id();
    let Some(command) = fork()? else {
        exit(end(become_command(task, guard)).into());
    };
    release_stdio();
    let mut awaited = SigSet::empty();
    awaited.add(BlockedSignal::SIGCHLD);
    awaited.add(BlockedSignal::SIGTERM);
    loop {
        while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
            if pid == command {
                end_descendants();
                return Ok(ChildEnd::from_wait_status(status));
            }
        }
        let signal = awaited
            .wait()
            .map_err(failed("cannot wait for the command"))?;
        if signal == BlockedSignal::SIGTERM {
            // The command received it too. The server kills this process after 250 ms.
            let own_end = wait_a_moment(command);
            end_descendants();
            return Ok(own_end.unwrap_or(ChildEnd::Signal(15)));
        }
    }
}

/// Waits a moment in which the command may end by itself. Returns how it ended if it did.
fn wait_a_moment(command: Pid) -> Option<ChildEnd> {
    const STEP: Timespec = Timespec {
        tv_sec: 0,
        tv_nsec: 5_000_000,
    };
    for _ in 0..30 {
        while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
            if pid == command {
                return Some(ChildEnd::from_wait_status(status));
            }
        }
        if let NanosleepRelativeResult::Err(_) = nanosleep(&STEP) {
            break;
        }
    }
    None
}

/// Kills descendants until none is left. A killed process gives its children to this one.
fn end_descendants() {
    loop {
        let children = children_of(id());
        if children.is_empty() {
            return;
        }
        for child in children {
            kill_tree(child);
        }
        // At least one has ended or will.
        let _ = wait(WaitOptions::empty());
        while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
    }
}

fn kill_tree(process: u32) {
    for child in children_of(process) {
        kill_tree(child);
    }
    if let Some(pid) = i32::try_from(process).ok().and_then(Pid::from_raw) {
        let _ = kill_process(pid, Signal::KILL);
    }
}

/// Returns the children of all threads of a process.
fn children_of(process: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{process}/task"));
    let lists = threads
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|thread| {
            let children = thread.path().join("children");
            fs::read_to_string(children).ok()
        });
    let numbers =
        |list: String| Vec::from_iter(list.split_whitespace().filter_map(|it| it.parse().ok()));
    lists.flat_map(numbers).collect()
}

/// Restricts this process and becomes the command.
fn become_command(task: &HelperTask, guard: u32) -> Result<ChildEnd, SetupError> {
    follow_parent(guard, Signal::KILL)?;
    close_inherited_files(&[])?;
    let spec = &task.spec;
    if !spec.landlock {
        return Err(SetupError("nothing limits files here".to_owned()));
    }
    let confinement = &spec.confinement;
    let mut writable: Vec<PathBuf> = confinement.writable.iter().filter_map(existing).collect();
    let temporary = confinement.temporary.as_ref().and_then(existing);
    writable.extend(temporary.clone());
    limits::set(confinement.limits)?;
    capabilities::give_up(rustix::process::geteuid().is_root())?;
    let mut unreadable: Vec<PathBuf> = confinement.hidden.iter().filter_map(existing).collect();
    // Terminals and shared memory of other programs are there.
    if !writable.iter().any(|path| path.as_os_str() == "/") {
        unreadable.push("/dev".into());
    }
    writable.extend(DEVICES.map(PathBuf::from));
    landlock_rules::restrict_writes_and_reads(confinement, &writable, &unreadable)?;
    if spec.seccomp {
        seccomp_filter::install(confinement)?;
    }
    SigSet::all()
        .thread_unblock()
        .map_err(failed("cannot unblock signals"))?;
    let mut command = Command::new(&task.program);
    command.args(&task.args);
    if let Some(temporary) = &temporary {
        command.env("TMPDIR", temporary);
    }
    Ok(start_error(&task.program, &command.exec()))
}
