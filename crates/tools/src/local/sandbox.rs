//! Confines the commands and servers of this machine: translates what the rules permit into a sandbox, with a private
//! temporary directory for each session and the changes to tool caches for each workspace.

use std::{
    collections::HashMap,
    ffi::{OsStr, OsString},
    hash::{DefaultHasher, Hash as _, Hasher as _},
    io,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use harn_model::{ConfinedNetwork, SessionId};
use harn_policy::SandboxSettings;
use harn_runtime::{CommandConfinement, HostError, HostSandbox, RuleBook};
use harn_sandbox::{
    CacheOverlay, Confinement, HelperCommand, NetworkAccess, ResourceLimits, SandboxHelper,
    SandboxLayer, protected_git_paths,
};
use tempfile::TempDir;

use crate::lock::lock;

/// The names in a session's directory that decide about tools.
const OWN_NAMES: [&str; 3] = [".harn", ".harness", "harn.toml"];

/// How this machine confines commands.
pub struct LocalSandboxConfig {
    /// The program that confines commands, or the reason why there is none.
    pub helper: Result<SandboxHelper, String>,
    /// Whether commands run only if the sandbox is complete.
    pub required: bool,
    /// Files and folders that no command sees.
    pub hidden: Vec<PathBuf>,
    /// A folder of which commands see only one entry, such as the skills in a folder of settings.
    pub hidden_except: Vec<(PathBuf, OsString)>,
    /// The usual folders of tools that commands appear to change.
    pub caches: Vec<PathBuf>,
    /// The folder for those changes; created when it is needed.
    pub cache_changes: PathBuf,
    /// The rules, for MCP servers.
    pub rules: Arc<dyn RuleBook>,
}

/// The sandbox of this machine.
pub(crate) struct LocalSandbox {
    config: LocalSandboxConfig,
    /// The temporary directories of open sessions.
    temporaries: Mutex<HashMap<SessionId, TempDir>>,
}

impl LocalSandbox {
    pub(super) fn new(config: LocalSandboxConfig) -> Self {
        Self {
            config,
            temporaries: Mutex::default(),
        }
    }

    /// Returns what confines commands here. The first call starts the helper.
    pub(super) fn describe(&self) -> HostSandbox {
        let (layers, gaps) = match &self.config.helper {
            Ok(helper) => {
                let support = helper.probe();
                let layers = support.layers.iter().map(|layer| layer.name().to_owned());
                (layers.collect(), support.gaps.clone())
            }
            Err(reason) => (Vec::new(), vec![reason.clone()]),
        };
        HostSandbox {
            layers,
            gaps,
            required: self.config.required,
        }
    }

    /// Returns the command line that runs a command of a session within its limits.
    pub(super) fn wrap_command(
        &self,
        session: &SessionId,
        limits: &CommandConfinement,
        program: &str,
        args: &[String],
    ) -> Result<HelperCommand, HostError> {
        let settings = &limits.settings;
        let spec = Confinement {
            network: match limits.network {
                ConfinedNetwork::Off => NetworkAccess::Off,
                ConfinedNetwork::Ports => NetworkAccess::Ports(settings.ports.clone()),
                ConfinedNetwork::On => NetworkAccess::On,
            },
            unix_sockets: settings.unix_sockets && !limits.writable.is_empty(),
            ..self.confinement(session, &limits.directories, &limits.writable, settings)?
        };
        let spec = with_protected(spec, &limits.protected);
        self.wrap(&spec, program, args)
    }

    /// Returns the command line that runs an MCP server of a session in this directory; none if servers are not
    /// confined, or cannot be.
    #[cfg(feature = "mcp")]
    pub(crate) fn wrap_server(
        &self,
        session: &SessionId,
        cwd: &Path,
        program: &str,
        args: &[String],
    ) -> Result<Option<HelperCommand>, HostError> {
        let settings = match self.config.rules.policy(cwd) {
            Ok(policy) => policy.sandbox().clone(),
            Err(error) => {
                tracing::warn!(
                    "the rules cannot be read; MCP servers get the usual sandbox: {error}"
                );
                Arc::default()
            }
        };
        if !settings.mcp_confined {
            return Ok(None);
        }
        let here = self.describe();
        if let Some(gap) = here
            .gaps
            .first()
            .filter(|_| here.required || settings.require)
        {
            let reason = format!("the sandbox is required, and a part of it is missing: {gap}");
            return Err(HostError::Denied(reason));
        }
        if here.layers.is_empty() {
            return Ok(None);
        }
        let directories = [cwd.to_owned()];
        let more = settings.writable.iter().chain(&settings.mcp_writable);
        let writable: Vec<_> = directories.iter().chain(more).cloned().collect();
        let spec = Confinement {
            network: match settings.mcp_network {
                true => NetworkAccess::On,
                false if settings.ports.is_empty() => NetworkAccess::Off,
                false => NetworkAccess::Ports(settings.ports.clone()),
            },
            unix_sockets: settings.mcp_unix_sockets,
            ..self.confinement(session, &directories, &writable, &settings)?
        };
        self.wrap(&spec, program, args).map(Some)
    }

    /// Removes the temporary directory of a session that is closed.
    pub(crate) fn end_session(&self, session: &SessionId) {
        // Dropped after the lock: removal takes a while.
        let removed = lock(&self.temporaries).remove(session);
        drop(removed);
    }

    /// Removes all temporary directories.
    pub(super) fn end_all(&self) {
        let removed = std::mem::take(&mut *lock(&self.temporaries));
        drop(removed);
    }

    fn wrap(
        &self,
        spec: &Confinement,
        program: &str,
        args: &[String],
    ) -> Result<HelperCommand, HostError> {
        let helper = self.config.helper.as_ref();
        let helper = helper.map_err(|reason| HostError::Failed(reason.clone()))?;
        let wrapped = helper.wrap(spec, OsStr::new(program), args);
        wrapped.map_err(|error| HostError::Failed(format!("{program}: {error}")))
    }

    /// Returns what all confinements of a session have in common.
    fn confinement(
        &self,
        session: &SessionId,
        directories: &[PathBuf],
        writable: &[PathBuf],
        settings: &SandboxSettings,
    ) -> Result<Confinement, HostError> {
        let own = directories.iter().flat_map(|dir| protected_paths(dir));
        let workspace = directories.first().map_or(Path::new("/"), PathBuf::as_path);
        let all = self.config.hidden.iter().chain(&settings.hidden);
        let mut hidden: Vec<PathBuf> = all
            .flat_map(|path| hide_around(path, directories))
            .collect();
        for (folder, visible) in &self.config.hidden_except {
            hidden.extend(hide_except(folder, visible));
        }
        Ok(Confinement {
            writable: writable.to_vec(),
            read_only: match writable.is_empty() {
                true => Vec::new(),
                false => own.collect(),
            },
            hidden,
            temporary: Some(self.temporary(session)?),
            caches: self.caches(workspace, writable, settings),
            limits: ResourceLimits {
                processes: settings.processes,
                memory_bytes: settings
                    .memory_mib
                    .map(|mib| mib.saturating_mul(1024 * 1024)),
            },
            ..Confinement::default()
        })
    }

    /// Returns the temporary directory of a session; creates it for the first command.
    fn temporary(&self, session: &SessionId) -> Result<PathBuf, HostError> {
        let mut known = lock(&self.temporaries);
        if let Some(known) = known.get(session).filter(|known| known.path().is_dir()) {
            return Ok(known.path().to_owned());
        }
        // Readable by the user only.
        let made = tempfile::Builder::new().prefix("harn-").tempdir();
        let made = made.map_err(|error| {
            HostError::Failed(format!("no temporary directory for the command: {error}"))
        })?;
        let path = made.path().to_owned();
        known.insert(session.clone(), made);
        Ok(path)
    }

    /// Returns the overlays of the caches that exist. A cache that is itself part of what a command may write, or that
    /// contains it, has none.
    fn caches(
        &self,
        workspace: &Path,
        writable: &[PathBuf],
        settings: &SandboxSettings,
    ) -> Vec<CacheOverlay> {
        // Without namespaces there are no overlays.
        let has_overlays = self
            .config
            .helper
            .as_ref()
            .is_ok_and(|helper| helper.probe().has(SandboxLayer::Namespaces));
        if writable.is_empty() || !has_overlays {
            return Vec::new();
        }
        let known = settings.caches.as_ref().unwrap_or(&self.config.caches);
        let contains = |dir: &Path| writable.iter().any(|it| it.starts_with(dir));
        let used = known.iter().filter(|dir| dir.is_dir() && !contains(dir));
        let used: Vec<_> = used.cloned().collect();
        let folder = self.config.cache_changes.join(folder_name(workspace));
        if used.is_empty() || make_private(&folder).is_err() {
            // They are read-only then.
            return Vec::new();
        }
        let overlay = |dir: PathBuf| CacheOverlay {
            upper: folder.join(folder_name(&dir)),
            dir,
        };
        used.into_iter().map(overlay).collect()
    }
}

/// Returns the paths below a directory of a session that decide about tools.
fn protected_paths(directory: &Path) -> Vec<PathBuf> {
    let mut paths = protected_git_paths(directory);
    paths.extend(OWN_NAMES.map(|name| directory.join(name)));
    paths.extend(crate::skills::named_skill_folders(directory));
    paths
}

/// Adds protected paths inside writable ones; a hidden one needs no more.
fn with_protected(mut spec: Confinement, protected: &[PathBuf]) -> Confinement {
    let protected = protected.iter().filter(|path| {
        let below = |root: &PathBuf| path.starts_with(root) && path != &root;
        spec.writable.iter().any(below) && !spec.hidden.contains(path)
    });
    let protected: Vec<_> = protected.cloned().collect();
    spec.read_only.extend(protected);
    spec
}

/// Returns what to hide of a folder so that a directory of the session in it stays visible.
fn hide_around(folder: &Path, directories: &[PathBuf]) -> Vec<PathBuf> {
    let mut below = directories
        .iter()
        .filter_map(|dir| dir.strip_prefix(folder).ok());
    let Some(inside) = below.next() else {
        return vec![folder.to_owned()];
    };
    let (mut hidden, mut at) = (Vec::new(), folder.to_owned());
    for name in inside {
        hidden.extend(hide_except(&at, name));
        at.push(name);
    }
    hidden
}

/// Returns the entries of a folder but one; the folder itself if it does not have that one.
fn hide_except(folder: &Path, visible: &OsStr) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder);
    match entries {
        Ok(entries) if folder.join(visible).exists() => entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.file_name() != Some(visible))
            .collect(),
        Ok(_) | Err(_) => vec![folder.to_owned()],
    }
}

