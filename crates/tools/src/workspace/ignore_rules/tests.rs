//! The rules equal those of the crate `ignore`, and no special file blocks.

use std::{fs, os::unix::fs::symlink, time::Duration};

use ignore::WalkBuilder;
use proptest::{collection::vec, prelude::*, sample::select};
use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::*;
use crate::{Workspace, workspace::build_walk};

/// The paths of files and folders, in the order of a walk.
fn walk(builder: &WalkBuilder) -> Vec<PathBuf> {
    let entries = builder.build().filter_map(Result::ok);
    entries.map(ignore::DirEntry::into_path).collect()
}

/// A walk with the rules of the crate.
fn walk_by_crate(start: &Path, hidden: HiddenFiles) -> Vec<PathBuf> {
    let mut builder = WalkBuilder::new(start);
    builder
        .follow_links(false)
        .require_git(false)
        .git_global(false)
        .hidden(hidden == HiddenFiles::LeftOut)
        .sort_by_file_name(Ord::cmp);
    walk(&builder)
}

fn write(root: &Path, path: &str, text: impl AsRef<[u8]>) {
    let path = root.join(path);
    // A name may be that of a file already.
    let _ = fs::create_dir_all(path.parent().unwrap());
    let _ = fs::write(path, text);
}

fn pipe(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    mknodat(CWD, path, FileType::Fifo, Mode::RWXU, 0).unwrap();
}

fn path() -> impl Strategy<Value = String> {
    let name = select(&["a", "b", "c.rs", "d.log", ".e", "target", "src"][..]);
    vec(name, 1..4).prop_map(|names| names.join("/"))
}

fn rules() -> impl Strategy<Value = String> {
    let line = select(
        &[
            "a",
            "/a",
            "a/",
            "!a",
            "*.log",
            "!*.log",
            "/src/*.rs",
            "src/**",
            "**/b",
            "b/**/c.rs",
            "!.e",
            "# x",
            "",
            "{a",
            "[a",
            "\\!a",
            "target/\r",
            "!/target",
            "*",
            "!*/",
            "d.log ",
        ][..],
    );
    vec(line, 0..5).prop_map(|lines| lines.join("\n"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn walk_equals_that_of_the_crate(
        files in vec(path(), 1..12),
        ruled in vec((path(), select(&[".gitignore", ".ignore"][..]), rules()), 0..5),
        top in rules(),
        exclude in rules(),
        start in select(&["", "src", "a", "link"][..]),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("root");
        for file in &files {
            write(&root, file, "x");
        }
        for (folder, name, text) in &ruled {
            write(&root, &format!("{folder}/{name}"), text);
        }
        write(&root, ".gitignore", &top);
        write(&root, ".git/info/exclude", &exclude);
        let _ = fs::create_dir(root.join("src"));
        symlink(root.join("src"), root.join("link")).unwrap();
        let start = root.join(start);
        for hidden in [HiddenFiles::LeftOut, HiddenFiles::Included] {
            let expected = walk_by_crate(&start, hidden);
            prop_assert_eq!(walk(&build_walk(&start, hidden, |_| true)), &expected[..]);
            // One by one, as a watch checks them.
            let mut rules = IgnoreRules::new(&start, hidden);
            for entry in WalkBuilder::new(&start).standard_filters(false).build().skip(1) {
                let entry = entry.unwrap();
                let folder = entry.file_type().unwrap().is_dir();
                let inside = entry.path().strip_prefix(&start).unwrap();
                let left_out = rules.leaves_out_with_folders(inside, folder);
                prop_assert_eq!(left_out, !expected.contains(&entry.path().to_owned()));
            }
        }
    }
}

#[test]
fn rules_end_at_a_line_that_is_no_text_and_begin_behind_a_mark() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), ".gitignore", b"\xef\xbb\xbfa\nb\n\xff\nc\n");
    for name in ["a", "b", "c"] {
        write(dir.path(), name, "");
    }
    let hidden = HiddenFiles::LeftOut;
    let found = walk(&build_walk(dir.path(), hidden, |_| true));
    assert_eq!(found, walk_by_crate(dir.path(), hidden));
    assert_eq!(found, [dir.path().to_owned(), dir.path().join("c")]);
}

#[test]
fn linked_worktree_uses_the_excludes_of_its_repository() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "main/.git/info/exclude", "left-out\n");
    write(dir.path(), "main/.git/worktrees/w/commondir", "../..\n");
    write(dir.path(), "w/left-out", "");
    write(dir.path(), "w/found", "");
    let absolute = dir.path().join("main/.git/worktrees/w");
    for named in [absolute.to_str().unwrap(), "../main/.git/worktrees/w"] {
        write(dir.path(), "w/.git", format!("gitdir: {named}\n"));
        let start = dir.path().join("w");
        let found = walk(&build_walk(&start, HiddenFiles::LeftOut, |_| true));
        assert_eq!(found, [start.clone(), start.join("found")], "{named}");
    }
}

/// Each of these would block the thread that opens it, or never end.
fn make_special_files(root: &Path, number: usize) {
    match number % 4 {
        0 => pipe(&root.join(".gitignore")),
        1 => pipe(&root.join(".ignore")),
        2 => pipe(&root.join(".git/info/exclude")),
        _ => pipe(&root.join(".git")),
    }
    if !number.is_multiple_of(4) {
        symlink("/dev/zero", root.join(".gitignore")).unwrap();
    }
    pipe(&root.join("pipe.txt"));
    symlink("/dev/zero", root.join("endless.txt")).unwrap();
    fs::write(root.join("notes.txt"), "an apple\n").unwrap();
}

#[tokio::test]
async fn six_hundred_special_files_stop_nothing() {
    const WORKSPACES: usize = 600;
    let dir = tempfile::tempdir().unwrap();
    let roots = (0..WORKSPACES).map(|number| dir.path().join(number.to_string()));
    let roots: Vec<_> = roots.collect();
    for (number, root) in roots.iter().enumerate() {
        fs::create_dir(root).unwrap();
        make_special_files(root, number);
    }
    let searches = roots.iter().map(|root| {
        let workspace = Workspace::new(root);
        tokio::spawn(async move { workspace.grep("apple").await })
    });
    let searches: Vec<_> = searches.collect();
    // A guard: without special files it takes less than a second.
    let all = tokio::time::timeout(Duration::from_secs(120), async {
        for search in searches {
            let found = search.await.unwrap().unwrap();
            assert_eq!(found.lines.len(), 1);
        }
    });
    all.await.expect("a special file blocks a search");
}

#[test]
fn rules_of_one_walk_have_a_limit() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), ".gitignore", "a\n");
    write(dir.path(), "sub/.gitignore", "b\n");
    let mut rules = IgnoreRules::new(dir.path(), HiddenFiles::LeftOut);
    rules.reader.room = 3;
    let left_out = |path: &str| rules.leaves_out_with_folders(Path::new(path), false);
    let found = ["a", "sub/a", "sub/b"].map(left_out);
    assert_eq!(found, [true, true, false]);
}
