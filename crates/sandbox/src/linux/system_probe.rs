//! Finds out what the system provides, by trials in child processes.

use std::{
    ffi::OsStr,
    fs,
    io::{self, Read, Write as _},
    os::fd::AsFd,
    path::Path,
    process::{Child, Command, Stdio, id},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, PidfdFlags, geteuid, pidfd_open},
};
use serde::{Deserialize, Serialize};

use super::{landlock_rules, seccomp_filter};
use crate::{
    Confinement, SandboxLayer, SandboxSupport,
    helper::{HelperSpec, HelperTask, NamespaceKind, SystemReport},
};

/// The hidden first arguments of the two questions.
pub(super) const FEATURES: &str = "sandbox-features";
pub(super) const ANSWER: &str = "sandbox-answer";

/// The time that one trial may take.
const LIMIT: Timespec = Timespec {
    tv_sec: 5,
    tv_nsec: 0,
};

/// The program that a trial runs inside the sandbox: the helper itself.
const SELF: &str = "/proc/self/exe";

/// The version of Landlock's interface that has all the rights we use.
const WHOLE_LANDLOCK: u8 = 6;

/// What a trial prints if its view of the processes is its own.
const OWN_PROCESSES: &str = "own processes";

/// What the kernel offers to any process.
#[derive(Serialize, Deserialize)]
struct KernelFeatures {
    landlock: u8,
    seccomp: bool,
}

/// Restricts this process as far as possible and prints how far that is.
pub(crate) fn report_features() -> u8 {
    let features = KernelFeatures {
        landlock: landlock_rules::interface_version(),
        seccomp: seccomp_filter::install(&Confinement::default()).is_ok(),
    };
    print(&serde_json::to_string(&features).unwrap_or_default())
}

/// The command of a trial: it prints what it sees from inside.
pub(crate) fn answer_trial() -> u8 {
    let own = fs::read_link("/proc/self").is_ok_and(|it| it == Path::new(&id().to_string()));
    print(if own { OWN_PROCESSES } else { "all processes" })
}

/// The process has no other output, so this is not the protocol of a server.
fn print(text: &str) -> u8 {
    let written = io::stdout().write_all(text.as_bytes());
    u8::from(written.is_err())
}

/// Tries the layers, the strongest combination first.
pub(crate) fn probe(program: &Path) -> SystemReport {
    let features = run_trial(program, &[FEATURES.as_ref()]).and_then(|text| {
        serde_json::from_str::<KernelFeatures>(&text).map_err(|error| error.to_string())
    });
    let features = match features {
        Ok(features) => features,
        Err(error) => {
            let reason = format!(
                "there is no sandbox: {} does not answer as a helper ({error})",
                program.display()
            );
            return SystemReport::without(reason);
        }
    };
    let mut gaps = Vec::new();
    let (namespaces, reason) = try_namespaces(program, &features, &mut gaps);
    describe(&features, namespaces, &reason, gaps)
}

/// Returns the report about what the trials found. `reason` states why there are no namespaces.
fn describe(
    features: &KernelFeatures,
    namespaces: Option<NamespaceKind>,
    reason: &str,
    mut gaps: Vec<String>,
) -> SystemReport {
    if namespaces.is_none() && features.landlock == 0 {
        return SystemReport::without(format!(
            "there is no sandbox, because nothing limits files: the kernel lacks Landlock or it is off, and there are no \
             namespaces ({reason})"
        ));
    }
    let mut layers = Vec::new();
    if namespaces.is_some() {
        layers.push(SandboxLayer::Namespaces);
    } else {
        gaps.push(format!(
            "namespaces: {reason}. Commands see the processes of this system and the names in hidden folders, protected \
             files inside writable folders can be changed, and tool caches, terminals and shared memory are closed"
        ));
    }
    if features.landlock > 0 {
        layers.push(SandboxLayer::Landlock);
    }
    if features.landlock < WHOLE_LANDLOCK {
        gaps.push(landlock_gap(features.landlock));
    }
    if features.seccomp {
        layers.push(SandboxLayer::Seccomp);
    } else {
        gaps.push("seccomp: the kernel lacks it, so that commands can open any socket".to_owned());
    }
    SystemReport {
        support: SandboxSupport { layers, gaps },
        namespaces,
        landlock: features.landlock > 0,
        seccomp: features.seccomp,
    }
}