/// Returns a name for a folder about this path: its last name, and a number that the whole path determines.
fn folder_name(path: &Path) -> String {
    let mut hasher = DefaultHasher::new();
    path.hash(&mut hasher);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name: String = name
        .chars()
        .filter(|c| c.is_ascii_alphanumeric())
        .take(40)
        .collect();
    format!("{name}-{:016x}", hasher.finish())
}

fn make_private(folder: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
}

/// Returns an error if a program does not exist or may not be run, as the system would for a program that starts
/// without a helper.
pub(crate) fn check_program(program: &str, cwd: &Path, path: Option<&OsStr>) -> io::Result<()> {
    let check = |file: &Path| {
        if !file.metadata()?.is_file() {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        rustix::fs::access(file, rustix::fs::Access::EXEC_OK).map_err(io::Error::from)
    };
    if program.contains('/') {
        return check(&cwd.join(program));
    }
    // The search path of the system for a process without PATH.
    let path = path.unwrap_or(OsStr::new("/bin:/usr/bin"));
    let mut denied = false;
    for folder in std::env::split_paths(path) {
        match check(&cwd.join(folder).join(program)) {
            Ok(()) => return Ok(()),
            Err(error) => denied |= error.kind() == io::ErrorKind::PermissionDenied,
        }
    }
    // As the system reports them.
    Err(io::Error::from_raw_os_error(match denied {
        true => rustix::io::Errno::ACCESS.raw_os_error(),
        false => rustix::io::Errno::NOENT.raw_os_error(),
    }))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use harn_runtime::NoRules;

    use super::*;

    fn sandbox(folder: &Path) -> LocalSandbox {
        LocalSandbox::new(LocalSandboxConfig {
            helper: Err("none in a test".to_owned()),
            required: false,
            hidden: vec![folder.join("state")],
            hidden_except: vec![(folder.join("config"), "skills".into())],
            caches: Vec::new(),
            cache_changes: folder.join("changes"),
            rules: Arc::new(NoRules::default()),
        })
    }

    #[test]
    fn temporary_directory_belongs_to_one_session_and_ends_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let sandbox = sandbox(folder.path());
        let (one, two) = (SessionId::new("one"), SessionId::new("two"));
        let first = sandbox.temporary(&one).unwrap();
        assert_eq!(sandbox.temporary(&one).unwrap(), first);
        let other = sandbox.temporary(&two).unwrap();
        assert_ne!(first, other);
        fs::write(first.join("left"), "over").unwrap();
        sandbox.end_session(&one);
        assert!(!first.exists() && other.is_dir());
        sandbox.end_all();
        assert!(!other.exists());
        assert!(sandbox.describe().layers.is_empty());
    }

    #[test]
    fn settings_are_hidden_but_not_the_skills_among_them() {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("config");
        let sandbox = sandbox(folder.path());
        let hidden = || {
            let settings = SandboxSettings::default();
            let found = sandbox.confinement(&SessionId::new("s"), &[], &[], &settings);
            found.unwrap().hidden
        };
        let state = folder.path().join("state");
        assert_eq!(hidden(), [state.clone(), config.clone()]);
        fs::create_dir_all(config.join("skills")).unwrap();
        fs::write(config.join("policy.toml"), "").unwrap();
        assert_eq!(hidden(), [state, config.join("policy.toml")]);
    }

    #[test]
    fn directory_inside_a_hidden_folder_stays_visible() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path();
        for made in ["threads", "in/ws", "in/other"] {
            fs::create_dir_all(state.join(made)).unwrap();
        }
        let mut hidden = hide_around(state, &[state.join("in/ws")]);
        hidden.sort();
        assert_eq!(hidden, [state.join("in/other"), state.join("threads")]);
        assert_eq!(hide_around(state, &["/elsewhere".into()]), [state]);
    }

    #[test]
    fn program_is_checked_as_the_system_does() {
        let folder = tempfile::tempdir().unwrap();
        let cwd = folder.path();
        let kind = |program: &str, path: &str| {
            let checked = check_program(program, cwd, Some(OsStr::new(path)));
            checked.map_err(|error| error.kind())
        };
        assert_eq!(kind("sh", "/nowhere:/bin"), Ok(()));
        assert_eq!(kind("/bin/sh", ""), Ok(()));
        assert_eq!(kind("no-such", "/bin"), Err(io::ErrorKind::NotFound));
        assert_eq!(kind("./no-such", "/bin"), Err(io::ErrorKind::NotFound));
        fs::write(cwd.join("plain"), "").unwrap();
        assert_eq!(
            kind("./plain", "/bin"),
            Err(io::ErrorKind::PermissionDenied)
        );
        assert_eq!(kind("plain", "."), Err(io::ErrorKind::PermissionDenied));
    }

    #[test]
    fn protected_path_outside_of_writable_ones_is_not_listed() {
        let spec = Confinement {
            writable: vec!["/w".into()],
            hidden: vec!["/w/state".into()],
            ..Confinement::default()
        };
        let protected = ["/w/state", "/w/policy.toml", "/etc/policy.toml", "/w"];
        let spec = with_protected(spec, &protected.map(PathBuf::from));
        assert_eq!(spec.read_only, [Path::new("/w/policy.toml")]);
    }
}
