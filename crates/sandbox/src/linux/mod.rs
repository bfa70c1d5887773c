//! The helper on Linux.
//!
//! With namespaces there are two processes. The *supervisor* is the child of the server and the leader of the process
//! group; it opens the namespaces and waits. The *init* is its fork and the first process of the PID namespace; it
//! builds the sandbox, starts the command and reaps. When the init ends, the kernel kills what is left in the namespace.
//! In a git repository, a third process outside the namespace then removes what a mount cannot prevent.
//!
//! Without namespaces, the *guard* takes the place of the supervisor: it adopts orphans and kills them itself. Its fork
//! restricts itself and becomes the command.

mod capabilities;
mod child_end;
mod guard;
mod hidden;
mod init;
mod landlock_rules;
mod limits;
mod mount_table;
mod mounts;
mod read_only;
mod redirections;
mod seccomp_filter;
mod supervisor;
mod system_probe;

use std::{ffi::OsString, fmt::Display, os::unix::process::parent_id, process::exit};

use fork::Fork;
use nix::sys::signal::SigSet;
use rustix::{
    io::Errno,
    process::{Pid, Signal, WaitOptions, set_parent_process_death_signal, waitpid},
};

use self::child_end::ChildEnd;
use crate::helper::{HelperTask, SETUP_FAILED, WORD, print_error};

pub(crate) use system_probe::probe;

/// Why the sandbox could not be built.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct SetupError(String);

/// Returns a function that puts what was attempted before an error.
fn failed<E: Display>(what: impl Display) -> impl FnOnce(E) -> SetupError {
    move |error| SetupError(format!("{what}: {error}"))
}

/// Does what the first argument asks for.
pub(crate) fn run_stage(word: &str, args: impl Iterator<Item = OsString>) -> Option<u8> {
    match word {
        system_probe::FEATURES => return Some(system_probe::report_features()),
        system_probe::ANSWER => return Some(system_probe::answer_trial()),
        WORD => {}
        _ => return None,
    }
    let task = HelperTask::from_args(args);
    let task = task.ok_or_else(|| SetupError("only a server starts the helper".to_owned()));
    Some(end(task.and_then(|task| match task.spec.namespaces {
        Some(kind) => supervisor::run(&task, kind),
        None => guard::run(&task),
    })))
}

/// Forks this process. Returns the new process to the old one, and nothing to the new one.
///
/// The helper has one thread, so the copy finds no lock that another thread holds.
fn fork() -> Result<Option<Pid>, SetupError> {
    match fork::fork().map_err(failed("cannot start a process"))? {
        Fork::Child => Ok(None),
        Fork::Parent(pid) => Ok(Pid::from_raw(pid)),
    }
}

/// Waits for a child to end, whatever signals arrive.
fn wait_for_end(child: Pid) -> Result<ChildEnd, SetupError> {
    loop {
        match waitpid(Some(child), WaitOptions::empty()) {
            Ok(Some((_, status))) => return Ok(ChildEnd::from_wait_status(status)),
            Ok(None) | Err(Errno::INTR) => {}
            Err(error) => return Err(failed("cannot wait for the command")(error)),
        }
    }
}

/// Ends this process as the command ended. Returns an exit code if the end was one.
fn end(result: Result<ChildEnd, SetupError>) -> u8 {
    match result {
        Ok(end) => end.repeat(),
        Err(error) => {
            print_error(&format_args!("sandbox: {error}"));
            SETUP_FAILED
        }
    }
}

/// Makes this process end with its parent and deaf to the signals of the process group, which are for the command.
fn follow_parent(parent: u32, signal: Signal) -> Result<(), SetupError> {
    SigSet::all()
        .thread_block()
        .map_err(failed("cannot block signals"))?;
    set_parent_process_death_signal(Some(signal)).map_err(failed("cannot follow the parent"))?;
    // The parent may have ended before the line above.
    if parent_id() != parent {
        exit(SETUP_FAILED.into());
    }
    Ok(())
}
