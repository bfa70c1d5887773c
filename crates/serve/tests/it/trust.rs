//! `harn-serve trust`: trusts a workspace by its root, lists and revokes it; rejects folders that are no project.

use std::{fs, path::Path, process::Command};

use tempfile::TempDir;

struct Place(TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        fs::create_dir_all(place.path("home/project/.git")).unwrap();
        fs::create_dir_all(place.path("home/project/src")).unwrap();
        place
    }

    fn path(&self, path: &str) -> std::path::PathBuf {
        self.0.path().canonicalize().unwrap().join(path)
    }

    /// Returns the output and the exit code.
    fn trust(&self, cwd: &Path, args: &[&str]) -> (String, i32) {
        let done = Command::new(env!("CARGO_BIN_EXE_harn-serve"))
            .arg("trust")
            .args(args)
            .arg("--state-dir")
            .arg(self.path("state"))
            .current_dir(cwd)
            .env("HOME", self.path("home"))
            .output()
            .unwrap();
        let said = [done.stdout, done.stderr].concat();
        let said = String::from_utf8(said).unwrap();
        let root = self.path("").display().to_string();
        (
            said.replace(root.trim_end_matches('/'), ""),
            done.status.code().unwrap(),
        )
    }
}

#[test]
fn trust_uses_the_workspace_root_and_can_be_listed_and_revoked() {
    let place = Place::new();
    let src = place.path("home/project/src");
    let (said, code) = place.trust(&src, &[]);
    assert_eq!(code, 0, "{said}");
    assert!(said.starts_with("trusted /home/project:"), "{said}");
    let (said, code) = place.trust(&src, &["--list"]);
    assert!(said.starts_with("/home/project  since "), "{said}");
    assert_eq!((code, said.lines().count()), (0, 1));
    let (said, code) = place.trust(&place.path("home"), &["--revoke", "project/src"]);
    assert_eq!(code, 1);
    assert!(said.contains("because /home/project is"), "{said}");
    let (said, code) = place.trust(&src, &["--revoke"]);
    assert_eq!(code, 0, "{said}");
    let (said, code) = place.trust(&src, &["--revoke"]);
    assert_eq!(code, 1);
    assert!(said.contains("was not trusted"), "{said}");
}

#[test]
fn trust_rejects_folders_that_are_no_project() {
    let place = Place::new();
    for (dir, why) in [
        ("/", "contains more than a project"),
        (".", "contains more than a project"),
        ("nowhere", "No such file"),
    ] {
        let (said, code) = place.trust(&place.path("home"), &[dir]);
        assert_eq!(code, 1, "{dir}");
        assert!(said.contains(why), "{dir}: {said}");
    }
    let (said, code) = place.trust(&place.path("home"), &["--list"]);
    assert_eq!(
        (said.as_str(), code),
        ("no trusted workspaces in /state/trusted.toml\n", 0)
    );
}
