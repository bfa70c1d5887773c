//! Checks that every decision record states whether it is still valid.

use crate::repo::File;

const FOLDER: &str = "docs/adr/";

/// Returns the records whose third line is no status, or whose successor does not exist.
pub(super) fn statuses(files: &[File]) -> Vec<String> {
    let records = || files.iter().filter(|file| file.path.starts_with(FOLDER));
    let exists = |name: &str| records().any(|file| file.path.strip_prefix(FOLDER) == Some(name));
    let mut problems = Vec::new();
    for file in records() {
        let status = file.text.lines().nth(2).unwrap_or_default();
        let status = status.strip_prefix("Status: ").unwrap_or_default();
        let successor = status.strip_prefix("superseded by [").and_then(|rest| {
            let (_, link) = rest.split_once("](")?;
            link.strip_suffix(')')
        });
        let is_accepted = status == "accepted" || status.starts_with("accepted; ");
        if !is_accepted && !successor.is_some_and(exists) {
            problems.push(format!(
                "{}: the third line is not `Status: accepted` or `Status: superseded by [N](file)` with a record \
                 that exists",
                file.path
            ));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::file;

    #[test]
    fn record_without_a_valid_status_is_found() {
        let record = |status: &str| format!("# 1. Title\n\n{status}\n\n## Context\n");
        let files = [
            file(
                "docs/adr/0001-a.md",
                &record("Status: accepted; supersedes 9"),
            ),
            file(
                "docs/adr/0002-b.md",
                &record("Status: superseded by [1](0001-a.md)"),
            ),
            file(
                "docs/adr/0003-c.md",
                &record("Status: superseded by [9](0009-z.md)"),
            ),
            file("docs/adr/0004-d.md", &record("Status: superseded")),
            file("docs/adr/0005-e.md", "# 5. Title\n\n## Context\n"),
            file("docs/other.md", "# Title\n"),
        ];
        let problems = statuses(&files);
        let found: Vec<_> = problems.iter().map(|it| &it[9..13]).collect();
        assert_eq!(found, ["0003", "0004", "0005"], "{problems:?}");
    }
}
