//! The files that a word of a command may name, judged by its text. Only the program knows which of its words
//! are paths, so each counts as one. Never reads the disk.

use std::{borrow::Cow, ffi::OsStr};

use crate::path::{
    is_configuration_name, is_protected_name, may_match_configuration, normalise_text,
};

/// Returns a word and the parts of it that may be paths: the value of a flag (`--file=x`, `-fx`), a file in
/// a revision or on a host (`HEAD:x`), a file whose contents are the argument (`@x`).
pub(crate) fn path_candidates(word: &str) -> impl Iterator<Item = &str> {
    const SEPARATES: [char; 3] = ['=', ':', '@'];
    let value = word.split_once('=').map(|(_, value)| value);
    let pieces = word
        .contains(SEPARATES)
        .then(|| word.split(SEPARATES))
        .into_iter()
        .flatten();
    let parts = [Some(word), value, attached_value(word)]
        .into_iter()
        .flatten();
    parts.chain(pieces).filter(|part| !part.is_empty())
}

/// Returns the text after a short flag in the same word.
fn attached_value(word: &str) -> Option<&str> {
    let letters = word.strip_prefix('-')?;
    let mut chars = letters.chars();
    let flag = chars.next().filter(|flag| *flag != '-');
    flag.map(|_| chars.as_str())
}

/// Returns the part of a word with a protected name in it. Names above `workspace` do not count.
pub(crate) fn find_protected<'a>(word: &'a str, workspace: &str) -> Option<&'a str> {
    // Most words contain no character of such a name.
    let telling = |byte: u8| matches!(byte, b'.' | b'~' | b'\\') || !byte.is_ascii();
    if !word.bytes().any(telling) {
        return None;
    }
    path_candidates(word).find(|part| {
        let judged = strip_workspace(part, workspace).unwrap_or(part);
        let mut names = judged.split('/');
        names.any(|name| is_protected_name(OsStr::new(name)))
    })
}

/// Returns the part of a word that names a file whose content decides what the server runs, also by a pattern: some
/// programs expand it themselves.
pub(crate) fn find_configuration(word: &str) -> Option<&str> {
    path_candidates(word).find(|part| {
        let mut names = part.split('/');
        let last = part.trim_end_matches('/').rsplit('/').next();
        names.any(|name| is_configuration_name(OsStr::new(name)))
            || last.is_some_and(may_match_configuration)
    })
}

/// Whether a word, or the value of a flag in it, leads out of the directory in which a command runs.
pub(crate) fn leads_out(word: &str) -> bool {
    let out = |path: &str| path.starts_with(['/', '~']) || path.split('/').any(|name| name == "..");
    // Several short flags may precede a value, and the letters do not show where it begins.
    let glued = || {
        attached_value(word).is_some_and(|value| {
            value.contains(['/', '~']) || value.split('/').any(|name| name.ends_with(".."))
        })
    };
    let scheme = || {
        word.get(..5)
            .is_some_and(|it| it.eq_ignore_ascii_case("file:"))
    };
    out(word) || word.split('=').skip(1).any(out) || glued() || scheme()
}

/// Returns a path as absolute from `base`, without `.` and `..`. `base` must have neither.
pub(crate) fn make_absolute<'a>(path: &'a str, base: &str) -> Cow<'a, str> {
    let base = base.trim_end_matches('/');
    match path.strip_prefix('/') {
        Some(rest) if is_normalised(rest) => Cow::Borrowed(path),
        Some(_) => Cow::Owned(normalise_text(path)),
        None => {
            let rest = path.strip_prefix("./").unwrap_or(path);
            let whole = [base, "/", rest].concat();
            Cow::Owned(match is_normalised(rest) {
                true => whole,
                false => normalise_text(&whole),
            })
        }
    }
}

/// Returns a path as relative to `workspace`, from where it is named, without `.` and `..`; a path
/// elsewhere becomes absolute.
pub(crate) fn make_relative<'a>(path: &'a str, workspace: &str) -> Cow<'a, str> {
    let rest = path.strip_prefix("./").unwrap_or(path);
    if is_normalised(rest) {
        return Cow::Borrowed(rest);
    }
    let absolute = make_absolute(path, workspace);
    match strip_workspace(&absolute, workspace).map(str::to_owned) {
        Some(inside) => Cow::Owned(inside),
        None => absolute,
    }
}

/// Whether a relative path is already normalised: most words are, and normalising is slow.
fn is_normalised(path: &str) -> bool {
    !path.split('/').any(|name| matches!(name, "" | "." | ".."))
}

/// Returns the part of an absolute path below a directory.
pub(crate) fn strip_workspace<'a>(path: &'a str, workspace: &str) -> Option<&'a str> {
    let rest = path.strip_prefix(workspace.trim_end_matches('/'))?;
    rest.strip_prefix('/').filter(|_| path.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_a_word_may_be_a_path() {
        for (word, part) in [
            (".env", ".env"),
            ("--file=a=b.pem", "a=b.pem"),
            ("--file=a=b.pem", "b.pem"),
            ("-f.env", ".env"),
            ("HEAD:.env", ".env"),
            ("@.env", ".env"),
            ("if=.env", ".env"),
        ] {
            assert!(path_candidates(word).any(|it| it == part), "{word}");
        }
        assert_eq!(path_candidates("").count(), 0);
        assert_eq!(path_candidates("-ö").collect::<Vec<_>>(), ["-ö"]);
    }

    #[test]
    fn paths_are_normalised_by_their_words() {
        for (path, relative_to) in [
            ("a/b", "a/b"),
            ("./a//b/", "a/b"),
            ("a/../.env", ".env"),
            ("/w/a", "a"),
            ("../w/a", "a"),
            ("../x", "/x"),
            ("/wide", "/wide"),
            ("/etc/./x", "/etc/x"),
            (".env", ".env"),
        ] {
            assert_eq!(make_relative(path, "/w"), relative_to, "{path}");
        }
        assert_eq!(make_relative("/a", "/"), "a");
        for (path, whole) in [
            ("../x", "/w/x"),
            ("./x", "/w/src/x"),
            (".//etc", "/w/src/etc"),
            ("x/", "/w/src/x"),
            ("/a/../b", "/b"),
            ("//a", "/a"),
            ("/a", "/a"),
        ] {
            assert_eq!(make_absolute(path, "/w/src"), whole, "{path}");
        }
        assert_eq!(make_absolute("x", "/"), "/x");
    }

    #[test]
    fn leads_out_judges_a_path_by_its_words() {
        for word in [
            "/etc",
            "~",
            "~/x",
            "a/../../b",
            "..",
            "--f=/x",
            "--f=../x",
            "a=b=~",
            "-f/etc/x",
            "-rf/etc/x",
            "-C..",
            "file:///etc/x",
            "FILE:/x",
        ] {
            assert!(leads_out(word), "{word}");
        }
        for word in [
            "a",
            "a/b",
            "./a",
            "-n",
            "--x",
            "a..b",
            "...",
            "--f=a/b",
            "https://a/b",
            "a~",
            "HEAD~1",
        ] {
            assert!(!leads_out(word), "{word}");
        }
    }

    #[test]
    fn protected_names_are_found_in_words() {
        for word in [
            ".git",
            "a/.git/x",
            "--f=.git/x",
            "-C.git",
            "/w/.GIT",
            "x:.git/y",
            "./.harn/x",
        ] {
            assert!(find_protected(word, "/w").is_some(), "{word}");
        }
        for word in [".gitignore", "x.git", "git", "/w/.harn/w/a", "a .git b"] {
            assert!(find_protected(word, "/w/.harn/w").is_none(), "{word}");
        }
    }
}
