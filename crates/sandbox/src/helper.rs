//! The command line between a server and its helper, which are the same program.

use std::{
    env,
    ffi::{OsStr, OsString},
    fmt::Display,
    io::{self, Write as _},
    path::PathBuf,
    process::id,
    sync::{Arc, OnceLock},
};

use serde::{Deserialize, Serialize};

use crate::{Confinement, SandboxSupport, system};

/// The exit code of the helper if it could not build the sandbox; the command has not run then. The last line of
/// stderr begins with `sandbox: ` and has the reason.
pub const SETUP_FAILED: u8 = 125;

/// The hidden first argument.
pub(crate) const WORD: &str = "sandbox-helper";

/// Runs the helper if the command line of this process asks for it, and returns the exit code for this process.
///
/// Every entry point calls this before it reads its arguments, starts a thread or opens a file. If the command ended
/// by a signal, this process ends by the same signal and the function does not return.
#[must_use]
pub fn dispatch() -> Option<u8> {
    let mut args = env::args_os().skip(1);
    let word = args.next()?;
    system::run_stage(word.to_str()?, args)
}

/// Starts commands through a program that calls [`dispatch`]. Clones share what is known of the system.
#[derive(Clone, Debug)]
pub struct SandboxHelper {
    program: PathBuf,
    report: Arc<OnceLock<SystemReport>>,
}

/// A command line that starts a command in the sandbox. Environment, working directory, pipes and process group are
/// those of the caller's choice, as for the command itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HelperCommand {
    /// The helper.
    pub program: PathBuf,
    /// The arguments of the helper: what to enforce, and the command.
    pub args: Vec<OsString>,
}

/// Why a command cannot run in a sandbox.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The system provides no sandbox.
    #[error("this system has no sandbox: {0}")]
    NoSupport(String),
    /// A path in the confinement cannot be written as JSON.
    #[error("the confinement cannot be given to the helper: {0}")]
    Confinement(#[from] serde_json::Error),
}

impl SandboxHelper {
    /// Uses a program that calls [`dispatch`]: on Linux `/proc/self/exe` for the running program, which also works
    /// after its file was replaced.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            report: Arc::default(),
        }
    }

    /// Returns what this system provides. The first call starts the helper a few times and waits for each, for at
    /// most five seconds.
    pub fn probe(&self) -> &SandboxSupport {
        &self.report().support
    }

    fn report(&self) -> &SystemReport {
        self.report.get_or_init(|| system::probe(&self.program))
    }

    /// Returns the command line that runs `program` with `args` inside the sandbox, as strict as [`Self::probe`]
    /// found possible.
    ///
    /// The helper ends with the code or the signal of the command. If `program` cannot be started, it prints the
    /// reason and ends with 127 (not found) or 126, as a shell does. The thread that starts the command line has to
    /// outlive the command: the helper ends when that thread ends.
    pub fn wrap<A: AsRef<OsStr>>(
        &self,
        confinement: &Confinement,
        program: &OsStr,
        args: &[A],
    ) -> Result<HelperCommand, SandboxError> {
        let report = self.report();
        if report.support.is_none() {
            return Err(SandboxError::NoSupport(report.support.gaps.join("; ")));
        }
        let spec = HelperSpec {
            parent: id(),
            namespaces: report.namespaces,
            landlock: report.landlock,
            seccomp: report.seccomp,
            confinement: confinement.clone(),
        };
        Ok(HelperCommand {
            program: self.program.clone(),
            args: HelperTask::new(spec, program, args).to_args()?,
        })
    }
}

/// What the probe found, with what the helper needs to know of it.
#[derive(Debug)]
pub(crate) struct SystemReport {
    pub support: SandboxSupport,
    pub namespaces: Option<NamespaceKind>,
    pub landlock: bool,
    pub seccomp: bool,
}

impl SystemReport {
    /// Returns the report of a system without a sandbox.
    pub(crate) fn without(reason: impl Into<String>) -> Self {
        Self {
            support: SandboxSupport::none(reason),
            namespaces: None,
            landlock: false,
            seccomp: false,
        }
    }
}

/// How the helper may open namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum NamespaceKind {
    /// With the privileges of root.
    Plain,
    /// In a user namespace, as any user may.
    User,
}

/// What the server asks of the helper. The helper enforces all of it that the probe found possible, or does not start
/// the command.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct HelperSpec {
    /// The process of the server.
    pub parent: u32,
    pub namespaces: Option<NamespaceKind>,
    pub landlock: bool,
    pub seccomp: bool,
    pub confinement: Confinement,
}

/// A command line of the helper.
#[derive(Debug)]
pub(crate) struct HelperTask {
    pub spec: HelperSpec,
    pub program: OsString,
    pub args: Vec<OsString>,
}

impl HelperTask {
    pub(crate) fn new<A: AsRef<OsStr>>(spec: HelperSpec, program: &OsStr, args: &[A]) -> Self {
        Self {
            spec,
            program: program.to_owned(),
            args: args.iter().map(|arg| arg.as_ref().to_owned()).collect(),
        }
    }

    /// Returns the arguments that start the helper with this task.
    pub(crate) fn to_args(&self) -> Result<Vec<OsString>, serde_json::Error> {
        let spec = serde_json::to_string(&self.spec)?;
        let mut words = vec![WORD.into(), spec.into(), self.program.clone()];
        words.extend(self.args.iter().cloned());
        Ok(words)
    }

    /// Reads the arguments after the first one.
    pub(crate) fn from_args(mut args: impl Iterator<Item = OsString>) -> Option<Self> {
        let spec = args.next()?;
        Some(Self {
            spec: serde_json::from_str(spec.to_str()?).ok()?,
            program: args.next()?,
            args: args.collect(),
        })
    }
}

/// Prints why a command did not start. The reader may be gone, which changes nothing.
pub(crate) fn print_error(error: &dyn Display) {
    let _ = writeln!(io::stderr(), "{error}");
}
