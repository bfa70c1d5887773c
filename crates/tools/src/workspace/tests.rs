//! Tests of walks through small folders.

use std::{fs, os::unix::fs::symlink};

use super::*;

fn workspace(files: &[(&str, &[u8])]) -> (tempfile::TempDir, Workspace) {
    let dir = tempfile::tempdir().unwrap();
    for (path, bytes) in files {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    let workspace = Workspace::new(dir.path());
    (dir, workspace)
}

fn visit_all(workspace: &Workspace) -> (Vec<String>, WalkSummary) {
    let mut paths = Vec::new();
    let walked = workspace.walk(&CancellationToken::new(), |path, _| {
        paths.push(path.to_owned());
        true
    });
    (paths, walked)
}

#[test]
fn a_walk_visits_only_text_files_in_order() {
    let (dir, workspace) = workspace(&[
        ("b.rs", b"b"),
        ("a/z.rs", b"z"),
        ("a/b.rs", b"b"),
        (".hidden", b"h"),
        (".git/config", b"g"),
        (".gitignore", b"target\n*.log\n"),
        ("target/out.rs", b"o"),
        ("x.log", b"l"),
        ("binary", b"a\0b"),
        ("latin", b"gr\xf6\xdfe"),
    ]);
    fs::write(dir.path().join("large"), vec![b'x'; 1024 * 1024 + 1]).unwrap();
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret"), "s").unwrap();
    symlink(outside.path(), dir.path().join("out")).unwrap();
    symlink(outside.path().join("secret"), dir.path().join("leak")).unwrap();
    symlink("b.rs", dir.path().join("same")).unwrap();

    let (paths, walked) = visit_all(&workspace);
    assert_eq!(paths, ["a/b.rs", "a/z.rs", "b.rs", "latin"]);
    assert_eq!(walked.files, 4);
    assert_eq!(walked.note, None);
}

#[test]
fn every_file_belongs_to_the_innermost_directory() {
    let (dir, workspace) = workspace(&[
        ("top/a", b"a"),
        ("top/work/b", b"b"),
        ("top/work/.inner/c", b"c"),
        ("top/work/.inner/deep/d", b"d"),
    ]);
    let top = dir.path().canonicalize().unwrap().join("top");
    symlink(top.join("work"), dir.path().join("same")).unwrap();
    let directories = vec![
        top.join("work/.inner"),
        top.clone(),
        dir.path().join("same"),
        top.join("work/.inner/"),
        top.join("gone"),
    ];
    let work = Workspace {
        root: top.join("work").into(),
        ..workspace
    };
    let work = work.with_directories(directories);
    let (paths, walked) = visit_all(&work);
    let outside = top.join("a").display().to_string();
    assert_eq!(paths, ["b", ".inner/c", ".inner/deep/d", &outside]);
    assert_eq!(walked.files, 4);
    let note = walked.note.unwrap();
    assert!(note.contains("gone was not searched"), "{note}");

    let (paths, _) = visit_all(&work.clone().folder(&top));
    assert_eq!(paths, [outside]);
}

#[test]
fn a_reached_limit_is_noted() {
    let (_dir, workspace) = workspace(&[("a", b"1234"), ("b", b"1234"), ("c", b"1234")]);
    for limits in [
        WalkLimits {
            files: 2,
            ..WalkLimits::default()
        },
        WalkLimits {
            bytes: 9,
            ..WalkLimits::default()
        },
    ] {
        let (paths, walked) = visit_all(&Workspace {
            limits,
            ..workspace.clone()
        });
        assert_eq!(paths, ["a", "b"]);
        assert!(walked.note.unwrap().contains("first 2 files"));
    }
    let exactly = Workspace {
        limits: WalkLimits {
            files: 3,
            bytes: 12,
            ..WalkLimits::default()
        },
        ..workspace
    };
    assert_eq!(visit_all(&exactly).1.note, None);
}

#[test]
fn a_walk_stops_when_cancelled() {
    let (_dir, workspace) = workspace(&[("a", b"1"), ("b", b"2"), ("c", b"3")]);
    let stop = CancellationToken::new();
    let mut seen = 0;
    workspace.walk(&stop, |_, _| {
        seen += 1;
        stop.cancel();
        true
    });
    assert_eq!(seen, 1);
}

#[tokio::test]
async fn a_search_shows_the_best_line() {
    let (_dir, workspace) = workspace(&[
        (
            "src/store.rs",
            b"use x;\n\n  /// Keeps apples.\nstruct Store;\n",
        ),
        ("src/other.rs", b"struct Other;\n"),
    ]);
    let found = workspace
        .survey(SearchQuery::question("where are apples kept?"), 5)
        .await;
    let (found, _) = found.unwrap();
    assert_eq!(found.walked.files, 2);
    let hit = &found.hits[0];
    assert_eq!((hit.path.as_str(), hit.line), ("src/store.rs", 3));
    assert_eq!(hit.text, "/// Keeps apples.");
    assert_eq!((hit.first, hit.last), (1, 4));
    assert_eq!(found.hits.len(), 1);
}

#[tokio::test]
async fn grep_finds_lines_and_top_lists_names() {
    let (_dir, workspace) =
        workspace(&[("src/a.rs", b"fn one() {}\n"), ("README.md", b"fn two\n")]);
    let found = workspace.grep("^fn").await.unwrap();
    let got: Vec<_> = found
        .lines
        .iter()
        .map(|l| (l.path.as_str(), l.line))
        .collect();
    assert_eq!(got, [("README.md", 1), ("src/a.rs", 1)]);
    assert!(matches!(
        workspace.grep("(").await,
        Err(SearchError::Pattern(_))
    ));
    assert_eq!(workspace.list_top().await.unwrap(), ["README.md", "src/"]);
}

/// A search folder by folder with one ranking returns the same hits in the same order as one search.
#[tokio::test]
async fn parts_rank_like_the_whole() {
    let (dir, workspace) = workspace(&[
        ("README.md", b"An apple a day."),
        (".gitignore", b"/apple/skip.rs\n"),
        ("apple/skip.rs", b"apple apple"),
        ("apple/core.rs", b"fn apple() {}\n// apple, apple pie"),
        ("apple/deep/pie.rs", b"let pie = apple;"),
        ("pear/a.rs", b"pear"),
        ("pear/tests/b.rs", b"pear and apple pie"),
    ]);
    let query = SearchQuery::from_text("apple pie");
    let (whole, _) = workspace.survey(query.clone(), 10).await.unwrap();
    let mut parts = Vec::new();
    for part in [
        workspace.clone().top_files(),
        workspace.clone().folder("apple"),
        workspace.clone().folder("pear"),
    ] {
        let (found, survey) = part.survey(query.clone(), 10).await.unwrap();
        assert!(!found.hits.is_empty());
        parts.push(survey);
    }
    let joined = workspace.rank(parts, 10).await.unwrap();
    assert_eq!(joined, whole);
    assert_eq!(joined.hits.len(), 4);
    assert_eq!(joined.walked.files, 5);
    let none = workspace.rank(Vec::new(), 10).await.unwrap();
    assert_eq!(none, SearchResults::default());

    let gone = Workspace::new(dir.path()).folder("plum");
    let refused = gone.survey(query, 10).await;
    assert!(matches!(refused, Err(SearchError::Unreadable(_))));
}
