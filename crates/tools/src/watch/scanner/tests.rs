//! Tests with a fake system watcher that only records folders; the tests send the events.

use std::{
    os::unix::fs::symlink,
    sync::{Mutex, PoisonError},
};

use harn_model::FsWatchEvent;
use notify::{
    Config, EventHandler, WatcherKind,
    event::{CreateKind, DataChange, RemoveKind},
};

use super::*;
use crate::watch::{WatchThread, burst::ChangeBurst, listener};

type WatchedPaths = Arc<Mutex<BTreeSet<PathBuf>>>;

/// Watches at most `room` folders.
struct RecordingWatcher {
    watched: WatchedPaths,
    room: usize,
}

impl Watcher for RecordingWatcher {
    fn new<F: EventHandler>(_: F, _: Config) -> notify::Result<Self> {
        Err(notify::Error::generic("made by hand"))
    }

    fn watch(&mut self, path: &Path, mode: RecursiveMode) -> notify::Result<()> {
        assert_eq!(mode, RecursiveMode::NonRecursive);
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        if watched.len() >= self.room && !watched.contains(path) {
            return Err(notify::Error::new(notify::ErrorKind::MaxFilesWatch));
        }
        watched.insert(path.to_owned());
        Ok(())
    }

    fn unwatch(&mut self, path: &Path) -> notify::Result<()> {
        self.watched.lock().unwrap().remove(path);
        Ok(())
    }

    fn kind() -> WatcherKind {
        WatcherKind::NullWatcher
    }
}

struct ScannerFixture {
    dir: tempfile::TempDir,
    root: PathBuf,
    watched: WatchedPaths,
    shared: Arc<WatchState>,
    scout: WatchScanner,
}

impl ScannerFixture {
    fn new(files: &[&str], glob: &str) -> Self {
        Self::with_room(files, glob, usize::MAX).unwrap()
    }

    fn with_room(files: &[&str], glob: &str, room: usize) -> Result<Self, WatchError> {
        let dir = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(dir.path()).unwrap();
        for file in files {
            write(&root.join(file), "");
        }
        let watched = WatchedPaths::default();
        let notes = Box::new(RecordingWatcher {
            watched: watched.clone(),
            room,
        });
        let shared = Arc::new(WatchState::new(root.clone()));
        let scout = WatchScanner::start(
            root.clone(),
            GlobPattern::parse(glob, &root)?,
            notes,
            shared.clone(),
            Arc::default(),
        )?;
        Ok(Self {
            dir,
            root,
            watched,
            shared,
            scout,
        })
    }

    fn folders(&self) -> Vec<String> {
        let watched = self.watched.lock().unwrap();
        let relative =
            |path: &PathBuf| path.strip_prefix(&self.root).unwrap().display().to_string();
        watched.iter().map(relative).collect()
    }

    fn send_event(&mut self, kind: EventKind, path: &str) {
        let path = self.scout.absolute_path(Path::new(path));
        self.scout.handle(Ok(Event::new(kind).add_path(path)));
    }

    fn take_events(&self) -> Vec<FsWatchEvent> {
        let mut told = Vec::new();
        self.shared.add(|pending| told = pending.take(&self.root));
        told
    }

