//! The supervisor: opens the namespaces, starts the init and ends as the command ended.

use std::{
    fs::{self, File},
    io::{self, Read as _},
    process::exit,
};

use nix::sched::{CloneFlags, unshare};
use rustix::{
    process::{Signal, getegid, geteuid},
    stdio::{dup2_stderr, dup2_stdin, dup2_stdout},
};

use super::{
    SetupError, child_end::ChildEnd, end, failed, follow_parent, fork, init,
    redirections::RedirectionRemover, wait_for_end,
};
use crate::helper::{HelperTask, NamespaceKind, SETUP_FAILED};

pub(super) fn run(task: &HelperTask, kind: NamespaceKind) -> Result<ChildEnd, SetupError> {
    follow_parent(task.spec.parent, Signal::KILL)?;
    let mut remover = RedirectionRemover::start(&task.spec.confinement.read_only)?;
    enter_namespaces(kind)?;
    // A change of credentials clears the signal of the parent's death.
    follow_parent(task.spec.parent, Signal::KILL)?;
    let (mut reader, writer) = io::pipe().map_err(failed("cannot create a pipe"))?;
    let Some(init) = fork()? else {
        drop(reader);
        let readiness = remover.map(RedirectionRemover::into_readiness);
        exit(end(init::run(task, writer, readiness)).into());
    };
    drop(writer);
    if let Some(remover) = &mut remover {
        remover.watch(init)?;
    }
    // A reader of the command's output must see its end although this process lives on, and so must a writer.
    release_stdio();
    let init_end = wait_for_end(init)?;
    if let Some(remover) = remover {
        remover.finish()?;
    }
    let mut bytes = [0; 2];
    if reader.read_exact(&mut bytes).is_ok() {
        return Ok(ChildEnd::from_bytes(bytes));
    }
    Ok(match init_end {
        // The init ended without a report of the command, so not as the command ended.
        ChildEnd::Code(_) => ChildEnd::Code(SETUP_FAILED),
        killed @ ChildEnd::Signal(_) => killed,
    })
}

fn enter_namespaces(kind: NamespaceKind) -> Result<(), SetupError> {
    let own = CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWPID | CloneFlags::CLONE_NEWIPC;
    match kind {
        NamespaceKind::Plain => unshare(own).map_err(failed("cannot open namespaces")),
        NamespaceKind::User => {
            let (uid, gid) = (geteuid().as_raw(), getegid().as_raw());
            unshare(own | CloneFlags::CLONE_NEWUSER)
                .map_err(failed("cannot open a user namespace"))?;
            let write = |name, text: String| {
                let path = format!("/proc/self/{name}");
                fs::write(&path, text).map_err(failed(path))
            };
            // The kernel demands this before an unprivileged process maps a group.
            write("setgroups", "deny".to_owned())?;
            write("uid_map", format!("{uid} {uid} 1"))?;
            write("gid_map", format!("{gid} {gid} 1"))
        }
    }
}

/// Gives up the standard streams, which are now those of the command alone.
pub(super) fn release_stdio() {
    let Ok(null) = File::options().read(true).write(true).open("/dev/null") else {
        return;
    };
    let _ = dup2_stdin(&null);
    let _ = dup2_stdout(&null);
    let _ = dup2_stderr(&null);
}
