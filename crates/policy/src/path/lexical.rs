//! Checks and normalises a path as text, before the disk is read.

use std::path::{Component, Path, PathBuf};

use crate::invisible_chars::is_unseen;

/// The longest path for system calls, without the byte that ends it.
const MAX_BYTES: usize = 4095;
/// The longest name on common disks.
const MAX_NAME: usize = 255;

/// Returns the reason why `input` is no usable path; `None` when it is one.
pub(super) fn unusable_reason(input: &str) -> Option<&'static str> {
    let wrong = [
        (input.trim().is_empty(), "is empty; name a path"),
        (input.contains('\0'), "contains a NUL character"),
        (input.contains(is_unseen), "contains an invisible character"),
        (
            input.len() > MAX_BYTES,
            "is longer than the maximum of 4095 bytes",
        ),
        (
            names(input).any(|name| name.len() > MAX_NAME),
            "has a name longer than the maximum of 255 bytes",
        ),
        (is_url(input), "is a URL; name the path itself"),
        (
            input.starts_with('~'),
            "begins with ~, which a shell would expand; name the path itself",
        ),
        (
            is_windows_path(input),
            "is a Windows path; use / between names",
        ),
        (
            names(input).any(|name| has_only_dots_and_spaces(name) && name != "." && name != ".."),
            "has a name that consists of dots and spaces",
        ),
    ];
    wrong.iter().find(|(is, _)| *is).map(|(_, reason)| *reason)
}

/// Whether no file can have this path, because it or a name in it is too long.
pub(super) fn is_too_long(input: &str) -> bool {
    input.len() > MAX_BYTES || names(input).any(|name| name.len() > MAX_NAME)
}

/// Returns what is odd about a usable path, for the person who decides.
pub(super) fn odd_reason(input: &str) -> Option<&'static str> {
    let plain = || names(input).filter(|name| !has_only_dots_and_spaces(name));
    if plain().any(|name| name.ends_with([' ', '.'])) {
        return Some("has a name that ends in a space or a dot");
    }
    if plain().any(|name| name.starts_with(' ')) {
        return Some("has a name that begins with a space");
    }
    // Here it is a character like others.
    input
        .contains('\\')
        .then_some("has a name with \\ in it, which is not a separator here")
}

/// Removes `.` and `..` as text. A `..` after a link thus means the folder that contains the link, as a
/// person reads it; this is safe because the result is the path that is opened.
pub(super) fn normalise(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                // A relative path keeps those that lead above its beginning.
                match out.components().next_back() {
                    Some(Component::Normal(_)) => {
                        out.pop();
                    }
                    Some(Component::RootDir | Component::Prefix(_)) => {}
                    Some(Component::ParentDir | Component::CurDir) | None => out.push(".."),
                }
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => out.push(component),
        }
    }
    out
}

fn names(input: &str) -> impl Iterator<Item = &str> {
    input.split('/').filter(|name| !name.is_empty())
}

fn has_only_dots_and_spaces(name: &str) -> bool {
    name.chars().all(|c| c == '.' || c.is_whitespace())
}

/// Matches `file:/…`, and anything with a scheme before `://`.
fn is_url(input: &str) -> bool {
    let Some((scheme, rest)) = input.split_once(':') else {
        return false;
    };
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
    let is_file = scheme.eq_ignore_ascii_case("file") && rest.starts_with('/');
    is_file || is_scheme && rest.starts_with("//")
}

/// Matches `C:\x`, `C:x`, `\x`, `\\server\share`, `\\?\C:\x`, and a `..` next to a backslash.
fn is_windows_path(input: &str) -> bool {
    let mut chars = input.chars();
    let first = chars.next();
    let drive = first.is_some_and(|c| c.is_ascii_alphabetic()) && chars.next() == Some(':');
    let climbs = || {
        names(input)
            .filter(|name| name.contains('\\'))
            .any(|name| name.split('\\').any(|part| part.trim_end() == ".."))
    };
    drive || first == Some('\\') || climbs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_are_removed_by_words() {
        for (given, expected) in [
            ("/w/./a//b/", "/w/a/b"),
            ("/w/a/../b", "/w/b"),
            ("/w/../../..", "/"),
            ("a/../../b", "../b"),
            ("../../b", "../../b"),
            ("./a", "a"),
            ("a/..", ""),
        ] {
            let got = normalise(Path::new(given));
            assert_eq!(got.to_str(), Some(expected), "{given}");
        }
    }

    #[test]
    fn unusable_path_has_a_reason_and_a_usable_one_has_none() {
        for (given, part) in [
            ("", "empty"),
            (" \t", "empty"),
            ("a\0b", "NUL"),
            ("a\nb", "invisible character"),
            ("a\u{202e}txt.exe", "invisible character"),
            ("a\u{fe0f}.md", "invisible character"),
            ("a\u{2800}", "invisible character"),
            ("file:///etc/passwd", "URL"),
            ("FILE:/etc/passwd", "URL"),
            ("https://x/y", "URL"),
            ("~", "~"),
            ("~root/.ssh", "~"),
            ("C:\\x", "Windows path"),
            ("c:x", "Windows path"),
            ("\\\\server\\share", "Windows path"),
            ("src\\..\\..\\x", "Windows path"),
            ("..\\x", "Windows path"),
            ("a/... /b", "dots and spaces"),
            ("a/.. /b", "dots and spaces"),
        ] {
            let got = unusable_reason(given).unwrap_or_default();
            assert!(got.contains(part), "{given:?}: {got}");
        }
        assert!(unusable_reason(&"a/".repeat(2048)).is_some());
        assert!(unusable_reason(&"a/".repeat(2047)).is_none());
        assert!(unusable_reason(&"a".repeat(256)).is_some());
        assert!(unusable_reason(&"a".repeat(255)).is_none());
        for given in [
            ".",
            "..",
            "/",
            "a b",
            "größe",
            "./~",
            "a~",
            "./a:b",
            "ab:c",
            "CON",
            "src\\lib.rs",
            "…",
            "❤.md",
            "notes..md",
        ] {
            assert_eq!(unusable_reason(given), None, "{given}");
        }
    }

    #[test]
    fn odd_path_has_a_reason() {
        for given in ["a ", "a.", " a", "a\\b"] {
            assert!(odd_reason(given).is_some(), "{given:?}");
        }
        for given in ["a", "../a", "./a b", "/"] {
            assert_eq!(odd_reason(given), None, "{given:?}");
        }
    }
}
