//! `harn-serve doctor`: checks the installation and prints one line per check.

use std::{
    env::{self, consts},
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Result;
use harn_acp::ProtocolVersion;
use harn_journal::{FORMAT_VERSION, JournalError, StoreListing};
use harn_terminal::{console::print, text};

use crate::{
    ServeOptions, TerminalAuth, default_config_dir, net,
    options::read_env_var,
    rules::{self, GrantStore},
    sandbox, session_store,
    trust::WorkspaceTrustStore,
};

enum DoctorFinding {
    Sound(String),
    /// Missing, and not needed.
    Note(String),
    Wrong(String),
}

impl<T: ToString, E: ToString> From<Result<T, E>> for DoctorFinding {
    fn from(checked: Result<T, E>) -> Self {
        match checked {
            Ok(found) => Self::Sound(found.to_string()),
            Err(error) => Self::Wrong(error.to_string()),
        }
    }
}

/// Returns the doctor as a method that editors run in a terminal; none if its name or an argument is not
/// Unicode, which JSON cannot represent.
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

pub(super) fn run(options: &ServeOptions) -> Result<ExitCode> {
    let state_dir = &*options.state_dir;
    let path = read_env_var("PATH").unwrap_or_default();
    let mut findings = vec![
        ("version", DoctorFinding::Sound(describe_version())),
        ("state dir", check_state_dir(state_dir).into()),
    ];
    findings.extend(
        check_sessions(options)
            .into_iter()
            .map(|it| ("sessions", it)),
    );
    findings.extend(check_policies().into_iter().map(|it| ("policy", it)));
    let grants = GrantStore::new(state_dir).all().map(|all| all.len());
    findings.push(("grants", grants.into()));
    findings.push(("trust", check_trust(state_dir)));
    findings.push(("token", check_tokens(state_dir)));
    findings.push(("sandbox", check_sandbox(options)));
    findings.push(("shell", check_shell(&path)));
    findings.push(("git", check_git(&path)));
    let row = |(what, finding): &(&'static str, DoctorFinding)| {
        let (grade, found) = match finding {
            DoctorFinding::Sound(found) => ("ok", found),
            DoctorFinding::Note(found) => ("note", found),
            DoctorFinding::Wrong(found) => ("wrong", found),
        };
        [grade.into(), (*what).into(), found.clone().into()]
    };
    let rows: Vec<_> = findings.iter().map(row).collect();
    print(&text::columns(&rows))?;
    let mut findings = findings.iter();
    let wrong = findings.any(|(_, finding)| matches!(finding, DoctorFinding::Wrong(_)));
    Ok(ExitCode::from(u8::from(wrong)))
}

fn describe_version() -> String {
    format!(
        "{} on {} {}, ACP {}, journal format {FORMAT_VERSION}",
        env!("CARGO_PKG_VERSION"),
        consts::OS,
        consts::ARCH,
        ProtocolVersion::V1,
    )
}

fn check_state_dir(dir: &Path) -> Result<String, String> {
    let shown = dir.display();
    let existing = dir.ancestors().find(|dir| dir.exists());
    match existing {
        Some(found) if !found.is_dir() => Err(format!("{} is not a directory", found.display())),
        Some(found) if !may_write(found) => Err(format!("{} is not writable", found.display())),
        Some(found) if found == dir => Ok(format!("{shown}, writable")),
        _ => Ok(format!("{shown}, will be created")),
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

/// Returns the number of sessions, and an error for each unreadable one.
fn check_sessions(options: &ServeOptions) -> Vec<DoctorFinding> {
    let store = session_store::select_storage(options).store;
    let StoreListing { sessions, problems } = match store.list() {
        Ok(listing) => listing,
        Err(error) => return vec![DoctorFinding::Wrong(error.to_string())],
    };
    let count = sessions.len() + problems.len();
    // A listing does not read the events.
    let damaged = sessions.iter().filter_map(|session| {
        let read = store.check_log(&session.meta.thread_id);
        // A session that is not found was deleted in the meantime.
        read.err()
            .filter(|e| !matches!(e, JournalError::NotFound(_)))
    });
    let wrong = problems.into_iter().chain(damaged);
    std::iter::once(DoctorFinding::Sound(count.to_string()))
        .chain(wrong.map(|error| DoctorFinding::Wrong(error.to_string())))
        .collect()
}

/// Checks the user's rules and those of the current directory.
fn check_policies() -> Vec<DoctorFinding> {
    let user = default_config_dir().map(|dir| rules::user_policy_path(&dir));
    let here = env::current_dir().map(|dir| rules::workspace_policy_path(&dir));
    let user = user.map(|file| (rules::check_named(&file), file));
    let here = here.ok().map(|file| (rules::check_found(&file), file));
    let files = user.into_iter().chain(here);
    let found = files.filter(|(_, file)| file.symlink_metadata().is_ok());
    let findings: Vec<_> = found
        .map(|(usable, file)| usable.map(|()| file.display().to_string()).into())
        .collect();
    match findings.is_empty() {
        true => vec![DoctorFinding::Sound(
            "no rules beyond the mode's".to_owned(),
        )],
        false => findings,
    }
}

/// Returns the number of trusted workspaces.
fn check_trust(state_dir: &Path) -> DoctorFinding {
    let all = match WorkspaceTrustStore::new(state_dir).all() {
        Ok(all) => all,
        Err(error) => return DoctorFinding::Wrong(error.to_string()),
    };
    let older = all.iter().filter(|known| known.files.is_empty()).count();
    if older > 0 {
        return DoctorFinding::Note(format!(
            "{older} of {} workspaces trusted by an earlier version, for no content; run `harn-serve trust` in them",
            all.len()
        ));
    }
    DoctorFinding::Sound(match all.len() {
        0 => "no workspace".to_owned(),
        count => format!("{count} workspaces"),
    })
}

/// Checks the token file.
fn check_tokens(state_dir: &Path) -> DoctorFinding {
    let file = net::token_file(state_dir);
    let shown = file.display();
    match net::check_tokens(&file) {
        Ok(Some(1)) => DoctorFinding::Sound(shown.to_string()),
        Ok(Some(count)) => DoctorFinding::Sound(format!("{shown}, {count} tokens")),
        Ok(None) => DoctorFinding::Sound("none; created when a server listens".to_owned()),
        Err(error) => DoctorFinding::Wrong(format!("{error:#}")),
    }
}

/// Lists the layers of the sandbox that work here, and what is missing.
fn check_sandbox(options: &ServeOptions) -> DoctorFinding {
    let helper = match sandbox::find_helper(options) {
        Ok(helper) => helper,
        Err(reason) => return DoctorFinding::Wrong(reason),
    };
    let support = helper.probe();
    let layers: Vec<_> = support.layers.iter().map(|layer| layer.name()).collect();
    let found = match layers.is_empty() {
        true => "none: commands run without one".to_owned(),
        false => layers.join(", "),
    };
    match support.gaps.is_empty() {
        true => DoctorFinding::Sound(found),
        false => DoctorFinding::Note(format!("{found}; {}", support.gaps.join("; "))),
    }
}

fn check_shell(path: &OsStr) -> DoctorFinding {
    let name = if cfg!(windows) { "cmd.exe" } else { "sh" };
    let found = find_in_path(name, path).map(|found| found.display().to_string());
    found
        .ok_or_else(|| format!("{name} is not in PATH; /run needs it"))
        .into()
}

fn check_git(path: &OsStr) -> DoctorFinding {
    let name = if cfg!(windows) { "git.exe" } else { "git" };
    match find_in_path(name, path) {
        Some(found) => DoctorFinding::Sound(found.display().to_string()),
        None => DoctorFinding::Note("not in PATH; optional".to_owned()),
    }
}

fn find_in_path(name: &str, path: &OsStr) -> Option<PathBuf> {
    let mut candidates = env::split_paths(path).map(|dir| dir.join(name));
    candidates.find(|file| file.is_file())
}
