//! The inputs of shell discovery: a few variables, two files, and whether a file exists.

use std::{collections::BTreeMap, path::Path};

use harn_model::ShellPlatform;

use crate::regular_file::{LinkPolicy, read_regular_file};

/// The largest file that is read, in bytes.
const READ_BYTES: u64 = 1024 * 1024;

/// A machine on which shells are discovered.
pub trait ShellWorld: Send + Sync + 'static {
    /// Returns the operating system.
    fn platform(&self) -> ShellPlatform;

    /// Returns a variable that is set and not blank.
    fn env(&self, name: &str) -> Option<String>;

    /// Returns the content of `/etc/passwd` if it can be read.
    fn passwd(&self) -> Option<String>;

    /// Returns the content of `/etc/shells` if it can be read.
    fn etc_shells(&self) -> Option<String>;

    /// Returns whether a file exists at this absolute path.
    fn is_file(&self, path: &str) -> bool;
}

/// This machine, with a given environment. Its methods read the disk and may block.
#[derive(Clone, Debug)]
pub struct LocalShellWorld {
    env: BTreeMap<String, String>,
}

impl LocalShellWorld {
    /// The variables that discovery reads.
    pub const VARIABLES: [&str; 6] = [
        "HARN_DEFAULT_SHELL",
        "SHELL",
        "COMSPEC",
        "USER",
        "LOGNAME",
        "PATH",
    ];

    /// Creates the world with these variables.
    pub fn new(env: impl IntoIterator<Item = (String, String)>) -> Self {
        let env = env
            .into_iter()
            .map(|(name, value)| (normalize_name(&name), value));
        Self { env: env.collect() }
    }
}

/// Normalizes the name of a variable: on Windows case does not matter.
fn normalize_name(name: &str) -> String {
    if cfg!(windows) {
        name.to_uppercase()
    } else {
        name.to_owned()
    }
}

impl ShellWorld for LocalShellWorld {
    fn platform(&self) -> ShellPlatform {
        if cfg!(windows) {
            ShellPlatform::Windows
        } else if cfg!(target_os = "macos") {
            ShellPlatform::Darwin
        } else {
            ShellPlatform::Linux
        }
    }

    fn env(&self, name: &str) -> Option<String> {
        let value = self.env.get(&normalize_name(name))?;
        (!value.trim().is_empty()).then(|| value.clone())
    }

    fn passwd(&self) -> Option<String> {
        read("/etc/passwd")
    }

    fn etc_shells(&self) -> Option<String> {
        read("/etc/shells")
    }

    fn is_file(&self, path: &str) -> bool {
        Path::new(path).is_file()
    }
}

fn read(path: &str) -> Option<String> {
    let bytes = read_regular_file(Path::new(path), LinkPolicy::Follow, READ_BYTES).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
