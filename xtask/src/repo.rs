//! What the checks look at: the repository's files and its packages.
//!
//! All reading happens here, so that a check is a function from text to problems.

use std::{
    path::Path,
    process::{Command, Output},
};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

/// A file git knows or would add, with its text.
pub(crate) struct File {
    /// Relative to the root, with `/`.
    pub(crate) path: String,
    pub(crate) text: String,
}

/// A package of the workspace.
pub(crate) struct Package {
    pub(crate) name: String,
    /// Names of what it depends on in a build that ships; dev-dependencies are left out.
    pub(crate) dependencies: Vec<String>,
    /// Names of its integration tests, each a program of its own.
    pub(crate) test_programs: Vec<String>,
}

/// The repository as it lies on disk.
pub(crate) struct Repo {
    pub(crate) files: Vec<File>,
    pub(crate) packages: Vec<Package>,
}

impl Repo {
    /// Reads the repository this program was built from.
    pub(crate) fn read() -> Result<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"))
            .parent()
            .context("xtask lies in the repository's root")?;
        Ok(Self {
            files: files(root)?,
            packages: packages(root)?,
        })
    }

    /// The text of the file at `path`, empty when there is none.
    pub(crate) fn text(&self, path: &str) -> &str {
        let file = self.files.iter().find(|file| file.path == path);
        file.map_or("", |file| &file.text)
    }
}

fn files(root: &Path) -> Result<Vec<File>> {
    // New files count before they are added; a checkout of another owner is as good as ours to read.
    let list = run(Command::new("git")
        .args(["-c", "safe.directory=*", "ls-files", "-z"])
        .args(["--cached", "--others", "--exclude-standard"])
        .current_dir(root))?;
    let mut files = Vec::new();
    for path in String::from_utf8(list.stdout)?.split_terminator('\0') {
        // Deleted but not yet committed, or a link to a folder.
        if !root.join(path).is_file() {
            continue;
        }
        let bytes = std::fs::read(root.join(path)).with_context(|| format!("reading {path}"))?;
        files.push(File {
            path: path.to_owned(),
            text: String::from_utf8_lossy(&bytes).into_owned(),
        });
    }
    ensure!(!files.is_empty(), "git lists no file under {root:?}");
    Ok(files)
}

fn packages(root: &Path) -> Result<Vec<Package>> {
    let metadata = run(Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .current_dir(root))?;
    let metadata: Value = serde_json::from_slice(&metadata.stdout)?;
    let packages = metadata["packages"].as_array().context("no packages")?;
    packages.iter().map(package).collect()
}

fn package(package: &Value) -> Result<Package> {
    let name = |value: &Value| value["name"].as_str().map(str::to_owned);
    let dependencies = package["dependencies"].as_array();
    let targets = package["targets"].as_array();
    Ok(Package {
        name: name(package).context("a package without a name")?,
        dependencies: dependencies
            .context("a package without dependencies")?
            .iter()
            .filter(|dependency| dependency["kind"] != "dev")
            .filter_map(name)
            .collect(),
        test_programs: targets
            .context("a package without targets")?
            .iter()
            .filter(|target| target["kind"][0] == "test")
            .filter_map(name)
            .collect(),
    })
}

fn run(command: &mut Command) -> Result<Output> {
    let output = command
        .output()
        .with_context(|| format!("starting {command:?}"))?;
    ensure!(
        output.status.success(),
        "{command:?} failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(output)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn dev_dependencies_are_left_out() {
        let package = package(&json!({"name": "a", "dependencies": [
            {"name": "b", "kind": null},
            {"name": "c", "kind": "dev"},
            {"name": "d", "kind": "build"},
        ], "targets": []}))
        .unwrap();
        assert_eq!(package.dependencies, ["b", "d"]);
    }

    #[test]
    fn only_integration_tests_are_test_programs() {
        let package = package(&json!({"name": "a", "dependencies": [], "targets": [
            {"name": "a", "kind": ["lib"]},
            {"name": "it", "kind": ["test"]},
        ]}))
        .unwrap();
        assert_eq!(package.test_programs, ["it"]);
    }
}
