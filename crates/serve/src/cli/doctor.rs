//! `harn-serve doctor`: looks at what we stand on and says so, one line each.

use std::{
    env::{self, consts},
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Result;
use harn_acp::ProtocolVersion;
use harn_journal::{FORMAT_VERSION, JournalError, Listing};
use harn_terminal::{console::print, text};

use crate::{
    Options, TerminalAuth, default_config_dir, net,
    rules::{self, Grants},
    session_store,
    trust::Trusted,
};

/// What became of a check.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Grade {
    Ok,
    /// Missing, and not needed.
    Note,
    Wrong,
}

struct Finding {
    grade: Grade,
    what: &'static str,
    found: String,
}

fn finding(grade: Grade, what: &'static str, found: impl Into<String>) -> Finding {
    let found = found.into();
    Finding { grade, what, found }
}

/// The doctor as a method that editors run in a terminal; none where its name or an argument is not Unicode,
/// which JSON cannot give back.
pub(super) fn as_terminal_auth() -> Option<TerminalAuth> {
    let words = env::args_os().skip(1).map(OsString::into_string);
    Some(TerminalAuth {
        id: "doctor",
        name: "Check the installation",
        description: "No session needs this. It lists what harn-serve found on this machine, and whether it is sound.",
        args: vec!["--doctor".to_owned()],
        program: env::current_exe()
            .ok()?
            .into_os_string()
            .into_string()
            .ok()?,
        started_with: words.collect::<Result<_, _>>().ok()?,
    })
}

pub(super) fn run(options: &Options) -> Result<ExitCode> {
    let state_dir = &*options.state_dir;
    #[allow(
        clippy::disallowed_methods,
        reason = "the environment enters the project here"
    )]
    let path = env::var_os("PATH").unwrap_or_default();
    let mut findings = vec![version(), state(state_dir)];
    findings.extend(sessions(options));
    findings.extend(policies());
    findings.push(grants(state_dir));
    findings.push(trusted(state_dir));
    findings.push(tokens(state_dir));
    findings.push(shell(&path));
    findings.push(git(&path));
    let rows: Vec<_> = findings
        .iter()
        .map(|finding| {
            let grade = match finding.grade {
                Grade::Ok => "ok",
                Grade::Note => "note",
                Grade::Wrong => "wrong",
            };
            [
                grade.into(),
                finding.what.into(),
                finding.found.as_str().into(),
            ]
        })
        .collect();
    print(&text::columns(&rows))?;
    let wrong = findings.iter().any(|f| f.grade == Grade::Wrong);
    Ok(ExitCode::from(u8::from(wrong)))
}

fn version() -> Finding {
    let found = format!(
        "{} on {} {}, ACP {}, journal format {FORMAT_VERSION}",
        env!("CARGO_PKG_VERSION"),
        consts::OS,
        consts::ARCH,
        ProtocolVersion::V1,
    );
    finding(Grade::Ok, "version", found)
}

fn state(dir: &Path) -> Finding {
    const WHAT: &str = "state dir";
    let shown = dir.display();
    let existing = dir.ancestors().find(|dir| dir.exists());
    match existing {
        Some(found) if !found.is_dir() => finding(
            Grade::Wrong,
            WHAT,
            format!("{} is not a directory", found.display()),
        ),
        Some(found) if !may_write(found) => finding(
            Grade::Wrong,
            WHAT,
            format!("{} is not writable", found.display()),
        ),
        Some(found) if found == dir => finding(Grade::Ok, WHAT, format!("{shown}, writable")),
        _ => finding(Grade::Ok, WHAT, format!("{shown}, will be created")),
    }
}

#[cfg(unix)]
fn may_write(dir: &Path) -> bool {
    use rustix::fs::{Access, access};
    access(dir, Access::WRITE_OK | Access::EXEC_OK).is_ok()
}

#[cfg(not(unix))]
fn may_write(dir: &Path) -> bool {
    std::fs::metadata(dir).is_ok_and(|meta| !meta.permissions().readonly())
}

