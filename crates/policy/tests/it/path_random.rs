//! Random paths on a real disk: a path that is reported as inside is inside, and nothing panics.

use std::path::{Path, PathBuf};

use harn_policy::{LocatedPath, PathScope, locate, locate_all, path::is_protected_name};
use proptest::prelude::*;

use crate::path_tree::{StdProbe, World};

/// Returns the deepest existing folder or file of a path, as the system resolves it.
fn deepest_existing(path: &Path) -> PathBuf {
    path.ancestors()
        .find_map(|ancestor| ancestor.canonicalize().ok())
        .unwrap()
}

/// Checks a result against the system's own resolution.
fn check_located(world: &World, located: &LocatedPath) {
    let dirs = world.roots().dirs();
    match (located.standing, &located.place) {
        (PathScope::Inside, Some(place)) => {
            let there = deepest_existing(&place.absolute());
            assert!(dirs.contains(&place.root), "{located:?}");
            assert!(
                there.starts_with(&place.root),
                "{located:?} is at {there:?}"
            );
            // It contains no link, so that it can be opened without following any.
            assert!(place.absolute().starts_with(&there), "{located:?}");
            let git = there.iter().chain(&place.inside).any(|name| name == ".git");
            assert!(located.protected || !git, "{located:?}");
        }
        (PathScope::Outside, Some(place)) => {
            let there = deepest_existing(&place.absolute());
            assert!(place.absolute().starts_with(&there), "{located:?}");
            let inside = dirs.iter().any(|dir| place.absolute().starts_with(dir));
            assert!(!inside, "{located:?}");
            let git = place.inside.iter().any(is_protected_name);
            assert!(located.protected || !git, "{located:?}");
        }
        (PathScope::Dangling | PathScope::Invalid, None) => {
            assert!(located.info.reason.is_some(), "{located:?}");
        }
        (_, _) => panic!("a place where there is none, or none where there is one: {located:?}"),
    }
}

/// Generates paths of names of the tree, its links, dots and absolute beginnings.
fn paths(links: Vec<String>) -> impl Strategy<Value = String> {
    let link = proptest::sample::select(links);
    let name = prop_oneof![
        3 => Just("..".to_owned()),
        1 => Just(".".to_owned()),
        1 => Just(String::new()),
        2 => proptest::sample::select(vec![
            "src", "deep", "docs", "lib.rs", ".git", "hooks", "new", "app", "app2", "w", "lib",
            "secret", "back", "inner", "home", "elsewhere", "state", "SRC", ".GIT",
        ])
        .prop_map(str::to_owned),
        3 => link,
    ];
    let begin = proptest::sample::select(vec![
        "",
        "/",
        "{root}/",
        "{root}/w/app/",
        "{root}/w/link-to-app/",
    ]);
    (begin, proptest::collection::vec(name, 1..9))
        .prop_map(|(begin, names)| format!("{begin}{}", names.join("/")))
}

#[test]
fn path_reported_as_inside_is_inside() {
    let world = World::build();
    let base = world.base().to_str().unwrap();
    let config = ProptestConfig {
        cases: 4_000,
        ..ProptestConfig::default()
    };
    proptest!(config, |(path in paths(world.links().to_vec()))| {
        let path = path.replace("{root}", base);
        check_located(&world, &locate(world.roots(), &path, &StdProbe));
    });
}

#[test]
fn no_text_makes_locate_panic() {
    let world = World::build();
    proptest!(|(path in "\\PC{0,40}|[./~\\\\: a-z\u{0}\u{202e}]{0,40}")| {
        check_located(&world, &locate(world.roots(), &path, &StdProbe));
    });
}

#[test]
fn locate_all_agrees_with_locate() {
    let world = World::build();
    let some = proptest::collection::vec(paths(world.links().to_vec()), 0..10);
    let base = world.base().to_str().unwrap();
    proptest!(|(some in some)| {
        let some: Vec<_> = some.iter().map(|path| path.replace("{root}", base)).collect();
        let all = locate_all(world.roots(), &some, &StdProbe);
        for path in &some {
            let alone = locate(world.roots(), path, &StdProbe);
            prop_assert_eq!(all.iter().filter(|one| **one == alone).count(), 1);
        }
        prop_assert!(all.is_sorted_by(|a, b| a.info.display() <= b.info.display()));
        prop_assert!(all.iter().all(|one| some.contains(&one.info.input)));
    });
}
