//! The init: the first process of the PID namespace. It builds the sandbox, starts the command and reaps.

use std::{
    env, fs,
    io::{PipeReader, PipeWriter, Read as _, Write as _},
    os::fd::{AsRawFd, RawFd},
    path::Path,
    process::{Command, exit},
};

use nix::sys::signal::SigSet;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    process::{
        DumpableBehavior, Pid, Signal, WaitOptions, chdir, set_dumpable_behavior,
        set_parent_process_death_signal, wait,
    },
};

use super::{
    SetupError, capabilities,
    child_end::{ChildEnd, start_error},
    failed, landlock_rules, limits, mounts, seccomp_filter, supervisor,
};
use crate::helper::{HelperTask, NamespaceKind, SETUP_FAILED};

/// Builds the sandbox and runs the command in it; if there is a `readiness`, not before it has a byte.
pub(super) fn run(
    task: &HelperTask,
    mut report: PipeWriter,
    readiness: Option<PipeReader>,
) -> Result<ChildEnd, SetupError> {
    // Without handlers, the kernel drops the signals to the first process of a namespace. A command inherits the
    // mask, so nothing is blocked.
    SigSet::all()
        .thread_unblock()
        .map_err(failed("cannot unblock signals"))?;
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(failed("cannot follow the supervisor"))?;
    // The supervisor may have ended before the line above; then the pipe has no reader.
    exit_without_reader(&report);
    let mut kept = vec![report.as_raw_fd()];
    kept.extend(readiness.as_ref().map(AsRawFd::as_raw_fd));
    close_inherited_files(&kept)?;
    // The command must not look into this process.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(failed("cannot protect the helper"))?;
    let spec = &task.spec;
    let cwd = env::current_dir().map_err(failed("the working directory cannot be read"))?;
    let view = mounts::build(
        &spec.confinement,
        &cwd,
        Path::new(&task.program),
        spec.landlock,
    )?;
    // The old working directory is below the new mounts.
    chdir(&cwd).map_err(failed(format_args!(
        "{}: the working directory is not visible",
        cwd.display()
    )))?;
    limits::set(spec.confinement.limits)?;
    capabilities::give_up(spec.namespaces == Some(NamespaceKind::Plain))?;
    if spec.landlock {
        landlock_rules::restrict_writes(&spec.confinement, &view.writable)?;
    }
    if spec.seccomp {
        seccomp_filter::install(&spec.confinement)?;
    }
    let mut command = Command::new(&task.program);
    command.args(&task.args);
    if let Some(temporary) = &view.temporary {
        command.env("TMPDIR", temporary);
    }
    if let Some(mut readiness) = readiness {
        readiness
            .read_exact(&mut [0])
            .map_err(failed("the files of git are not watched"))?;
    }
    let end = match command.spawn() {
        Ok(child) => {
            supervisor::release_stdio();
            reap_until_end(child.id())?
        }
        Err(error) => start_error(&task.program, &error),
    };
    report
        .write_all(&end.to_bytes())
        .map_err(failed("cannot report the end of the command"))?;
    Ok(ChildEnd::Code(0))
}

/// Closes the files beyond the standard streams. The program that started the server may have left some open, and an
/// open folder leads past the mounts.
pub(super) fn close_inherited_files(kept: &[RawFd]) -> Result<(), SetupError> {
    const PATH: &str = "/proc/self/fd";
    let mut numbers: Vec<RawFd> = Vec::new();
    for file in fs::read_dir(PATH).map_err(failed(PATH))? {
        let name = file.map_err(failed(PATH))?.file_name();
        numbers.extend(name.to_str().and_then(|name| name.parse::<RawFd>().ok()));
    }
    for number in numbers {
        if number > 2 && !kept.contains(&number) {
            // The listing itself was open, and is closed already.
            let _ = nix::unistd::close(number);
        }
    }
    Ok(())
}

fn exit_without_reader(report: &PipeWriter) {
    let mut pipe = [PollFd::new(report, PollFlags::empty())];
    let now = Timespec::default();
    if poll(&mut pipe, Some(&now)).is_ok() && pipe[0].revents().contains(PollFlags::ERR) {
        exit(SETUP_FAILED.into());
    }
}

/// Reaps children until the command has ended.
fn reap_until_end(command: u32) -> Result<ChildEnd, SetupError> {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if is_process(pid, command) => {
                return Ok(ChildEnd::from_wait_status(status));
            }
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(failed("cannot wait for the command")(error)),
        }
    }
}

fn is_process(pid: Pid, number: u32) -> bool {
    pid.as_raw_nonzero().get().cast_unsigned() == number
}
