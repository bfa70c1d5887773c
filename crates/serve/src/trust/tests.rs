//! The table of set-ups in `fixtures/trust`, and the file of trusted workspaces.

use std::{fs, os::unix::fs::symlink, sync::Arc};

use expect_test::expect_file;
use harn_tools::{
    TrustRefusal,
    skills::{SkillPlaces, TrustScope, WorkspaceSkills},
};
use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::*;
use crate::SystemClock;

/// A line of the table.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Setup {
    why: String,
    files: BTreeMap<String, String>,
    trusted: Option<String>,
    now: BTreeMap<String, Option<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cwd: Option<String>,
    #[serde(default)]
    decisions: BTreeMap<String, String>,
}

fn put(root: &Path, path: &str, content: Option<&str>) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    if path.symlink_metadata().is_ok() {
        fs::remove_file(&path).unwrap();
    }
    match content {
        None => {}
        Some("fifo") => mknodat(CWD, path, FileType::Fifo, Mode::RWXU, 0).unwrap(),
        Some(text) => match text.strip_prefix("-> ") {
            Some(target) => symlink(target, path).unwrap(),
            None => fs::write(path, text).unwrap(),
        },
    }
}

fn scope(cwd: &Path) -> TrustScope {
    let clock = Arc::new(SystemClock::new());
    WorkspaceSkills::find(SkillPlaces::default(), cwd, clock).trust_scope()
}

/// Trusts what sessions in a folder would obey, as the command does.
fn trust_folder(store: &WorkspaceTrustStore, folder: &Path) {
    let scope = scope(folder);
    let path = WorkspaceTrustStore::check_folder(folder, None).unwrap();
    let files = scope.files().into_iter().filter_map(|(file, hash)| {
        let file = scope.root.join(file);
        Some((file.strip_prefix(folder).ok()?.to_owned(), hash))
    });
    store.trust_files(&path, &files.collect(), 0).unwrap();
}

fn decide(setup: &Setup) -> BTreeMap<String, String> {
    let dir = tempfile::tempdir().unwrap();
    let top = dir.path().canonicalize().unwrap();
    let work = top.join("work");
    fs::create_dir(&work).unwrap();
    for (path, content) in &setup.files {
        put(&work, path, Some(content));
    }
    let store = WorkspaceTrustStore::new(&top.join("state"));
    if let Some(folder) = &setup.trusted {
        // `.` at the end would be another spelling.
        trust_folder(&store, &work.join(folder).canonicalize().unwrap());
    }
    for (path, content) in &setup.now {
        put(&work, path, content.as_deref());
    }
    let cwd = work.join(setup.cwd.as_deref().unwrap_or("."));
    let scope = scope(&cwd.canonicalize().unwrap());
    let trust = store.find_trust(&scope.root).unwrap();
    let decisions = scope.sources.iter().map(|source| {
        let decision = match source.check(&trust) {
            Ok(()) => "obeyed".to_owned(),
            Err(refusal) => refusal.to_string(),
        };
        (source.name.clone(), decision)
    });
    decisions.collect()
}

#[test]
fn table_of_set_ups_is_decided_as_written() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/trust/setups.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    let mut decided = String::new();
    for line in text.lines() {
        let mut setup: Setup = serde_json::from_str(line).unwrap();
        setup.decisions = decide(&setup);
        decided += &serde_json::to_string(&setup).unwrap();
        decided.push('\n');
    }
    expect_file![path].assert_eq(&decided);
    assert!(decided.lines().count() >= 30);
}

fn one_file(text: &str) -> FileHashes {
    [(PathBuf::from("harn.toml"), ContentHash::of(text.as_bytes()))].into()
}

