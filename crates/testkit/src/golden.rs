//! Files with the exact output that the code must produce; a test run can rewrite them.

use std::{fs, path::Path};

use similar::TextDiff;

use crate::must;

/// Compares `actual` with the file at `path`. If they differ, shows the difference and how to accept it. With
/// `UPDATE_EXPECT=1` in the environment it writes the file instead.
///
/// # Panics
///
/// If they differ.
#[track_caller]
pub fn check(path: &Path, actual: &str, repair: &str) {
    if is_updating() {
        return must(fs::write(path, actual), path.display());
    }
    let expected = match fs::read_to_string(path) {
        Ok(expected) => expected,
        Err(error) => panic!("{}: {error}; to write it: {repair}", path.display()),
    };
    if expected != actual {
        let name = path.display().to_string();
        let diff = TextDiff::from_lines(expected.as_str(), actual);
        let diff = diff.unified_diff().header(&name, "this run").to_string();
        panic!(
            "{name} differs from the output of the code:\n\n{diff}\nIf the new output is right: {repair}"
        );
    }
}

/// Returns whether this run rewrites the files.
#[allow(
    clippy::disallowed_methods,
    reason = "the switch every snapshot test of the project knows"
)]
pub fn is_updating() -> bool {
    std::env::var_os("UPDATE_EXPECT").is_some_and(|value| value == "1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn difference_is_shown_with_its_repair() {
        if is_updating() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        let complaint = |actual: &'static str| {
            let path = path.clone();
            let failed = std::panic::catch_unwind(move || check(&path, actual, "run this"));
            *failed.unwrap_err().downcast::<String>().unwrap()
        };
        assert!(complaint("one\n").contains("to write it: run this"));
        fs::write(&path, "one\ntwo\n").unwrap();
        check(&path, "one\ntwo\n", "");
        let shown = complaint("one\nthree\n");
        assert!(shown.contains("-two\n+three\n"), "{shown}");
        assert!(shown.ends_with("If the new output is right: run this"));
    }
}
