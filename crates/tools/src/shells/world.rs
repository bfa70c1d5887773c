//! What shells are found from: a few variables, two files, and whether a file is there.

use std::{collections::BTreeMap, fs::File, io::Read, path::Path};

use harn_model::ShellPlatform;

/// As much of the two files as is read.
const READ_BYTES: u64 = 1024 * 1024;

/// Where shells are looked for.
pub trait ShellWorld: Send + Sync + 'static {
    /// Which system this is.
    fn platform(&self) -> ShellPlatform;

    /// A variable that is set and not blank.
    fn env(&self, name: &str) -> Option<String>;

    /// What `/etc/passwd` says, if it can be read.
    fn passwd(&self) -> Option<String>;

    /// What `/etc/shells` says, if it can be read.
    fn etc_shells(&self) -> Option<String>;

    /// Whether a file is at this absolute path.
    fn is_file(&self, path: &str) -> bool;
}

/// This machine, with an environment that is handed in. Looks at the disk: ask it where blocking is fine.
#[derive(Clone, Debug)]
pub struct LocalShellWorld {
    env: BTreeMap<String, String>,
}

impl LocalShellWorld {
    /// The variables by which shells are found.
    pub const VARIABLES: [&str; 6] = [
        "HARN_DEFAULT_SHELL",
        "SHELL",
        "COMSPEC",
        "USER",
        "LOGNAME",
        "PATH",
    ];

    /// This machine with these variables.
    pub fn new(env: impl IntoIterator<Item = (String, String)>) -> Self {
        let env = env.into_iter().map(|(name, value)| (key(&name), value));
        Self { env: env.collect() }
    }
}

/// How a variable is looked up: on Windows its case does not matter.
fn key(name: &str) -> String {
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
        let value = self.env.get(&key(name))?;
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
    let mut bytes = Vec::new();
    let file = File::open(path).ok()?;
    file.take(READ_BYTES).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
