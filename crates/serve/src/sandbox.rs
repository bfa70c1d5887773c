//! The sandbox of the server: the helper in this program, what commands never see, and the caches of tools.

use std::{
    env,
    ffi::{OsStr, OsString},
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use harn_runtime::RuleBook;
use harn_sandbox::SandboxHelper;
use harn_tools::LocalSandboxConfig;

use crate::{
    ServeOptions,
    options::{home_dir, read_env_var},
};

/// Whether commands run in a sandbox.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SandboxMode {
    /// Commands run with all rights of the user.
    Off,
    /// Commands run in the sandbox, as far as the system provides one.
    #[default]
    Auto,
    /// Commands run only if the system provides the whole sandbox.
    Require,
}

impl SandboxMode {
    /// All modes.
    pub const ALL: [Self; 3] = [Self::Off, Self::Auto, Self::Require];

    /// Returns the id of the mode.
    pub fn id(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Auto => "auto",
            Self::Require => "require",
        }
    }

    /// Returns the mode with this id.
    pub fn from_id(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.id() == id)
    }
}

/// Whether this program runs as the helper when its command line asks for it.
static IS_OWN_HELPER: AtomicBool = AtomicBool::new(false);

/// Makes this program the helper that confines its commands: if the command line asks for the helper, runs it and ends
/// the process.
///
/// The functions that serve call this themselves. A program that reads its arguments before it serves, or that uses
/// [`hub`](crate::hub), calls it first in `main`, or names another helper in
/// [`ServeOptions::sandbox_helper`](crate::ServeOptions::sandbox_helper).
pub fn dispatch_sandbox_helper() {
    if let Some(code) = harn_sandbox::dispatch() {
        std::process::exit(code.into());
    }
    IS_OWN_HELPER.store(true, Ordering::Relaxed);
}

/// Returns the program that confines commands, or the reason why there is none.
pub(crate) fn find_helper(options: &ServeOptions) -> Result<SandboxHelper, String> {
    if let Some(program) = &options.sandbox_helper {
        return Ok(SandboxHelper::new(program));
    }
    if !IS_OWN_HELPER.load(Ordering::Relaxed) {
        return Err(
            "this program has no helper for it; its author calls `dispatch_sandbox_helper` first in `main`".to_owned(),
        );
    }
    if cfg!(target_os = "linux") {
        // The running program, also after its file was replaced.
        return Ok(SandboxHelper::new("/proc/self/exe"));
    }
    let own = env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
    Ok(SandboxHelper::new(own))
}

/// Returns the sandbox for this server's commands; none if it is off.
pub(crate) fn configure(
    options: &ServeOptions,
    rules: Arc<dyn RuleBook>,
) -> Option<LocalSandboxConfig> {
    let required = match options.sandbox {
        SandboxMode::Off => return None,
        SandboxMode::Auto => false,
        SandboxMode::Require => true,
    };
    let helper = find_helper(options);
    if let Err(reason) = &helper {
        tracing::warn!("commands run without a sandbox: {reason}");
    }
    let mut hidden = vec![options.state_dir.clone()];
    hidden.extend(options.sessions_dir.clone());
    hidden.extend(options.hidden_paths.iter().cloned());
    // Skills may run the files in their folder.
    let settings = options.config_dir.iter();
    let settings = settings.map(|dir| (dir.clone(), OsString::from("skills")));
    Some(LocalSandboxConfig {
        helper,
        required,
        hidden,
        hidden_except: settings.collect(),
        caches: tool_caches(read_env_var, home_dir()),
        cache_changes: options.state_dir.join("caches"),
        rules,
    })
}

/// Forbids other processes of the user to read this process's memory and environment, where the token may be.
pub(crate) fn protect_own_memory() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        if let Err(error) = set_dumpable_behavior(DumpableBehavior::NotDumpable) {
            tracing::warn!("other processes can read the memory of this one: {error}");
        }
    }
}

/// Folders of tools below the home directory.
const CACHES: [&str; 14] = [
    ".cargo",
    ".npm",
    ".cache",
    ".yarn",
    ".bun",
    ".deno",
    ".gradle",
    ".m2",
    ".ivy2",
    ".nuget",
    ".gem",
    "go",
    ".local/share/pnpm",
    "Library/Caches",
];

/// The variables that move such a folder.
const CACHE_VARIABLES: [&str; 6] = [
    "CARGO_HOME",
    "XDG_CACHE_HOME",
    "npm_config_cache",
    "PIP_CACHE_DIR",
    "UV_CACHE_DIR",
    "GOPATH",
];

/// Returns the folders that tools fill and that are no part of a workspace.
fn tool_caches(var: impl Fn(&str) -> Option<OsString>, home: Option<PathBuf>) -> Vec<PathBuf> {
    let moved = CACHE_VARIABLES.iter().filter_map(|name| var(name));
    let moved = moved.flat_map(|value| env::split_paths(OsStr::new(&value)).collect::<Vec<_>>());
    let usual = home
        .iter()
        .flat_map(|home| CACHES.map(|name| home.join(name)));
    let mut caches: Vec<PathBuf> = Vec::new();
    for cache in moved.chain(usual).filter(|path| path.is_absolute()) {
        // A folder inside another one needs no overlay of its own.
        if !caches.iter().any(|known| cache.starts_with(known)) {
            caches.retain(|known| !known.starts_with(&cache));
            caches.push(cache);
        }
    }
    caches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caches_follow_the_environment() {
        let var = |name: &str| match name {
            "CARGO_HOME" => Some("/opt/cargo".into()),
            "PIP_CACHE_DIR" => Some("/home/ada/.cache/pip".into()),
            "XDG_CACHE_HOME" => Some("relative".into()),
            _ => None,
        };
        let caches = tool_caches(var, Some("/home/ada".into()));
        assert_eq!(caches[0], PathBuf::from("/opt/cargo"));
        assert!(caches.contains(&"/home/ada/.cache".into()));
        assert!(!caches.contains(&"/home/ada/.cache/pip".into()));
        assert!(!caches.contains(&"relative".into()));
        assert!(tool_caches(|_| None, None).is_empty());
    }

    #[test]
    fn every_mode_has_an_id() {
        for mode in SandboxMode::ALL {
            assert_eq!(SandboxMode::from_id(mode.id()), Some(mode));
        }
        assert_eq!(SandboxMode::from_id("on"), None);
    }
}
