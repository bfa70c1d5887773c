//! Tests of shells on fake machines.

mod discovery;
mod invocation;

use std::collections::{BTreeMap, BTreeSet};

use harn_model::{ShellList, ShellPlatform};

use super::ShellWorld;

/// A fake machine with only the given content.
struct FakeShellWorld {
    platform: ShellPlatform,
    env: BTreeMap<&'static str, &'static str>,
    passwd: Option<&'static str>,
    etc_shells: Option<&'static str>,
    files: BTreeSet<&'static str>,
}

impl FakeShellWorld {
    fn new(platform: ShellPlatform) -> Self {
        Self {
            platform,
            env: BTreeMap::new(),
            passwd: None,
            etc_shells: None,
            files: BTreeSet::new(),
        }
    }

    fn env(mut self, name: &'static str, value: &'static str) -> Self {
        self.env.insert(name, value);
        self
    }

    fn files(mut self, files: &[&'static str]) -> Self {
        self.files.extend(files);
        self
    }
}

impl ShellWorld for FakeShellWorld {
    fn platform(&self) -> ShellPlatform {
        self.platform
    }

    fn env(&self, name: &str) -> Option<String> {
        let value = self.env.get(name).filter(|value| !value.trim().is_empty());
        value.map(|value| (*value).to_owned())
    }

    fn passwd(&self) -> Option<String> {
        self.passwd.map(str::to_owned)
    }

    fn etc_shells(&self) -> Option<String> {
        self.etc_shells.map(str::to_owned)
    }

    fn is_file(&self, path: &str) -> bool {
        self.files.contains(path)
    }
}

/// Formats one line per shell: the default has a star, an unavailable one is in brackets.
fn format_list(list: &ShellList) -> String {
    let lines = list.shells.iter().map(|shell| {
        let source = serde_json::to_value(shell.source).unwrap();
        let path = match shell.available {
            true => shell.path.clone(),
            false => format!("[{}]", shell.path),
        };
        let star = if list.default_shell_id.as_ref() == Some(&shell.id) {
            "*"
        } else {
            " "
        };
        format!("{star}{} {path} {}\n", shell.id, source.as_str().unwrap())
    });
    lines.collect()
}
