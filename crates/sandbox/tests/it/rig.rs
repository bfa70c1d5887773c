//! A workspace, a temporary directory, and commands in the sandbox between them.

use std::{
    ffi::OsStr,
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::LazyLock,
    thread,
};

use harn_sandbox::{Confinement, SandboxHelper, SandboxLayer};
use tempfile::TempDir;

pub(crate) const TRIAL: &str = env!("CARGO_BIN_EXE_sandbox-trial");

static HELPER: LazyLock<SandboxHelper> = LazyLock::new(|| SandboxHelper::new(TRIAL));

/// Returns whether the calling test has to be skipped because the system lacks a layer.
pub(crate) fn skip_without_layers() -> bool {
    let support = HELPER.probe();
    let needed = [
        SandboxLayer::Namespaces,
        SandboxLayer::Landlock,
        SandboxLayer::Seccomp,
    ];
    if needed.iter().all(|layer| support.has(*layer)) {
        return false;
    }
    let thread = thread::current();
    let test = thread.name().unwrap_or("a test");
    #[expect(
        clippy::disallowed_methods,
        reason = "a test has no composition root that could hand it in"
    )]
    let is_required = std::env::var_os("HARN_TESTS_REQUIRE_ALL").is_some_and(|it| !it.is_empty());
    assert!(
        !is_required,
        "{test} needs a whole sandbox: {:?}",
        support.gaps
    );
    let _ = io::stderr().write_all(format!("skip: {test} needs a whole sandbox\n").as_bytes());
    true
}

/// What a command printed and how it ended.
#[derive(Debug)]
pub(crate) struct CommandResult {
    pub status: std::process::ExitStatus,
    pub out: String,
    pub err: String,
}

impl From<Output> for CommandResult {
    fn from(output: Output) -> Self {
        Self {
            status: output.status,
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl CommandResult {
    /// Asserts that the command succeeded, and returns its output without the last line end.
    #[track_caller]
    pub(crate) fn success(self) -> String {
        assert!(self.status.success(), "{self:?}");
        self.out.trim_end().to_owned()
    }

    /// Asserts that the command failed and printed this.
    #[track_caller]
    pub(crate) fn fails_with(self, text: &str) {
        assert!(!self.status.success(), "{self:?}");
        assert!(self.err.contains(text), "{text:?} is not in {self:?}");
    }
}

/// Folders of a session. If they are not in `/tmp`, the command's `/tmp` is its own.
pub(crate) struct SandboxRig {
    folder: TempDir,
    pub confinement: Confinement,
}

impl SandboxRig {
    /// The workspace is writable and there is a temporary directory; no network.
    pub(crate) fn new() -> Self {
        let parent = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let folder = TempDir::new_in(parent).unwrap();
        let rig = Self {
            folder,
            confinement: Confinement::default(),
        };
        for name in ["workspace", "temporary", "outside"] {
            fs::create_dir(rig.path(name)).unwrap();
        }
        Self {
            confinement: Confinement {
                writable: vec![rig.path("workspace")],
                temporary: Some(rig.path("temporary")),
                ..Confinement::default()
            },
            ..rig
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Returns where a command finds its temporary directory. It is not `/tmp` if the build is there, because a
    /// command has to see its workspace.
    pub(crate) fn seen_temporary(&self) -> PathBuf {
        let folder = self.folder.path().canonicalize().unwrap();
        match folder.starts_with("/tmp") {
            true => "/var/tmp".into(),
            false => "/tmp".into(),
        }
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.path("workspace")
    }

    /// Returns the command as a server would start it.
    pub(crate) fn command<A: AsRef<OsStr>>(&self, program: &str, args: &[A]) -> Command {
        let wrapped = HELPER
            .wrap(&self.confinement, program.as_ref(), args)
            .unwrap();
        let mut command = Command::new(wrapped.program);
        command.args(wrapped.args).current_dir(self.workspace());
        command
    }

    pub(crate) fn run<A: AsRef<OsStr>>(&self, program: &str, args: &[A]) -> CommandResult {
        self.command(program, args).output().unwrap().into()
    }

    pub(crate) fn sh(&self, script: &str) -> CommandResult {
        self.run("sh", &["-c", script])
    }

    pub(crate) fn python(&self, script: &str) -> CommandResult {
        self.run("python3", &["-c", script])
    }

    /// Renames a path in its folder, without the copy that `mv` falls back to.
    pub(crate) fn rename(&self, path: &str) -> CommandResult {
        self.python(&format!(
            "import os; os.rename({path:?}, {path:?} + '.old')"
        ))
    }
}
