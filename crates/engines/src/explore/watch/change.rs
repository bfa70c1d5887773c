//! Filters changes of files by permission and describes them in words. Pure.

use std::path::Path;

use harn_model::FsWatchEvent;

use super::super::markdown::{code, join_with_and};

/// The maximum number of files that a line names.
const NAMED: usize = 8;

/// Keeps the changes whose paths are allowed. A rename with one allowed path becomes a `create` or a `remove`.
pub(super) fn retain_readable(
    events: Vec<FsWatchEvent>,
    allowed: impl Fn(&Path) -> bool,
) -> Vec<FsWatchEvent> {
    let left = |mut event: FsWatchEvent| {
        let fits: Vec<bool> = event.paths.iter().map(|p| allowed(Path::new(p))).collect();
        if let [from, to] = fits[..]
            && from != to
        {
            let kind = if to { "create" } else { "remove" };
            kind.clone_into(&mut event.kind);
        } else if fits.contains(&false) {
            return None;
        }
        let keep = |paths: Vec<String>| {
            let kept = paths.into_iter().zip(&fits);
            kept.filter(|(_, fits)| **fits).map(|(path, _)| path)
        };
        event.paths = keep(event.paths).collect();
        event.relative_paths = keep(event.relative_paths).collect();
        Some(event)
    };
    events.into_iter().filter_map(left).collect()
}

/// Describes the changes in one line.
pub(super) fn describe_changes(events: &[FsWatchEvent]) -> String {
    let mut parts = Vec::new();
    for (kind, done) in [
        ("modify", "changed"),
        ("create", "created"),
        ("remove", "removed"),
        ("rename", "renamed"),
    ] {
        let files = events.iter().filter(|event| event.kind == kind);
        let files: Vec<_> = files.filter_map(name).collect();
        if !files.is_empty() {
            parts.push(format!("{done} {}", list_some(&files)));
        }
    }
    let errors = events.iter().filter_map(|event| event.error.as_deref());
    parts.extend(errors.map(|error| format!("note: {error}")));
    let line = parts.join("; ");
    let mut letters = line.chars();
    match letters.next() {
        Some(first) => format!("{}{}.", first.to_uppercase(), letters.as_str()),
        None => "Something changed.".to_owned(),
    }
}

/// Returns the text of a reminder about the changes, or `None` if they name no files.
pub(super) fn reminder(events: &[FsWatchEvent]) -> Option<String> {
    let there = events.iter().filter_map(|event| match event.kind.as_str() {
        "create" | "modify" | "rename" => event.relative_paths.last(),
        _ => None,
    });
    let gone = events.iter().filter_map(|event| match event.kind.as_str() {
        "remove" | "rename" => event.relative_paths.first(),
        _ => None,
    });
    let (there, gone): (Vec<_>, Vec<_>) = (there.collect(), gone.collect());
    let mut said = Vec::new();
    if !there.is_empty() {
        let files = list_some(&there);
        said.push(format!(
            "Changed on disk: {files}. Read again the files that you rely on."
        ));
    }
    if !gone.is_empty() {
        said.push(format!("Removed from disk: {}.", list_some(&gone)));
    }
    (!said.is_empty()).then(|| said.join(" "))
}

/// Formats a changed file, with both names of a renamed one.
fn name(event: &FsWatchEvent) -> Option<String> {
    match event.relative_paths.as_slice() {
        [] => None,
        [from, to] => Some(format!("{} to {}", code(from), code(to))),
        [path, ..] => Some(code(path)),
    }
}

fn list_some<T: AsRef<str>>(files: &[T]) -> String {
    let mut named: Vec<_> = files
        .iter()
        .take(NAMED)
        .map(|f| f.as_ref().to_owned())
        .collect();
    match files.len().saturating_sub(NAMED) {
        0 => {}
        1 => named.push("1 more file".to_owned()),
        more => named.push(format!("{more} more files")),
    }
    join_with_and(&named)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(kind: &str, paths: &[&str]) -> FsWatchEvent {
        FsWatchEvent {
            kind: kind.to_owned(),
            paths: paths.iter().map(|path| format!("/w/{path}")).collect(),
            relative_paths: paths.iter().map(|path| (*path).to_owned()).collect(),
            raw_kind: String::new(),
            error: None,
        }
    }

    #[test]
    fn line_and_reminder_describe_the_changes() {
        let events = [
            event("create", &["new.rs"]),
            event("modify", &["a.rs"]),
            event("rename", &["old.rs", "b`.rs"]),
            event("modify", &["c.rs"]),
            event("remove", &["d.rs"]),
        ];
        assert_eq!(
            describe_changes(&events),
            "Changed `a.rs` and `c.rs`; created `new.rs`; removed `d.rs`; renamed `old.rs` to ``b`.rs``."
        );
        assert_eq!(
            reminder(&events).as_deref(),
            Some(
                "Changed on disk: new.rs, a.rs, b`.rs and c.rs. Read again the files that you rely on. \
                 Removed from disk: old.rs and d.rs."
            )
        );
        let many: Vec<_> = (0..10)
            .map(|n| event("modify", &[&n.to_string()]))
            .collect();
        let named = "`0`, `1`, `2`, `3`, `4`, `5`, `6`, `7`";
        assert_eq!(
            describe_changes(&many),
            format!("Changed {named} and 2 more files.")
        );
        assert_eq!(
            describe_changes(&many[..9]),
            format!("Changed {named} and 1 more file.")
        );
    }

    #[test]
    fn error_is_reported_without_a_reminder() {
        let trouble = FsWatchEvent {
            error: Some("the folder is gone".to_owned()),
            ..event("other", &["src"])
        };
        assert_eq!(
            describe_changes(std::slice::from_ref(&trouble)),
            "Note: the folder is gone."
        );
        assert_eq!(reminder(&[trouble]), None);
    }

    #[test]
    fn readable_drops_changes_of_denied_paths() {
        let allowed = |path: &Path| !path.starts_with("/w/secret");
        let events = vec![
            event("modify", &["a"]),
            event("modify", &["secret/a"]),
            event("rename", &["b", "c"]),
            event("rename", &["d", "secret/d"]),
            event("rename", &["secret/e", "e"]),
            event("rename", &["secret/f", "secret/g"]),
            event("other", &[]),
        ];
        let expected = [
            event("modify", &["a"]),
            event("rename", &["b", "c"]),
            event("remove", &["d"]),
            event("create", &["e"]),
            event("other", &[]),
        ];
        assert_eq!(retain_readable(events, allowed), expected);
    }
}
