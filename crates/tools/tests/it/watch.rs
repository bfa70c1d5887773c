//! Watching real files with the system's own watcher; a test waits only for events that must arrive.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use harn_model::FsWatchEvent;
use harn_tools::{FileWatch, WatchError};

/// The time limit of a wait, which only a failing test reaches.
const PATIENCE: Duration = Duration::from_secs(30);

struct Scene {
    _dir: tempfile::TempDir,
    root: PathBuf,
    watch: FileWatch,
    /// The reported events so far: kind and paths.
    told: Vec<String>,
    /// Writes that the test waited for.
    written: Vec<String>,
}

impl Scene {
    async fn new(files: &[(&str, &str)], glob: &'static str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().to_owned();
        for (file, text) in files {
            write(&root.join(file), text);
        }
        let at = root.clone();
        let started = tokio::task::spawn_blocking(move || FileWatch::start(&at, glob));
        Self {
            _dir: dir,
            root,
            watch: started.await.unwrap().unwrap(),
            told: Vec::new(),
            written: Vec::new(),
        }
    }

    fn path(&self, file: &str) -> PathBuf {
        self.root.join(file)
    }

    async fn next(&mut self) -> Vec<FsWatchEvent> {
        let changed = tokio::time::timeout(PATIENCE, self.watch.changed()).await;
        let events = changed.unwrap_or_else(|_| panic!("nothing more after {:?}", self.told));
        self.note(&events);
        events
    }

    fn note(&mut self, events: &[FsWatchEvent]) {
        for event in events {
            assert_eq!(event.error, None);
            let paths = event.relative_paths.iter().map(|path| self.root.join(path));
            let paths: Vec<_> = paths.map(|path| path.display().to_string()).collect();
            assert_eq!(event.paths, paths);
            self.told
                .push(format!("{} {}", event.kind, event.relative_paths.join(" ")));
        }
    }

