//! Applies a unified diff of one file exactly: if a line of the diff is not at its stated position, nothing
//! changes. Pure. `diffy` parses the hunks; its `apply` is not used, because it searches for a hunk at other
//! positions.

use diffy::{Hunk, Line, Patch};

/// Returns the text of the file `path` after a patch.
pub(super) fn apply(path: &str, text: &str, patch: &str) -> Result<String, String> {
    let parts = split_hunks(path, &patch.replace("\r\n", "\n"))?;
    let file: Vec<&str> = text.split_inclusive('\n').collect();
    // New lines get the line ending of the file.
    let end = match file.first() {
        Some(first) if first.ends_with("\r\n") => "\r\n",
        _ => "\n",
    };
    let mut new: Vec<String> = Vec::new();
    let mut at = 0;
    for (part, number) in parts.iter().zip(1..) {
        let patch = Patch::from_str(part).map_err(|error| format!("hunk {number}: {error}"))?;
        for hunk in patch.hunks() {
            let start = first_line(hunk);
            if start < at {
                return Err(format!("hunk {number} overlaps the previous hunk"));
            }
            if start > file.len() {
                return Err(format!(
                    "hunk {number} begins at line {}, but the file has {} lines",
                    start + 1,
                    file.len()
                ));
            }
            if let Some(problem) = find_mismatch(hunk, &file) {
                return Err(format!("hunk {number} does not apply: {problem}"));
            }
            new.extend(file[at..start].iter().map(|&line| line.to_owned()));
            at = start;
            for line in hunk.lines() {
                match line {
                    Line::Context(_) => new.push(file[at].to_owned()),
                    Line::Delete(_) => {}
                    Line::Insert(line) => match line.strip_suffix('\n') {
                        Some(line) => new.push(format!("{line}{end}")),
                        None => new.push((*line).to_owned()),
                    },
                }
                at += usize::from(!matches!(line, Line::Insert(_)));
            }
        }
    }
    new.extend(file[at..].iter().map(|&line| line.to_owned()));
    // A last line without a line ending gets one if it is no longer the last.
    let last = new.len().saturating_sub(1);
    for line in &mut new[..last] {
        if !line.ends_with('\n') {
            line.push_str(end);
        }
    }
    Ok(new.concat())
}

/// Splits a patch for this file into one patch per hunk: the new position in a hunk's header is ignored.
fn split_hunks(path: &str, patch: &str) -> Result<Vec<String>, String> {
    let mut parts: Vec<String> = Vec::new();
    for (line, number) in patch.lines().zip(1..) {
        if line.starts_with("@@") {
            parts.push(format!("{line}\n"));
        } else if let Some(part) = parts.last_mut() {
            part.push_str(line);
            part.push('\n');
        } else if let Some(name) = line.strip_prefix("--- ").or(line.strip_prefix("+++ "))
            && !is_about(name, path)
        {
            return Err(format!(
                "line {number} of the patch names another file; one file is edited at a time"
            ));
        }
    }
    // An empty line after a hunk is not part of it.
    for part in parts.iter_mut().filter(|it| Patch::from_str(it).is_err()) {
        part.truncate(part.trim_end_matches('\n').len());
        part.push('\n');
    }
    match parts.is_empty() {
        true => Err("the patch has no `@@` line, so it changes nothing".to_owned()),
        false => Ok(parts),
    }
}

/// Returns the index of the first line of a hunk, from 0. A hunk that only adds lines starts after the line it
/// names, any other on it.
fn first_line(hunk: &Hunk<'_, str>) -> usize {
    let range = hunk.old_range();
    match range.len() {
        0 => range.start(),
        _ => range.start().saturating_sub(1),
    }
}

/// Describes where a hunk differs from the file.
fn find_mismatch(hunk: &Hunk<'_, str>, file: &[&str]) -> Option<String> {
    let old = || {
        hunk.lines().iter().filter_map(|line| match line {
            Line::Context(line) | Line::Delete(line) => Some(strip_line_ending(line)),
            Line::Insert(_) => None,
        })
    };
    let stands = |line: &str, at: usize| {
        file.get(at)
            .is_some_and(|there| strip_line_ending(there) == line)
    };
    let wrong = |start: usize| old().zip(start..).find(|(line, at)| !stands(line, *at));
    let (_, at) = wrong(first_line(hunk))?;
    let elsewhere: Vec<_> = (0..file.len())
        .filter(|start| wrong(*start).is_none())
        .collect();
    let hint = match elsewhere[..] {
        [start] => format!("; its lines are at line {}", start + 1),
        [] => "; read the file again".to_owned(),
        [..] => "; its lines are at several other lines".to_owned(),
    };
    let at = at + 1;
    Some(format!(
        "line {at} of the file differs from the patch{hint}"
    ))
}

/// Removes the line ending of a line.
fn strip_line_ending(line: &str) -> &str {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line)
}

/// Returns whether the name in a header refers to this file.
fn is_about(name: &str, path: &str) -> bool {
    let name = name.split('\t').next().unwrap_or(name).trim();
    let name = name
        .strip_prefix("a/")
        .or(name.strip_prefix("b/"))
        .unwrap_or(name);
    let name = name.strip_prefix("./").unwrap_or(name);
    let path = path.strip_prefix("./").unwrap_or(path);
    path == name || path.ends_with(&format!("/{name}"))
}

#[cfg(test)]
mod tests;
