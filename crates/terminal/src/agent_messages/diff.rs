//! A change to a file as a unified diff.

use std::{path::Path, time::Duration};

use agent_client_protocol::v1::schema::Diff;
use similar::TextDiff;

use crate::paint::PaintStyle;

/// After this time the rest of a diff is approximate: a file of 20,000 rewritten lines would take two seconds.
const EXACT_FOR: Duration = Duration::from_millis(100);

/// Returns the lines of a diff, each with its style. A path inside the working directory is relative to it.
pub(crate) fn unified_diff(diff: &Diff, cwd: &Path) -> Vec<(PaintStyle, String)> {
    let path = match diff.path.strip_prefix(cwd) {
        Ok(inside) if inside != Path::new("") => inside,
        _ => &diff.path,
    };
    let path = path.display().to_string();
    let old = diff.old_text.as_deref();
    let from = if old.is_some() { &path } else { "/dev/null" };
    let text = TextDiff::configure()
        .timeout(EXACT_FOR)
        .diff_lines(old.unwrap_or_default(), &diff.new_text)
        .unified_diff()
        .header(from, &path)
        .to_string();
    let mut lines: Vec<_> = text
        .lines()
        .map(|line| (style(line), line.to_owned()))
        .collect();
    if lines.is_empty() {
        lines.push((PaintStyle::Dim, format!("{path}: no change")));
    }
    lines
}

fn style(line: &str) -> PaintStyle {
    match line.as_bytes().first() {
        Some(b'+') if line.starts_with("+++ ") => PaintStyle::Bold,
        Some(b'-') if line.starts_with("--- ") => PaintStyle::Bold,
        Some(b'+') => PaintStyle::Green,
        Some(b'-') => PaintStyle::Red,
        Some(b'@') => PaintStyle::Cyan,
        _ => PaintStyle::Plain,
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(old: Option<&str>, new: &str, expected: Expect) {
        let diff = Diff::new("/w/a.txt", new).old_text(old.map(str::to_owned));
        let lines = unified_diff(&diff, Path::new("/w"));
        let text: String = lines.iter().map(|(s, l)| format!("{s:?} {l}\n")).collect();
        expected.assert_eq(&text);
    }

    #[test]
    fn a_diff_shows_context_lines() {
        check(
            Some("one\ntwo\nthree\n"),
            "one\n2\nthree\n",
            expect![[r"
                Bold --- a.txt
                Bold +++ a.txt
                Cyan @@ -1,3 +1,3 @@
                Plain  one
                Red -two
                Green +2
                Plain  three
            "]],
        );
    }

    #[test]
    fn a_new_file_is_diffed_with_dev_null() {
        check(
            None,
            "hello",
            expect![[r"
                Bold --- /dev/null
                Bold +++ a.txt
                Cyan @@ -0,0 +1 @@
                Green +hello
                Plain \ No newline at end of file
            "]],
        );
    }

    #[test]
    fn an_empty_diff_states_that_nothing_changed() {
        check(
            Some("same\n"),
            "same\n",
            expect![[r"
            Dim a.txt: no change
        "]],
        );
    }
}