/// How many there are, and each that cannot be read.
fn sessions(options: &Options) -> Vec<Finding> {
    const WHAT: &str = "sessions";
    let store = session_store::of(options).store;
    let Listing { sessions, problems } = match store.list() {
        Ok(listing) => listing,
        Err(error) => return vec![finding(Grade::Wrong, WHAT, error.to_string())],
    };
    let count = sessions.len() + problems.len();
    // A listing does not read the events.
    let damaged = sessions.iter().filter_map(|session| {
        let read = store.read(&session.meta.thread_id);
        // One that is not found was deleted while we looked.
        read.err()
            .filter(|e| !matches!(e, JournalError::NotFound(_)))
    });
    let wrong = problems.into_iter().chain(damaged);
    std::iter::once(finding(Grade::Ok, WHAT, count.to_string()))
        .chain(wrong.map(|error| finding(Grade::Wrong, WHAT, error.to_string())))
        .collect()
}

/// The person's rules and those of the directory we stand in.
fn policies() -> Vec<Finding> {
    const WHAT: &str = "policy";
    let user = default_config_dir().map(|dir| rules::of_user(&dir));
    let here = env::current_dir().map(|dir| rules::of_workspace(&dir));
    let user = user.map(|file| (rules::check_named(&file), file));
    let here = here.ok().map(|file| (rules::check_found(&file), file));
    let files = user.into_iter().chain(here);
    let found = files.filter(|(_, file)| file.symlink_metadata().is_ok());
    let findings: Vec<_> = found
        .map(|(usable, file)| match usable {
            Ok(()) => finding(Grade::Ok, WHAT, file.display().to_string()),
            Err(error) => finding(Grade::Wrong, WHAT, error.to_string()),
        })
        .collect();
    match findings.is_empty() {
        true => vec![finding(Grade::Ok, WHAT, "no rules beyond the mode's")],
        false => findings,
    }
}

fn grants(state_dir: &Path) -> Finding {
    const WHAT: &str = "grants";
    match Grants::new(state_dir).all() {
        Ok(all) => finding(Grade::Ok, WHAT, all.len().to_string()),
        Err(error) => finding(Grade::Wrong, WHAT, error.to_string()),
    }
}

/// How many workspaces may have things run.
fn trusted(state_dir: &Path) -> Finding {
    const WHAT: &str = "trust";
    match Trusted::new(state_dir).all() {
        Ok(all) if all.is_empty() => finding(Grade::Ok, WHAT, "no workspace"),
        Ok(all) => finding(Grade::Ok, WHAT, format!("{} of them", all.len())),
        Err(error) => finding(Grade::Wrong, WHAT, error.to_string()),
    }
}

/// Who may come in over the network, if anybody may.
fn tokens(state_dir: &Path) -> Finding {
    const WHAT: &str = "token";
    let file = net::token_file(state_dir);
    match net::check_tokens(&file) {
        Ok(Some(1)) => finding(Grade::Ok, WHAT, format!("{}", file.display())),
        Ok(Some(count)) => finding(
            Grade::Ok,
            WHAT,
            format!("{}, {count} of them", file.display()),
        ),
        Ok(None) => finding(Grade::Ok, WHAT, "none; made when something listens"),
        Err(error) => finding(Grade::Wrong, WHAT, format!("{error:#}")),
    }
}

fn shell(path: &OsStr) -> Finding {
    let name = if cfg!(windows) { "cmd.exe" } else { "sh" };
    match find(name, path) {
        Some(found) => finding(Grade::Ok, "shell", found.display().to_string()),
        None => finding(
            Grade::Wrong,
            "shell",
            format!("{name} is not in PATH; /run needs it"),
        ),
    }
}

fn git(path: &OsStr) -> Finding {
    let name = if cfg!(windows) { "git.exe" } else { "git" };
    match find(name, path) {
        Some(found) => finding(Grade::Ok, "git", found.display().to_string()),
        None => finding(Grade::Note, "git", "not in PATH; nothing needs it"),
    }
}

fn find(name: &str, path: &OsStr) -> Option<PathBuf> {
    let mut candidates = env::split_paths(path).map(|dir| dir.join(name));
    candidates.find(|file| file.is_file())
}
