//! The input of the checks: the repository's files and its packages.
//!
//! All reading is here, so that a check is a function from text to problems.

use std::{
    path::Path,
    process::{Command, Output},
};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

/// A file that git tracks or would add, with its text.
pub(crate) struct File {
    /// Relative to the root, with `/`.
    pub(crate) path: String,
    pub(crate) text: String,
}

/// A package of the workspace.
pub(crate) struct Package {
    pub(crate) name: String,
    /// The names of its dependencies in a build that ships, without dev-dependencies.
    pub(crate) dependencies: Vec<String>,
    /// The names of its integration tests, each a program of its own.
    pub(crate) test_programs: Vec<String>,
    /// Its path, relative to the root, with `/`.
    pub(crate) folder: String,
    /// The dependencies that its sources may name, including dev-dependencies.
    pub(crate) uses: Vec<Use>,
}

/// A dependency as the sources of its package name it.
pub(crate) struct Use {
    pub(crate) name: String,
    /// Whether only tests may name it: a dev-dependency, or one behind a feature, since a feature may be for tests.
    pub(crate) is_dev: bool,
}

/// The repository on disk.
pub(crate) struct Repo {
    pub(crate) files: Vec<File>,
    pub(crate) packages: Vec<Package>,
}

impl Repo {
    /// Reads the repository from which this program was built.
    pub(crate) fn read() -> Result<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"))
            .parent()
            .context("xtask is in the repository's root")?;
        Ok(Self {
            files: files(root)?,
            packages: packages(root)?,
        })
    }

    /// Returns the text of the file at `path`, or an empty one.
    pub(crate) fn text(&self, path: &str) -> &str {
        let file = self.files.iter().find(|file| file.path == path);
        file.map_or("", |file| &file.text)
    }
}

fn files(root: &Path) -> Result<Vec<File>> {
    // New files count before they are added; a checkout of another owner may be read as well.
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
    let root = metadata["workspace_root"].as_str().context("no root")?;
    packages.iter().map(|it| package(it, root)).collect()
}

fn package(package: &Value, root: &str) -> Result<Package> {
    let name = |value: &Value| value["name"].as_str().map(str::to_owned);
    let dependencies = package["dependencies"].as_array();
    let targets = package["targets"].as_array();
    let dependencies = dependencies.context("a package without dependencies")?;
    let manifest = package["manifest_path"].as_str();
    let folder = manifest.and_then(|path| path.strip_prefix(root)?.strip_suffix("/Cargo.toml"));
    Ok(Package {
        name: name(package).context("a package without a name")?,
        folder: folder
            .context("a package outside of the root")?
            .trim_start_matches('/')
            .to_owned(),
        dependencies: dependencies
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
        uses: dependencies
            .iter()
            .filter_map(|dependency| {
                let renamed = dependency["rename"].as_str().map(str::to_owned);
                Some(Use {
                    name: renamed.or_else(|| name(dependency))?,
                    is_dev: dependency["kind"] == "dev" || dependency["optional"] == true,
                })
            })
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
        let manifest = json!({"name": "a", "manifest_path": "/r/crates/a/Cargo.toml", "dependencies": [
            {"name": "b", "kind": null},
            {"name": "c", "kind": "dev"},
            {"name": "f", "kind": null, "optional": true},
            {"name": "d", "kind": "build", "rename": "e"},
        ], "targets": []});
        let package = package(&manifest, "/r").unwrap();
        assert_eq!(package.dependencies, ["b", "f", "d"]);
        assert_eq!(package.folder, "crates/a");
        let uses = package.uses.iter().map(|it| (it.name.as_str(), it.is_dev));
        assert!(uses.eq([("b", false), ("c", true), ("f", true), ("e", false)]));
    }

    #[test]
    fn only_integration_tests_are_test_programs() {
        let manifest = json!({"name": "a", "manifest_path": "/r/a/Cargo.toml", "dependencies": [],
            "targets": [{"name": "a", "kind": ["lib"]}, {"name": "it", "kind": ["test"]}]});
        let package = package(&manifest, "/r").unwrap();
        assert_eq!(package.test_programs, ["it"]);
    }
}