    fn summary(&self) -> String {
        let line =
            |event: &FsWatchEvent| format!("{} {}", event.kind, event.relative_paths.join(" "));
        let lines: Vec<_> = self.take_events().iter().map(line).collect();
        lines.join("; ")
    }
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn create_event(folder: bool) -> EventKind {
    EventKind::Create(if folder {
        CreateKind::Folder
    } else {
        CreateKind::File
    })
}

fn rename_event(mode: RenameMode) -> EventKind {
    EventKind::Modify(ModifyKind::Name(mode))
}

const WRITTEN: EventKind = EventKind::Modify(ModifyKind::Data(DataChange::Any));
const REMOVED: EventKind = EventKind::Remove(RemoveKind::Any);

#[test]
fn ignored_folders_are_not_watched() {
    let files = [
        "a.rs",
        "src/b.rs",
        "src/deep/c.rs",
        "docs/d.md",
        ".git/HEAD",
        ".cache/x.rs",
        "node_modules/x/y.rs",
    ];
    let outside = tempfile::tempdir().unwrap();
    let table: [(&str, &[&str], usize); 5] = [
        ("**/*.rs", &["", "docs", "src", "src/deep"], 3),
        ("src/**", &["", "src", "src/deep"], 2),
        ("src/*.rs", &["", "src"], 1),
        ("*.rs", &[""], 1),
        (".cache/**", &["", ".cache"], 1),
    ];
    for (glob, folders, matches) in table {
        let mut scene = ScannerFixture::new(&files, glob);
        symlink(outside.path(), scene.root.join("link")).unwrap();
        write(&scene.root.join(".gitignore"), "node_modules\n");
        scene.send_event(create_event(false), ".gitignore");
        scene.send_event(create_event(false), "link");
        scene.send_event(create_event(true), ".git");
        assert_eq!(scene.folders(), folders, "{glob}");
        assert_eq!(scene.shared.file_paths().len(), matches, "{glob}");
        assert_eq!(scene.summary(), "", "{glob}");
    }
}

#[test]
fn an_exceeded_watch_limit_is_reported_with_advice() {
    let files = ["a/1", "b/2", "c/d/3"];
    let error = ScannerFixture::with_room(&files, "**", 2).err().unwrap();
    let expected = WatchError::TooManyFolders {
        folders: 5,
        watched: 2,
    };
    assert_eq!(error, expected);
    let text = error.to_string();
    assert!(
        text.contains("5 folders") && text.contains("max_user_watches"),
        "{text}"
    );

    let mut scene = ScannerFixture::with_room(&files, "**", 5).unwrap();
    write(&scene.root.join("e/4"), "");
    scene.send_event(create_event(true), "e");
    let told = scene.take_events();
    let [file, trouble] = told.as_slice() else {
        panic!("{told:?}")
    };
    assert_eq!(
        (file.kind.as_str(), file.relative_paths[0].as_str()),
        ("create", "e/4")
    );
    assert_eq!(
        (trouble.kind.as_str(), trouble.relative_paths[0].as_str()),
        ("other", "e")
    );
    assert!(
        trouble.error.as_ref().unwrap().contains("6 folders"),
        "{trouble:?}"
    );
}

#[test]
fn a_new_folder_is_watched_with_its_content() {
    let mut scene = ScannerFixture::new(&["a"], "**");
    write(&scene.root.join("n/m/b"), "");
    scene.send_event(create_event(true), "n");
    assert_eq!(scene.folders(), ["", "n", "n/m"]);
    assert_eq!(scene.summary(), "create n/m/b");
    // The late event of the watch on `n` is already known.
    scene.send_event(create_event(true), "n/m");
    assert_eq!(scene.summary(), "");
    assert_eq!(scene.shared.file_paths().len(), 2);
}

#[test]
fn a_moved_folder_renames_its_files() {
    let mut scene = ScannerFixture::new(&["d/a", "d/e/b", "x"], "**");
    fs::rename(scene.root.join("d"), scene.root.join("f")).unwrap();
    scene.send_event(rename_event(RenameMode::From), "d");
    scene.send_event(rename_event(RenameMode::To), "f");
    let both = Event::new(rename_event(RenameMode::Both));
    let both = both
        .add_path(scene.root.join("d"))
        .add_path(scene.root.join("f"));
    scene.scout.handle(Ok(both));
    // The folder itself also reports its move, by its old name.
    scene.send_event(rename_event(RenameMode::From), "d");
    assert_eq!(scene.folders(), ["", "f", "f/e"]);
    assert_eq!(scene.summary(), "rename d/a f/a; rename d/e/b f/e/b");
}

#[test]
fn a_folder_moved_out_of_the_root_removes_its_files() {
    let mut scene = ScannerFixture::new(&["d/a", "d/e/b", "x"], "**");
    let elsewhere = tempfile::tempdir().unwrap();
    fs::rename(scene.root.join("d"), elsewhere.path().join("d")).unwrap();
    scene.send_event(rename_event(RenameMode::From), "d");
    assert_eq!(scene.folders(), [""]);
    assert_eq!(scene.summary(), "remove d/a; remove d/e/b");
    assert_eq!(scene.shared.file_paths().len(), 1);
}

/// A different folder took the name before the removal event arrived: its files are different.
#[test]
fn a_replaced_folder_reports_its_different_files() {
    let mut scene = ScannerFixture::new(&["d/a", "d/b"], "**");
    let elsewhere = tempfile::tempdir().unwrap();
    fs::rename(scene.root.join("d"), elsewhere.path().join("d")).unwrap();
    write(&scene.root.join("d/a"), "other");
    write(&scene.root.join("d/c"), "");
    scene.send_event(rename_event(RenameMode::From), "d");
    scene.send_event(create_event(true), "d");
    assert_eq!(scene.folders(), ["", "d"]);
    assert_eq!(scene.summary(), "modify d/a; remove d/b; create d/c");
}

#[test]
fn new_rules_change_the_files_without_events() {
    let mut scene = ScannerFixture::new(&["a.rs", "gen/b.rs", "gen/deep/c.rs", "d.rs"], "**/*.rs");
    write(&scene.root.join(".gitignore"), "gen\n");
    // Removed at the same time: that is a change.
    fs::remove_file(scene.root.join("d.rs")).unwrap();
    scene.send_event(create_event(false), ".gitignore");
    assert_eq!(scene.folders(), [""]);
    assert_eq!(scene.shared.file_paths().len(), 1);
    assert_eq!(scene.summary(), "remove d.rs");
    scene.send_event(REMOVED, "d.rs");
    assert_eq!(scene.summary(), "");

    write(&scene.root.join(".gitignore"), "a.rs\n");
    scene.send_event(WRITTEN, ".gitignore");
    assert_eq!(scene.folders(), ["", "gen", "gen/deep"]);
    assert_eq!(scene.summary(), "");
    scene.send_event(WRITTEN, "a.rs");
    assert_eq!(scene.summary(), "");
    scene.send_event(WRITTEN, "gen/b.rs");
    assert_eq!(scene.summary(), "modify gen/b.rs");
}

/// As in the unpacking of a tree: the rules arrive first, and when they are read the rest exists.
#[test]
fn files_created_with_the_rules_are_reported() {
    let mut scene = ScannerFixture::new(&["d/a"], "**");
    write(&scene.root.join(".gitignore"), "*.log\n");
    write(&scene.root.join("d/b"), "");
    write(&scene.root.join("n/m/c"), "");
    write(&scene.root.join("n/x.log"), "");
    scene.send_event(create_event(false), ".gitignore");
    assert_eq!(scene.folders(), ["", "d", "n", "n/m"]);
    assert_eq!(scene.summary(), "");
    scene.send_event(create_event(false), "d/b");
    scene.send_event(create_event(true), "n");
    assert_eq!(scene.summary(), "create d/b; create n/m/c");
    scene.send_event(create_event(true), "n/m");
    assert_eq!(scene.summary(), "");
}

#[test]
fn an_overflow_causes_a_full_scan() {
    let mut scene = ScannerFixture::new(&["a", "old/b"], "**");
    write(&scene.root.join("new/c"), "");
    fs::remove_dir_all(scene.root.join("old")).unwrap();
    let overflow = Event::new(EventKind::Other).set_flag(notify::event::Flag::Rescan);
    scene.scout.handle(Ok(overflow));
    assert_eq!(scene.folders(), ["", "new"]);
    let told = scene.take_events();
    let kinds: Vec<_> = told.iter().map(|event| event.kind.as_str()).collect();
    assert_eq!(kinds, ["create", "remove", "other"]);
    assert!(told[2].error.as_ref().unwrap().contains("missed"));
}

/// The queue between the watcher and the scanner is bounded too.
#[test]
fn a_full_queue_causes_a_full_scan() {
    let scene = ScannerFixture::new(&["a"], "**");
    let (wake, heard) = std::sync::mpsc::sync_channel(2);
    let missed = Arc::new(AtomicBool::new(false));
    let work = WatchThread {
        heard,
        missed: missed.clone(),
        stop: Arc::default(),
        shared: scene.shared.clone(),
    };
    let mut hear = listener(wake, missed.clone());
    let opened = EventKind::Access(notify::event::AccessKind::Any);
    for _ in 0..10 {
        hear(Ok(Event::new(opened).add_path(scene.root.join("a"))));
    }
    for file in ["b", "c", "d"] {
        assert!(!missed.load(Ordering::Relaxed));
        write(&scene.root.join(file), "");
        hear(Ok(
            Event::new(create_event(false)).add_path(scene.root.join(file))
        ));
    }
    assert!(missed.load(Ordering::Relaxed));
    drop(hear);
    let (root, shared) = (scene.root.clone(), scene.shared.clone());
    work.run(scene.scout);
    let mut told = Vec::new();
    shared.add(|pending| told = pending.take(&root));
    let kinds: Vec<_> = told.iter().map(|event| event.kind.as_str()).collect();
    assert_eq!(kinds, ["create", "create", "create", "other", "other"]);
    let errors: Vec<_> = told
        .iter()
        .filter_map(|event| event.error.as_ref())
        .collect();
    assert!(errors[0].contains("ended by itself"), "{errors:?}");
    assert!(errors[1].contains("missed"), "{errors:?}");
}

#[test]
fn a_removed_root_is_reported() {
    let mut scene = ScannerFixture::new(&["a"], "**");
    fs::remove_dir_all(scene.dir.path()).unwrap();
    scene.send_event(REMOVED, "a");
    scene.send_event(REMOVED, "");
    scene.send_event(REMOVED, "");
    let told = scene.take_events();
    let kinds: Vec<_> = told.iter().map(|event| event.kind.as_str()).collect();
    assert_eq!(kinds, ["remove", "other"]);
    assert!(told[1].error.as_ref().unwrap().contains("no longer exists"));
    assert!(scene.folders().is_empty());
}

/// Events about other paths, about links, and late events are no change of a watched file.
#[tokio::test(start_paused = true)]
async fn events_about_other_files_wake_no_task() {
    let mut scene = ScannerFixture::new(&["a.rs"], "**/*.rs");
    symlink(scene.root.join("a.rs"), scene.root.join("link.rs")).unwrap();
    write(&scene.root.join("note.txt"), "");
    scene.send_event(create_event(false), "link.rs");
    scene.send_event(create_event(false), "note.txt");
    scene.send_event(WRITTEN, "note.txt");
    scene.send_event(create_event(false), "gone.rs");
    let elsewhere = Event::new(WRITTEN).add_path("/elsewhere/b.rs".into());
    scene.scout.handle(Ok(elsewhere));
    let mut burst = ChangeBurst::default();
    let hour = std::time::Duration::from_secs(3600);
    let waited = tokio::time::timeout(hour, burst.next(&scene.shared)).await;
    assert!(waited.is_err());
}

/// The rules decide which files may be disclosed, and they do not see the system's messages.
#[test]
fn messages_of_the_system_are_not_reported() {
    let mut scene = ScannerFixture::new(&["a.rs", "secret/key.rs"], "**/*.rs");
    let elsewhere = PathBuf::from("/elsewhere/secret/key.rs");
    let inside = scene.root.join("secret/key.rs");
    let denied = || std::io::Error::from(std::io::ErrorKind::PermissionDenied);
    let named = || std::io::Error::other("secret/key.rs: no");
    for (error, words) in [
        (notify::Error::io(denied()), "permission denied"),
        (notify::Error::io(named()), "other error"),
        (
            notify::Error::io(std::io::Error::from_raw_os_error(24)),
            "os error 24",
        ),
        (
            notify::Error::generic("lost secret/key.rs"),
            "no reason that can be shown",
        ),
        (notify::Error::path_not_found(), "a path does not exist"),
        (notify::Error::watch_not_found(), "is not watched"),
    ] {
        let error = error.add_path(elsewhere.clone()).add_path(inside.clone());
        scene.scout.handle(Err(error));
        let told = scene.take_events();
        let [event] = &told[..] else {
            panic!("{told:?}");
        };
        assert_eq!((event.kind.as_str(), event.paths.len()), ("other", 0));
        let text = event.error.as_deref().unwrap();
        assert!(text.contains(words) && !text.contains("secret"), "{text}");
        assert!(!event.raw_kind.contains("secret"), "{event:?}");
    }
    // An error about a known path is reported with it, so that the rules can decide.
    scene
        .scout
        .handle(Err(notify::Error::path_not_found().add_path(inside)));
    assert_eq!(scene.summary(), "other secret/key.rs");
}
