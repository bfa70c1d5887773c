//! Tests of merging, as tables: files before, changes, and reported events.

use std::collections::BTreeSet;

use notify::event::{CreateKind, DataChange, MetadataKind, ModifyKind, RemoveKind, RenameMode};

use super::*;

const WRITTEN: EventKind = EventKind::Modify(ModifyKind::Data(DataChange::Any));
const CREATED: EventKind = EventKind::Create(CreateKind::File);
const REMOVED: EventKind = EventKind::Remove(RemoveKind::File);

/// A fake disk that reports its changes to `UnreportedChanges`, as the scanner does.
struct FakeDisk {
    files: BTreeSet<String>,
    pending: UnreportedChanges,
}

impl FakeDisk {
    /// `+a` creates, `~a` writes, `-a` removes, `a>b` renames a file or a folder.
    fn step(&mut self, step: &str) {
        if let Some((from, to)) = step.split_once('>') {
            let name = |mode| EventKind::Modify(ModifyKind::Name(mode));
            let inside = format!("{from}/");
            let files: Vec<_> = self
                .files
                .iter()
                .filter(|file| *file == from || file.starts_with(&inside))
                .cloned()
                .collect();
            for file in &files {
                self.set(file, false, name(RenameMode::From));
            }
            for file in &files {
                self.set(&file.replacen(from, to, 1), true, name(RenameMode::To));
            }
            self.pending.record_rename(Path::new(from), Path::new(to));
            return;
        }
        let (op, file) = step.split_at(1);
        match op {
            "+" => self.set(file, true, CREATED),
            "~" => self.set(file, true, WRITTEN),
            "-" => {
                self.pending.record_removal(Path::new(file));
                self.set(file, false, REMOVED);
            }
            _ => panic!("{step}"),
        }
    }

    fn set(&mut self, file: &str, is: bool, kind: EventKind) {
        let was = if is {
            !self.files.insert(file.to_owned())
        } else {
            self.files.remove(file)
        };
        self.pending.touch(Path::new(file), was, is, kind);
    }
}

fn events_after(before: &str, steps: &str) -> Vec<FsWatchEvent> {
    let mut disk = FakeDisk {
        files: before.split_whitespace().map(str::to_owned).collect(),
        pending: UnreportedChanges::default(),
    };
    steps.split_whitespace().for_each(|step| disk.step(step));
    disk.pending.take(Path::new("/root"))
}

#[test]
fn related_changes_become_one_event() {
    let table = [
        ("", "+a", "create a"),
        ("", "+a ~a ~a", "create a"),
        ("a", "~a ~a ~a", "modify a"),
        ("a", "-a", "remove a"),
        ("a", "~a -a", "remove a"),
        ("", "+a -a", ""),
        ("", "+a ~a -a +a", "create a"),
        ("a", "-a +a ~a", "modify a"),
        ("a b", "~b ~a", "modify a; modify b"),
        // Renames, single and chained.
        ("a", "a>b", "rename a b"),
        ("a", "a>b ~b", "rename a b"),
        ("a", "a>b b>c", "rename a c"),
        ("a", "a>b b>a", "modify a"),
        ("", "+a a>b", "create b"),
        ("a", "a>b -b", "remove a"),
        ("a", "a>b -b +b", "remove a; create b"),
        // Editors: write a new file in the same folder, then rename it over the old one.
        ("a", "+t ~t t>a", "modify a"),
        // Editors: rename the old file, write a new one, then remove or keep the old one.
        ("a", "a>a~ +a ~a -a~", "modify a"),
        ("a", "a>a~ +a ~a", "modify a; create a~"),
        // A rename over a known file: the target is modified, the source is removed.
        ("a b", "a>b", "remove a; modify b"),
        ("a b", "a>t b>a t>b", "modify a; modify b"),
        // A folder moves with its files.
        ("d/a d/b x", "d>e", "rename d/a e/a; rename d/b e/b"),
        ("d/a", "d>e e/a>e/b", "rename d/a e/b"),
        ("d/a", "d>e e>f", "rename d/a f/a"),
        ("d/a", "d>e +e/b", "rename d/a e/a; create e/b"),
    ];
    for (before, steps, expected) in table {
        let told: Vec<_> = events_after(before, steps)
            .iter()
            .map(|event| format!("{} {}", event.kind, event.relative_paths.join(" ")))
            .collect();
        assert_eq!(told.join("; "), expected, "{before} | {steps}");
    }
}

