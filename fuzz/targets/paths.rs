//! Paths: on a disk of any folders and links, a path reported as inside is inside, a path to open contains no
//! link, and git's own files are protected.
#![no_main]

use std::{
    collections::BTreeMap,
    path::{Component, Path, PathBuf},
    sync::LazyLock,
};

use harn_fuzz::{
    disk::{Disk, End, Node},
    seeds::{self, PATHS},
};
use harn_policy::{LocatedPath, PathScope, SessionRoots, locate, locate_all};
use libfuzzer_sys::fuzz_target;
use serde::Deserialize;

/// The names of disks and paths; some are git's own, some differ in case only.
const NAMES: [&str; 8] = ["a", "b", "A", ".git", "w", "new", "..", "src"];

/// The first byte that selects the disk of the table.
const TABLE: u8 = b'W';

/// The folder for the disk of the table, which is a temporary one in the tests.
const BASE: &str = "/base";

#[derive(Deserialize)]
struct Plan {
    root: String,
    also: Vec<String>,
    protected: Vec<String>,
    dirs: Vec<String>,
    files: Vec<String>,
    texts: BTreeMap<String, String>,
    links: BTreeMap<String, String>,
}

static WORLD: LazyLock<(Disk, SessionRoots)> = LazyLock::new(|| {
    let plan = include_str!("../../fixtures/policy/paths-world.json");
    let plan: Plan = serde_json::from_str(plan).expect("the table's world");
    let at = |name: &String| Path::new(BASE).join(name);
    let mut disk = Disk::default();
    for name in &plan.dirs {
        disk.put(&at(name), Node::Dir);
    }
    for name in plan.files.iter().chain(plan.texts.keys()) {
        disk.put(&at(name), Node::File);
    }
    for (name, target) in &plan.links {
        let target = target.replace("{root}", BASE);
        disk.put(&at(name), Node::Link(target.into()));
    }
    let dirs = [&plan.root].into_iter().chain(&plan.also).map(at).collect();
    (
        disk,
        SessionRoots::new(dirs, plan.protected.iter().map(at).collect()),
    )
});

fuzz_target!(
    init: seeds::write(
        seeds::column(PATHS, "path")
            .map(|path| path.replace("{root}", BASE))
            .flat_map(|path| {
                let table = [&[TABLE], path.as_bytes()].concat();
                // A folder that contains a link to another one, and some names.
                let made = [&[0, 0, 3, 1, 0, 2, 2, 6, 0, 255], path.as_bytes()].concat();
                [table, made]
            })
    ),
    |data: &[u8]| match data {
        [TABLE, path @ ..] => check(&WORLD.0, &WORLD.1, path),
        _ => {
            let (disk, roots, path) = build_disk(data);
            check(&disk, &roots, path);
        }
    }
);

/// Builds a disk from the bytes up to a terminator. The rest is the path.
fn build_disk(mut data: &[u8]) -> (Disk, SessionRoots, &[u8]) {
    let mut next = || {
        let (first, rest) = data.split_first().unwrap_or((&255, &[]));
        data = rest;
        *first
    };
    let name = |byte: u8| NAMES[usize::from(byte) % NAMES.len()];
    let mut disk = Disk::default();
    disk.put(Path::new("/w/src"), Node::Dir);
    disk.put(Path::new("/more"), Node::Dir);
    let first_root = if next() % 4 == 3 { "/w/b" } else { "/w" };
    for _ in 0..24 {
        let kind = next();
        if kind == 255 {
            break;
        }
        let dirs = disk.dirs();
        let above = &dirs[usize::from(next()) % dirs.len()];
        let own = name(next());
        // A folder has no entry of this name.
        if own == ".." {
            continue;
        }
        let node = match kind % 4 {
            0 => Node::Dir,
            1 => Node::File,
            form => {
                let mut target = PathBuf::from(if form == 2 { "" } else { "/" });
                let length = next() % 5;
                target.extend((0..length).map(|_| name(next())));
                Node::Link(target)
            }
        };
        disk.put(&above.join(own), node);
    }
    let roots = SessionRoots::new(
        vec![first_root.into(), "/more".into()],
        vec!["/w/src/b".into()],
    );
    (disk, roots, data)
}

fn check(disk: &Disk, roots: &SessionRoots, path: &[u8]) {
    let Ok(path) = std::str::from_utf8(path) else {
        return;
    };
    let located = locate(roots, path, disk);
    assert_eq!(located, locate(roots, path, disk), "located twice");
    check_located(disk, roots, &located);
    let all = locate_all(roots, &[path, "src", path], disk);
    assert!(all.contains(&located), "{located:?} is not among {all:?}");
}

fn check_located(disk: &Disk, roots: &SessionRoots, located: &LocatedPath) {
    let (PathScope::Inside | PathScope::Outside, Some(place)) = (located.standing, &located.place)
    else {
        assert!(located.place.is_none(), "{located:?}");
        assert!(located.info.reason.is_some(), "{located:?}");
        return;
    };
    let inside = located.standing == PathScope::Inside;
    let plain = |name: Component<'_>| matches!(name, Component::Normal(_));
    assert!(place.inside.components().all(plain), "{located:?}");
    let root = match disk.resolve(&place.root) {
        End::There(root) | End::Free(root) => root,
        // The first directory need not exist; then nothing on the way is a link.
        End::Nowhere => place.root.clone(),
    };
    let mut real = root.clone();
    for name in &place.inside {
        real.push(name);
        assert!(
            !disk.is_link(&real),
            "{real:?} is a link: {located:?} {disk:?}"
        );
    }
    // Any of the directories, by their real paths.
    let is_in_one = roots.dirs().iter().any(|dir| match disk.resolve(dir) {
        End::There(dir) | End::Free(dir) => real.starts_with(dir),
        End::Nowhere => false,
    });
    assert_eq!(inside, is_in_one, "{real:?}: {located:?} {disk:?}");
    let below = if inside {
        place.inside.as_path()
    } else {
        real.as_path()
    };
    let git = below.iter().any(|name| name.eq_ignore_ascii_case(".git"));
    assert!(located.protected || !git, "{located:?}");
    check_against_system(disk, roots, located, &real);
}

/// A path without `..` has one meaning, so the system must resolve it equally.
fn check_against_system(disk: &Disk, roots: &SessionRoots, located: &LocatedPath, real: &Path) {
    let input = Path::new(&located.info.input);
    if input.components().any(|name| name == Component::ParentDir) {
        return;
    }
    match disk.resolve(&roots.dirs()[0].join(input)) {
        End::There(there) | End::Free(there) => assert_eq!(there, real, "{located:?} {disk:?}"),
        // Folders on the way are missing, or a file is where a folder should be.
        End::Nowhere => {}
    }
}
