//! Symlinks are swapped into a path while files are written: nothing outside the directory is changed or read.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::{MetadataExt, symlink},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use harn_model::SessionId;
use harn_policy::{PathScope, RootedPath, SessionRoots, locate};
use harn_runtime::{HostError, HostPort};
use harn_tools::{DiskProbe, LocalHost};
use rustix::fs::{CWD, RenameFlags, renameat_with};

/// How long the test swaps links; the requirement names this time.
const LONG: Duration = Duration::from_secs(10);

const SECRET: &str = "what is outside";

/// All entries below a directory: path, text, inode and timestamps.
type Tree = BTreeMap<PathBuf, (Option<String>, u64, [i64; 4])>;

fn read_tree(folder: &Path, into: &mut Tree) {
    let meta = fs::symlink_metadata(folder).unwrap();
    let text = meta.is_file().then(|| fs::read_to_string(folder).unwrap());
    let times = [
        meta.mtime(),
        meta.mtime_nsec(),
        meta.ctime(),
        meta.ctime_nsec(),
    ];
    into.insert(folder.to_owned(), (text, meta.ino(), times));
    if meta.is_dir() {
        for entry in fs::read_dir(folder).unwrap() {
            read_tree(&entry.unwrap().path(), into);
        }
    }
}

/// Swaps links until `stop` is set, and returns the number of swaps.
fn swap_links(root: &Path, outside: &Path, stop: &AtomicBool) -> u64 {
    let exchange = |a: &Path, b: &Path| {
        renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE).unwrap();
    };
    let (work, aside) = (root.join("work"), root.join("aside"));
    let git = root.join("git");
    let mut swaps = 0;
    while !stop.load(Ordering::Relaxed) {
        // The directory becomes a link to the outside, and back.
        exchange(&work, &aside);
        std::thread::yield_now();
        exchange(&work, &aside);
        // The directory becomes a link to one that is inside but never written, and back.
        exchange(&work, &git);
        std::thread::yield_now();
        exchange(&work, &git);
        // The file becomes a link to the outside, and back.
        symlink(outside.join("file.txt"), work.join("swap")).unwrap();
        fs::rename(work.join("swap"), work.join("file.txt")).unwrap();
        std::thread::yield_now();
        fs::write(work.join("swap"), "restored").unwrap();
        fs::rename(work.join("swap"), work.join("file.txt")).unwrap();
        swaps += 1;
    }
    swaps
}

fn locate_inside(root: &Path, path: &str) -> RootedPath {
    let roots = SessionRoots::new(vec![root.to_owned()], Vec::new());
    let located = locate(&roots, path, &DiskProbe);
    assert_eq!(located.standing, PathScope::Inside);
    located.place.unwrap()
}

#[derive(Debug, Default)]
struct Counts {
    done: u64,
    refused: u64,
    raced: u64,
}

impl Counts {
    fn count<T>(&mut self, result: Result<T, HostError>) -> Option<T> {
        match result {
            Ok(value) => {
                self.done += 1;
                return Some(value);
            }
            Err(HostError::Failed(why)) if why.contains("while the permission was pending") => {
                self.refused += 1;
            }
            Err(_) => self.raced += 1,
        }
        None
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_outside_changes_while_links_are_swapped() {
    let dir = tempfile::tempdir().unwrap();
    let base = dir.path().canonicalize().unwrap();
    let (root, outside) = (base.join("root"), base.join("outside"));
    for folder in ["root/work", "root/.git/made", "outside/made"] {
        fs::create_dir_all(base.join(folder)).unwrap();
    }
    for file in [
        "outside/file.txt",
        "outside/made/file.txt",
        "root/.git/file.txt",
    ] {
        fs::write(base.join(file), SECRET).unwrap();
    }
    fs::write(root.join("work/file.txt"), "first").unwrap();
    symlink(&outside, root.join("aside")).unwrap();
    symlink(".git", root.join("git")).unwrap();
    // The paths are located before the swaps, as when a permission is given.
    let file = locate_inside(&root, "work/file.txt");
    let new: Vec<_> = (0..64)
        .map(|n| locate_inside(&root, &format!("work/made/{n}/file.txt")))
        .collect();
    let kept = |base: &Path| {
        let mut all = Tree::new();
        read_tree(&base.join("outside"), &mut all);
        read_tree(&base.join("root/.git"), &mut all);
        all
    };
    let before = kept(&base);

    let stop = Arc::new(AtomicBool::new(false));
    let swapper = std::thread::spawn({
        let (root, outside, stop) = (root.clone(), outside.clone(), stop.clone());
        move || swap_links(&root, &outside, &stop)
    });
    let writer = tokio::spawn({
        let stop = stop.clone();
        async move {
            let host = LocalHost::new();
            let session = SessionId::new("s");
            let (mut writes, mut reads) = (Counts::default(), Counts::default());
            let mut made = new.iter().cycle();
            while !stop.load(Ordering::Relaxed) {
                writes.count(host.write_text(&session, &file, "written").await);
                let new = made.next().unwrap();
                writes.count(host.write_text(&session, new, "written").await);
                let text = reads.count(host.read_text(&session, &file).await);
                assert_ne!(text.as_deref(), Some(SECRET));
            }
            (writes, reads)
        }
    });
    tokio::time::sleep(LONG).await;
    stop.store(true, Ordering::Relaxed);
    let (writes, reads) = writer.await.unwrap();
    let swaps = swapper.join().unwrap();

    assert_eq!(kept(&base), before, "something that is not ours changed");
    println!("{swaps} swaps, writes {writes:?}, reads {reads:?}");
    assert!(swaps > 0);
    assert!(writes.done > 0 && reads.done > 0, "nothing was done");
    assert!(writes.refused > 0, "no write met a link");
}
