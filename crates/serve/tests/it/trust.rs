//! `harn-serve trust`: shows and trusts the files of a workspace, lists and revokes it; rejects folders that are no
//! project.

use std::{fs, path::Path, process::Command};

use tempfile::TempDir;

const MANIFEST: &str = "[mcp_servers.issues]\ncommand = \"./server.sh\"\nargs = [\"--stdio\"]\n";

struct Place(TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        fs::create_dir_all(place.path("home/project/.git")).unwrap();
        fs::create_dir_all(place.path("home/project/src")).unwrap();
        place.put("harn.toml", MANIFEST);
        place
    }

    fn path(&self, path: &str) -> std::path::PathBuf {
        self.0.path().canonicalize().unwrap().join(path)
    }

    /// Writes a file of the project.
    fn put(&self, path: &str, text: &str) {
        let path = self.path("home/project").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
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
    let (said, code) = place.trust(&src, &["--yes"]);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("\ntrusted /home/project:"), "{said}");
    let (said, code) = place.trust(&src, &["--list"]);
    assert!(said.starts_with("/home/project  since "), "{said}");
    assert!(said.ends_with("  1 file\n"), "{said}");
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

#[test]
fn trust_shows_the_files_and_later_only_what_changed() {
    let place = Place::new();
    let project = place.path("home/project");
    place.put("server.sh", "echo 1\n");
    let skill = "---\nshort: Ships\nhooks: {activate: '${HARN_SKILL_DIR}/run.sh'}\n---\nText\n";
    place.put(".harn/skills/ship/SKILL.md", skill);
    place.put(".harn/skills/ship/run.sh", "echo \u{1b}[31m\n");
    // Without a terminal nobody can answer, so nothing is trusted.
    let (said, code) = place.trust(&project, &[]);
    assert_eq!(code, 1);
    let expected = "/home/project
  harn.toml (not trusted yet)
    MCP server issues: ./server.sh --stdio
  skill ship (not trusted yet)
    hook activate: ${HARN_SKILL_DIR}/run.sh

new: .harn/skills/ship/SKILL.md
  @@ -0,0 +1,5 @@
  +---
  +short: Ships
  +hooks: {activate: '${HARN_SKILL_DIR}/run.sh'}
  +---
  +Text

new: .harn/skills/ship/run.sh
  @@ -0,0 +1 @@
  +echo \\u{1b}[31m

new: harn.toml
  @@ -0,0 +1,3 @@
  +[mcp_servers.issues]
  +command = \"./server.sh\"
  +args = [\"--stdio\"]

new: server.sh
  @@ -0,0 +1 @@
  +echo 1

error: this is no terminal; read the files above, and repeat the command with --yes
";
    assert_eq!(said, expected);
    let (said, _) = place.trust(&project, &["--list"]);
    assert!(said.starts_with("no trusted workspaces"), "{said}");

    let (said, code) = place.trust(&project, &["--yes"]);
    assert_eq!(code, 0, "{said}");
    let (said, code) = place.trust(&project, &[]);
    assert_eq!(code, 0, "{said}");
    assert!(
        said.ends_with("/home/project is trusted as it is\n"),
        "{said}"
    );

    place.put("server.sh", "echo 1\necho 2\n");
    let (said, code) = place.trust(&project, &[]);
    assert_eq!(code, 1);
    let expected = "/home/project
  harn.toml (server.sh has changed since the workspace was trusted)
    MCP server issues: ./server.sh --stdio
  skill ship (trusted)
    hook activate: ${HARN_SKILL_DIR}/run.sh

changed: server.sh
  @@ -1 +1,2 @@
   echo 1
  +echo 2

error: this is no terminal; read the files above, and repeat the command with --yes
";
    assert_eq!(said, expected);
}

#[test]
fn trust_of_an_earlier_version_covers_no_content() {
    let place = Place::new();
    let project = place.path("home/project");
    let old = format!(
        "[[workspace]]\npath = {:?}\nsince = \"2026-01-01T00:00:00Z\"\n",
        project.to_str().unwrap()
    );
    fs::create_dir_all(place.path("state")).unwrap();
    fs::write(place.path("state/trusted.toml"), old).unwrap();
    let (said, _) = place.trust(&project, &["--list"]);
    assert!(
        said.contains("by an earlier version, for no content; trust it again"),
        "{said}"
    );
    let (said, code) = place.trust(&project, &[]);
    assert_eq!(code, 1);
    let reason = "harn.toml is not among the files of the workspace that are trusted";
    assert!(said.contains(reason), "{said}");
    let (said, code) = place.trust(&project, &["--yes"]);
    assert_eq!(code, 0, "{said}");
    let (said, _) = place.trust(&project, &["--list"]);
    assert!(said.ends_with("  1 file\n"), "{said}");
}
