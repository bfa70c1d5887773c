//! The helper on systems other than Linux: the sandbox of macOS, elsewhere none.

use std::{ffi::OsString, path::Path};

use crate::helper::SystemReport;

/// Runs the stage that the first argument names.
#[cfg(target_os = "macos")]
pub(crate) fn run_stage(word: &str, args: impl Iterator<Item = OsString>) -> Option<u8> {
    use std::{
        os::unix::process::{CommandExt as _, parent_id},
        process::Command,
    };

    use crate::{
        helper::{HelperTask, SETUP_FAILED, WORD, print_error},
        seatbelt::{PROGRAM, profile},
    };

    if word != WORD {
        return None;
    }
    let task = HelperTask::from_args(args).filter(|task| task.spec.parent == parent_id());
    let Some(task) = task else {
        print_error(&"sandbox: only a server starts the helper");
        return Some(SETUP_FAILED);
    };
    let confinement = &task.spec.confinement;
    let mut command = Command::new(PROGRAM);
    command.arg("-p").arg(profile(confinement));
    command.arg(&task.program).args(&task.args);
    if let Some(temporary) = &confinement.temporary {
        command.env("TMPDIR", temporary);
    }
    print_error(&format_args!("sandbox: {PROGRAM}: {}", command.exec()));
    Some(SETUP_FAILED)
}

/// Returns what macOS provides.
#[cfg(target_os = "macos")]
pub(crate) fn probe(_: &Path) -> SystemReport {
    use crate::{SandboxLayer, SandboxSupport, seatbelt::PROGRAM};

    if !Path::new(PROGRAM).exists() {
        return SystemReport::without(format!("there is no sandbox: {PROGRAM} is missing"));
    }
    let gap = "seatbelt: processes that leave their group survive the command, tool caches are read-only, and there are \
               no limits";
    SystemReport {
        support: SandboxSupport {
            layers: vec![SandboxLayer::Seatbelt],
            gaps: vec![gap.to_owned()],
        },
        ..SystemReport::without("")
    }
}

/// Does nothing: this system has no helper.
#[cfg(not(target_os = "macos"))]
pub(crate) fn run_stage(_: &str, _: impl Iterator<Item = OsString>) -> Option<u8> {
    None
}

/// Returns that this system has no sandbox.
#[cfg(not(target_os = "macos"))]
pub(crate) fn probe(_: &Path) -> SystemReport {
    SystemReport::without("there is no sandbox for this system")
}