#[test]
fn trust_covers_the_content_of_a_workspace_only() {
    let dir = tempfile::tempdir().unwrap();
    for folder in ["w/sub", "w-else"] {
        fs::create_dir_all(dir.path().join(folder)).unwrap();
    }
    let (w, state) = (dir.path().join("w"), dir.path().join("state"));
    let trusted = WorkspaceTrustStore::new(&state);
    assert_eq!(trusted.find_trust(&w).unwrap(), WorkspaceTrust::Nothing);
    assert!(!state.exists(), "looking makes nothing");
    let real = WorkspaceTrustStore::check_folder(&w, Some(dir.path())).unwrap();
    fs::write(w.join("harn.toml"), "x").unwrap();
    trusted.trust_files(&real, &one_file("x"), 0).unwrap();
    // Another process sees it.
    let trusted = WorkspaceTrustStore::new(&state);
    let trust = trusted.find_trust(&w).unwrap();
    assert_eq!(trust.check(&one_file("x")), Ok(()));
    let changed = TrustRefusal::Changed("harn.toml".into());
    assert_eq!(trust.check(&one_file("y")), Err(changed));
    let inside = trusted.find_trust(&w.join("sub")).unwrap();
    assert_eq!(inside, WorkspaceTrust::Files(FileHashes::new()));
    for elsewhere in ["w-else", "w/../w-else", "nowhere"] {
        let trust = trusted.find_trust(&dir.path().join(elsewhere)).unwrap();
        assert_eq!(trust, WorkspaceTrust::Nothing, "{elsewhere}");
    }
    assert!(trusted.revoke(&w).unwrap());
    assert!(!trusted.revoke(&w).unwrap());
    assert_eq!(trusted.find_trust(&w).unwrap(), WorkspaceTrust::Nothing);
}

#[test]
fn copies_of_trusted_texts_are_private_and_deleted_when_unused() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let (w, state) = (
        dir.path().canonicalize().unwrap().join("w"),
        dir.path().join("state"),
    );
    fs::create_dir(&w).unwrap();
    let trusted = WorkspaceTrustStore::new(&state);
    let copies = || fs::read_dir(state.join("trusted")).unwrap().count();
    for text in ["one", "two"] {
        fs::write(w.join("harn.toml"), text).unwrap();
        trusted.trust_files(&w, &one_file(text), 0).unwrap();
        let hash = ContentHash::of(text.as_bytes());
        assert_eq!(trusted.trusted_text(hash).as_deref(), Some(text));
        assert_eq!(copies(), 1);
        let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let folder = state.join("trusted");
        assert_eq!(mode(folder.join(hash.to_string())), 0o600);
        assert_eq!(mode(folder), 0o700);
    }
    // A file that changed after it was hashed is not copied, and a damaged copy is not shown.
    trusted.trust_files(&w, &one_file("three"), 0).unwrap();
    assert_eq!(
        (trusted.trusted_text(ContentHash::of(b"three")), copies()),
        (None, 0)
    );
    trusted.trust_files(&w, &one_file("two"), 0).unwrap();
    let hash = ContentHash::of(b"two");
    fs::write(state.join("trusted").join(hash.to_string()), "evil").unwrap();
    assert_eq!(trusted.trusted_text(hash), None);
    trusted.revoke(&w).unwrap();
    assert_eq!(copies(), 0);
}

#[test]
fn link_in_a_trusted_workspace_is_resolved_before_the_check() {
    let dir = tempfile::tempdir().unwrap();
    for folder in ["good", "bad"] {
        fs::create_dir_all(dir.path().join(folder)).unwrap();
    }
    let link = dir.path().join("good/inside");
    symlink(dir.path().join("bad"), &link).unwrap();
    let trusted = WorkspaceTrustStore::new(&dir.path().join("state"));
    let good = dir.path().canonicalize().unwrap().join("good");
    trusted.trust_files(&good, &one_file("x"), 0).unwrap();
    assert_eq!(trusted.find_covering(&link).unwrap(), None);
    assert_eq!(trusted.find_trust(&link).unwrap(), WorkspaceTrust::Nothing);
}

#[test]
fn trust_rejects_the_root_and_home_folders() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("home/ada");
    fs::create_dir_all(&home).unwrap();
    for wide in [Path::new("/"), &home, &dir.path().join("home")] {
        let refused = WorkspaceTrustStore::check_folder(wide, Some(&home));
        assert!(matches!(refused, Err(TrustError::TooWide(_))), "{wide:?}");
    }
    let nowhere = WorkspaceTrustStore::check_folder(&dir.path().join("nowhere"), None);
    assert!(matches!(nowhere, Err(TrustError::NoFolder { .. })));
}

#[test]
fn unreadable_file_trusts_nothing() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join(FILE), "workspace = 3").unwrap();
    let trusted = WorkspaceTrustStore::new(dir.path());
    let error = trusted.find_trust(dir.path()).unwrap_err().to_string();
    assert!(error.contains(FILE), "{error}");
    assert_eq!(trusted.trust(dir.path()), WorkspaceTrust::Nothing);
}