#[test]
fn an_event_has_its_paths_and_the_raw_kind() {
    let table = [
        ("", "+s/a ~s/a", "Create(File)"),
        ("s/a", "~s/a", "Modify(Data(Any))"),
        ("s/a", "~s/a -s/a", "Remove(File)"),
        ("s/a", "+t t>s/a", "Modify(Name(To))"),
    ];
    for (before, steps, raw_kind) in table {
        let told = events_after(before, steps);
        assert_eq!(told.len(), 1);
        assert_eq!(told[0].paths, ["/root/s/a"]);
        assert_eq!(told[0].relative_paths, ["s/a"]);
        assert_eq!(told[0].raw_kind, raw_kind, "{before} | {steps}");
        assert_eq!(told[0].error, None);
    }
    let renamed = &events_after("a", "a>s/b")[0];
    assert_eq!(renamed.paths, ["/root/a", "/root/s/b"]);
    assert_eq!(renamed.raw_kind, "Modify(Name(Both))");
}

#[test]
fn take_resets_the_changes() {
    let mut disk = FakeDisk {
        files: BTreeSet::new(),
        pending: UnreportedChanges::default(),
    };
    let mut told = Vec::new();
    for step in ["+a", "~a", "a>b", "-b"] {
        disk.step(step);
        told.extend(disk.pending.take(Path::new("/")));
        assert!(disk.pending.is_empty());
    }
    let kinds: Vec<_> = told.iter().map(|event| event.kind.as_str()).collect();
    assert_eq!(kinds, ["create", "modify", "rename", "remove"]);
}

/// A scan may find a file before its creation event arrives.
#[test]
fn a_created_file_did_not_exist_before() {
    let mut pending = UnreportedChanges::default();
    pending.touch(Path::new("a"), true, true, CREATED);
    assert_eq!(pending.take(Path::new("/"))[0].kind, "create");
    let metadata = EventKind::Modify(ModifyKind::Metadata(MetadataKind::Any));
    pending.touch(Path::new("a"), true, true, metadata);
    assert_eq!(pending.take(Path::new("/"))[0].kind, "modify");
}

#[test]
fn an_overflow_is_reported_as_missed_once() {
    let mut pending = UnreportedChanges::default();
    for file in 0..MAX_PATHS + 10 {
        let path = format!("{file:05}");
        pending.touch(Path::new(&path), true, true, WRITTEN);
        pending.record_rename(Path::new(&format!("{path}.old")), Path::new(&path));
    }
    pending.touch(Path::new("00000"), true, false, REMOVED);
    assert_eq!(pending.moved.len(), MAX_PATHS);
    let told = pending.take(Path::new("/root"));
    assert_eq!(told.len(), MAX_PATHS + 1);
    assert_eq!(told[0].kind, "remove");
    let last = told.last().unwrap();
    assert_eq!(
        (last.kind.as_str(), last.raw_kind.as_str()),
        ("other", "Rescan")
    );
    assert!(
        last.error
            .as_ref()
            .unwrap()
            .contains("read the files again")
    );
    assert!(last.paths.is_empty());
    assert!(pending.is_empty());
}

#[test]
fn failures_are_reported_once_and_up_to_a_limit() {
    let mut pending = UnreportedChanges::default();
    for _ in 0..3 {
        pending.record_failure(Some(Path::new("s")), "Error", "no".to_owned());
    }
    let told = pending.take(Path::new("/root"));
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].kind, "other");
    assert_eq!(told[0].paths, ["/root/s"]);
    assert_eq!(told[0].error.as_deref(), Some("no"));

    for number in 0..100 {
        pending.record_failure(None, "Error", number.to_string());
    }
    assert_eq!(pending.take(Path::new("/root")).len(), MAX_TROUBLES + 1);
}