    /// Waits until all of these were reported and returns the others.
    async fn wait_for_events(&mut self, expected: &[&str]) -> Vec<String> {
        while !expected
            .iter()
            .all(|one| self.told.iter().any(|told| told == one))
        {
            self.next().await;
        }
        // On a slow machine a burst may end in the middle of a write; the rest is one more change.
        let written = expected
            .iter()
            .map(|one| one.replacen("create", "modify", 1));
        self.written.extend(written);
        let mut told = std::mem::take(&mut self.told);
        told.retain(|told| !expected.contains(&told.as_str()) && !self.written.contains(told));
        told
    }
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

const NONE: [String; 0] = [];

#[tokio::test]
async fn only_matching_files_are_reported() {
    let files = [
        (".gitignore", "*.log.rs\ntarget\n"),
        ("a.rs", ""),
        ("src/b.rs", ""),
        ("target/c.rs", ""),
        (".git/d.rs", ""),
        ("notes.md", ""),
    ];
    let mut scene = Scene::new(&files, "**/*.rs").await;
    assert_eq!(
        scene.watch.files(),
        [scene.path("a.rs"), scene.path("src/b.rs")]
    );
    write(&scene.path("notes.md"), "other kind");
    write(&scene.path("x.log.rs"), "ignored file");
    write(&scene.path("target/c.rs"), "ignored folder");
    write(&scene.path(".git/d.rs"), "never");
    write(&scene.path(".hidden.rs"), "hidden");
    write(&scene.path("src/b.rs"), "changed");
    write(&scene.path("src/new.rs"), "new");
    // The system reports in order, so every earlier event has arrived when this one does.
    write(&scene.path("a.rs"), "last");
    let others = scene
        .wait_for_events(&["modify src/b.rs", "create src/new.rs", "modify a.rs"])
        .await;
    assert_eq!(others, NONE);
    assert_eq!(scene.watch.files().len(), 3);
}

#[tokio::test]
async fn files_in_new_directories_are_reported() {
    let mut scene = Scene::new(&[("a.rs", "")], "**/*.rs").await;
    // All at once, before the directories can be watched.
    write(&scene.path("n/m/deep/1.rs"), "one");
    let others = scene.wait_for_events(&["create n/m/deep/1.rs"]).await;
    assert_eq!(others, NONE);
    // The new directories are watched from now on.
    write(&scene.path("n/m/2.rs"), "two");
    write(&scene.path("n/m/deep/1.rs"), "one, again");
    scene
        .wait_for_events(&["create n/m/2.rs", "modify n/m/deep/1.rs"])
        .await;
    assert_eq!(scene.watch.files().len(), 3);
}

#[tokio::test]
async fn removed_files_and_directories_are_reported() {
    let files = [
        ("a.rs", ""),
        ("d/b.rs", ""),
        ("d/e/c.rs", ""),
        ("d/x.md", ""),
    ];
    let mut scene = Scene::new(&files, "**/*.rs").await;
    fs::remove_file(scene.path("a.rs")).unwrap();
    fs::remove_dir_all(scene.path("d")).unwrap();
    let gone = ["remove a.rs", "remove d/b.rs", "remove d/e/c.rs"];
    assert_eq!(scene.wait_for_events(&gone).await, NONE);
    assert_eq!(scene.watch.files().len(), 0);
    // The same directory is created again.
    write(&scene.path("d/e/c.rs"), "back");
    assert_eq!(scene.wait_for_events(&["create d/e/c.rs"]).await, NONE);
    write(&scene.path("d/e/c.rs"), "and watched");
    scene.wait_for_events(&["modify d/e/c.rs"]).await;
}

#[tokio::test]
async fn rename_is_one_event_with_both_names() {
    let mut scene = Scene::new(&[("0.rs", "")], "*.rs").await;
    // A burst may end between the two halves, but not every time.
    for number in 0..100 {
        let (from, to) = (format!("{number}.rs"), format!("{}.rs", number + 1));
        fs::rename(scene.path(&from), scene.path(&to)).unwrap();
        let events = scene.next().await;
        if let [event] = events.as_slice()
            && event.kind == "rename"
        {
            assert_eq!(event.relative_paths, [from, to]);
            assert_eq!(event.raw_kind, "Modify(Name(Both))");
            return;
        }
        scene.wait_for_events(&[&format!("create {to}")]).await;
    }
    panic!("never told as a rename");
}

#[tokio::test]
async fn moved_directory_is_watched_at_its_new_path() {
    let mut scene = Scene::new(&[("d/a.rs", ""), ("d/e/b.rs", "")], "**/*.rs").await;
    fs::rename(scene.path("d"), scene.path("f")).unwrap();
    while !scene.told.iter().any(|told| told.ends_with("f/e/b.rs")) {
        scene.next().await;
    }
    write(&scene.path("f/e/b.rs"), "here");
    scene.wait_for_events(&["modify f/e/b.rs"]).await;
}

#[tokio::test]
async fn replaced_file_is_reported_as_modified() {
    let mut scene = Scene::new(&[("a.rs", "old"), ("b.rs", "old")], "*.rs").await;
    write(&scene.path("a.rs.tmp"), "new");
    fs::rename(scene.path("a.rs.tmp"), scene.path("a.rs")).unwrap();
    assert_eq!(scene.wait_for_events(&["modify a.rs"]).await, NONE);
}

#[tokio::test]
async fn burst_reports_each_path_once() {
    let mut scene = Scene::new(&[("a.rs", "")], "**/*.rs").await;
    for round in 0..50 {
        write(&scene.path("a.rs"), &round.to_string());
        write(&scene.path("short.rs"), "");
        fs::remove_file(scene.path("short.rs")).unwrap();
    }
    write(&scene.path("z.rs"), "");
    scene.wait_for_events(&["modify a.rs", "create z.rs"]).await;
    // The number of bursts depends on the machine; that a burst has each path once does not.
    write(&scene.path("a.rs"), "1");
    write(&scene.path("a.rs"), "2");
    let events = scene.next().await;
    let mut paths: Vec<_> = events.iter().flat_map(|event| &event.paths).collect();
    let all = paths.len();
    paths.dedup();
    assert_eq!(paths.len(), all, "{events:?}");
}

#[tokio::test]
async fn dropped_call_loses_no_event() {
    let mut scene = Scene::new(&[("a.rs", "")], "*.rs").await;
    write(&scene.path("b.rs"), "");
    for _ in 0..10 {
        tokio::select! {
            biased;
            events = scene.watch.changed() => scene.note(&events),
            () = tokio::task::yield_now() => {}
        }
    }
    assert_eq!(scene.wait_for_events(&["create b.rs"]).await, NONE);
}

#[tokio::test]
async fn links_are_not_followed() {
    let outside = tempfile::tempdir().unwrap();
    write(&outside.path().join("secret.rs"), "");
    let mut scene = Scene::new(&[("a.rs", "")], "**/*.rs").await;
    std::os::unix::fs::symlink(outside.path(), scene.path("out")).unwrap();
    std::os::unix::fs::symlink(outside.path().join("secret.rs"), scene.path("s.rs")).unwrap();
    write(&scene.path("a.rs"), "first");
    assert_eq!(scene.wait_for_events(&["modify a.rs"]).await, NONE);
    write(&outside.path().join("secret.rs"), "changed");
    write(&scene.path("b.rs"), "");
    assert_eq!(scene.wait_for_events(&["create b.rs"]).await, NONE);
    assert_eq!(scene.watch.files().len(), 2);
}

/// A root that was given as a link is reported under that name.
#[tokio::test]
async fn paths_start_with_the_root_as_given() {
    let real = tempfile::tempdir().unwrap();
    let names = tempfile::tempdir().unwrap();
    let named = names.path().join("workspace");
    std::os::unix::fs::symlink(real.path(), &named).unwrap();
    let mut watch = FileWatch::start(&named, "*.rs").unwrap();
    write(&real.path().join("a.rs"), "");
    let events = tokio::time::timeout(PATIENCE, watch.changed())
        .await
        .unwrap();
    assert_eq!(events[0].paths, [named.join("a.rs").display().to_string()]);
    assert_eq!(events[0].relative_paths, ["a.rs"]);
}

#[test]
fn invalid_watch_is_rejected() {
    let dir = tempfile::tempdir().unwrap();
    write(&dir.path().join("file"), "");
    let start = |glob: &str| FileWatch::start(dir.path(), glob).unwrap_err();
    assert_eq!(start(" "), WatchError::Empty);
    assert!(matches!(start("/a"), WatchError::Absolute { .. }));
    assert!(matches!(start("a/../../b"), WatchError::Outside { .. }));
    assert!(matches!(start("{a"), WatchError::Syntax { .. }));
    assert!(matches!(start("a/"), WatchError::Folder { .. }));
    for root in ["file", "nowhere"] {
        let error = FileWatch::start(&dir.path().join(root), "**").unwrap_err();
        assert!(matches!(&error, WatchError::Root { .. }), "{error}");
    }
}
