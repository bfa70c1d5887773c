//! The command line between a server and its helper, which are the same program.

use std::{
    env,
    ffi::{OsStr, OsString},
    path::PathBuf,
    sync::{Arc, OnceLock},
};

use crate::{Confinement, SandboxSupport};

/// The exit code of the helper if it could not build the sandbox; the command has not run then. The last line of
/// stderr begins with `sandbox: ` and has the reason.
pub const SETUP_FAILED: u8 = 125;

/// The hidden first argument.
const WORD: &str = "sandbox-helper";

/// Runs the helper if the command line of this process asks for it, and returns the exit code for this process.
///
/// Every entry point calls this before it reads its arguments, starts a thread or opens a file. If the command ended
/// by a signal, this process ends by the same signal and the function does not return.
#[must_use]
pub fn dispatch() -> Option<u8> {
    let mut args = env::args_os().skip(1);
    (args.next()? == WORD).then_some(SETUP_FAILED)
}

/// Starts commands through a program that calls [`dispatch`]. Clones share what is known of the system.
#[derive(Clone, Debug)]
pub struct SandboxHelper {
    program: PathBuf,
    support: Arc<OnceLock<SandboxSupport>>,
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
            support: Arc::default(),
        }
    }

    /// Returns what this system provides. The first call starts the helper and waits for at most five seconds.
    pub fn probe(&self) -> &SandboxSupport {
        self.support
            .get_or_init(|| SandboxSupport::none("the helper is not built yet"))
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
        let support = self.probe();
        if support.is_none() {
            return Err(SandboxError::NoSupport(support.gaps.join("; ")));
        }
        let spec = serde_json::to_string(confinement)?;
        let mut words: Vec<OsString> = vec![WORD.into(), spec.into(), "--".into(), program.into()];
        words.extend(args.iter().map(|arg| arg.as_ref().to_owned()));
        Ok(HelperCommand {
            program: self.program.clone(),
            args: words,
        })
    }
}