fn landlock_gap(version: u8) -> String {
    let lacks = match version {
        0 => {
            "the kernel lacks it or it is off: TCP ports are not limited, and processes outside are not protected"
        }
        1 => "version 1 of 6: files cannot be moved between folders, and TCP ports are not limited",
        2 | 3 => "an old version: TCP ports are not limited",
        4 => "version 4 of 6: requests to devices are not limited",
        _ => "version 5 of 6: abstract Unix sockets and signals are not limited",
    };
    format!("landlock: {lacks}")
}

/// Returns the namespaces that work, or why none does.
fn try_namespaces(
    program: &Path,
    features: &KernelFeatures,
    gaps: &mut Vec<String>,
) -> (Option<NamespaceKind>, String) {
    let kinds: &[NamespaceKind] = if geteuid().is_root() {
        &[NamespaceKind::Plain, NamespaceKind::User]
    } else {
        &[NamespaceKind::User]
    };
    let mut reason = String::new();
    for kind in kinds {
        let spec = HelperSpec {
            parent: id(),
            namespaces: Some(*kind),
            landlock: features.landlock > 0,
            seccomp: features.seccomp,
            confinement: Confinement::default(),
        };
        let task = HelperTask::new(spec, OsStr::new(SELF), &[ANSWER]);
        let answer = task
            .to_args()
            .map_err(|error| error.to_string())
            .and_then(|args| run_trial(program, &Vec::from_iter(args.iter().map(AsRef::as_ref))));
        match answer {
            Ok(answer) => {
                if answer != OWN_PROCESSES {
                    gaps.push(
                        "namespaces: /proc cannot be mounted, so that commands see all processes"
                            .to_owned(),
                    );
                }
                return (Some(*kind), reason);
            }
            Err(error) => reason = error,
        }
    }
    (None, reason)
}

/// Runs the program and returns its output, or the last line of its errors.
fn run_trial(program: &Path, args: &[&OsStr]) -> Result<String, String> {
    let mut child = Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    // A process that has ended in time wrote less than a pipe has room for.
    let has_ended = ends_in_time(&child);
    if !has_ended {
        let _ = child.kill();
    }
    let status = child.wait().map_err(|error| error.to_string())?;
    let answer = child.stdout.take().map(read_present).unwrap_or_default();
    let errors = child.stderr.take().map(read_present).unwrap_or_default();
    if status.success() && !answer.is_empty() {
        return Ok(answer);
    }
    let last = errors.lines().next_back().unwrap_or("no answer");
    Err(last.trim_start_matches("sandbox: ").to_owned())
}

/// Returns whether a process ends within the limit.
fn ends_in_time(child: &Child) -> bool {
    let Ok(process) = pidfd_open(Pid::from_child(child), PidfdFlags::empty()) else {
        return false;
    };
    let mut end = [PollFd::new(&process, PollFlags::IN)];
    poll(&mut end, Some(&LIMIT)).is_ok_and(|count| count > 0)
}

/// Reads what is in a pipe, and does not wait for more: another process may still hold its other end.
fn read_present(mut pipe: impl Read + AsFd) -> String {
    let mut bytes = vec![0; 4096];
    let mut ready = [PollFd::new(&pipe, PollFlags::IN)];
    let is_ready = poll(&mut ready, Some(&Timespec::default())).is_ok_and(|count| count > 0);
    let length = is_ready.then(|| pipe.read(&mut bytes).ok()).flatten();
    bytes.truncate(length.unwrap_or_default());
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trial_that_prints_and_does_not_end_is_killed() {
        let script = "echo first; exec sleep 1000";
        let result = run_trial("sh".as_ref(), &["-c".as_ref(), script.as_ref()]);
        assert_eq!(result, Err("no answer".to_owned()));
        // A process that outlives the trial does not delay the answer.
        let script = "sleep 20 & echo answer";
        let result = run_trial("sh".as_ref(), &["-c".as_ref(), script.as_ref()]);
        assert_eq!(result, Ok("answer\n".to_owned()));
    }

    #[test]
    fn system_that_does_not_limit_files_has_no_sandbox() {
        let features = KernelFeatures {
            landlock: 0,
            seccomp: true,
        };
        let report = describe(&features, None, "denied", Vec::new());
        assert_eq!(report.support.layers, []);
        assert!(!report.seccomp);
        assert!(report.support.gaps[0].ends_with("(denied)"));
        let report = describe(&features, Some(NamespaceKind::User), "", Vec::new());
        assert!(report.support.has(SandboxLayer::Seccomp));
        assert!(!report.support.is_none());
    }
}
