//! The helper on Linux.
//!
//! With namespaces there are two stages. The *supervisor* is the child of the server and the leader of the process
//! group; it opens the namespaces and waits. The *init* is the first process of the PID namespace; it builds the
//! sandbox, starts the command and reaps. When the init ends, the kernel kills what is left in the namespace.
//!
//! Without namespaces, the *guard* takes the place of the supervisor: it adopts orphans and kills them itself. The
//! *last stage* restricts itself and becomes the command.

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
mod seccomp_filter;
mod supervisor;
mod system_probe;

use std::{ffi::OsString, fmt::Display, os::unix::process::parent_id, process::exit};

use nix::sys::signal::SigSet;
use rustix::process::{Signal, set_parent_process_death_signal};

use self::child_end::ChildEnd;
use crate::helper::{ANSWER, FEATURES, HelperSpec, HelperTask, SETUP_FAILED, WORD, print_error};

pub(crate) use system_probe::probe;

/// The hidden words of the later stages.
const INIT: &str = "sandbox-init";
const LAST: &str = "sandbox-last";

/// The program that the later stages start from: the running one, even if its file was replaced.
const SELF: &str = "/proc/self/exe";

/// Why the sandbox could not be built.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct SetupError(String);

/// Returns a function that puts what was attempted before an error.
fn failed<E: Display>(what: impl Display) -> impl FnOnce(E) -> SetupError {
    move |error| SetupError(format!("{what}: {error}"))
}

/// Runs the stage that the first argument names.
pub(crate) fn run_stage(word: &str, args: impl Iterator<Item = OsString>) -> Option<u8> {
    let stage: fn(&HelperTask) -> Result<ChildEnd, SetupError> = match word {
        FEATURES => return Some(system_probe::report_features()),
        ANSWER => return Some(system_probe::answer_trial()),
        WORD => |task| match task.spec.namespaces {
            Some(kind) => supervisor::run(task, kind),
            None => guard::run(task),
        },
        INIT => init::run,
        LAST => guard::become_command,
        _ => return None,
    };
    let task = HelperTask::from_args(args);
    let task = task.ok_or_else(|| SetupError("only a server starts the helper".to_owned()));
    Some(end(task.and_then(|task| stage(&task))))
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
fn follow_parent(spec: &HelperSpec, signal: Signal) -> Result<(), SetupError> {
    SigSet::all()
        .thread_block()
        .map_err(failed("cannot block signals"))?;
    set_parent_process_death_signal(Some(signal)).map_err(failed("cannot follow the server"))?;
    // The server may have ended before the line above.
    if parent_id() != spec.parent {
        exit(SETUP_FAILED.into());
    }
    Ok(())
}
