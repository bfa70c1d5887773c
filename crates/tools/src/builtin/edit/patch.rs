//! A unified diff of one file, applied to the letter: every line it names stands where it says, or nothing is
//! changed. Pure.

/// One `@@` part of a patch.
#[derive(Debug, Default, PartialEq, Eq)]
struct Hunk {
    /// The first line it is about, from 0.
    start: usize,
    /// How many lines it says it takes away or keeps, and how many it leaves.
    counts: (usize, usize),
    lines: Vec<Line>,
}

#[derive(Debug, PartialEq, Eq)]
struct Line {
    mark: Mark,
    text: String,
    /// Whether a `\ No newline at end of file` follows.
    unended: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    Kept,
    Gone,
    New,
}

impl Hunk {
    /// The lines that stand there before it.
    fn old(&self) -> impl Iterator<Item = &Line> {
        self.lines.iter().filter(|line| line.mark != Mark::New)
    }
}

/// The text of the file `path` after a patch.
pub(super) fn apply(path: &str, text: &str, patch: &str) -> Result<String, String> {
    let hunks = read(path, patch)?;
    let file: Vec<&str> = text.split_inclusive('\n').collect();
    // New lines end as the file's do.
    let end = match file.first() {
        Some(first) if first.ends_with("\r\n") => "\r\n",
        _ => "\n",
    };
    let mut new: Vec<String> = Vec::new();
    let mut at = 0;
    for (hunk, number) in hunks.iter().zip(1..) {
        if hunk.start < at {
            return Err(format!(
                "hunk {number} begins before the one before it ends"
            ));
        }
        if hunk.start > file.len() {
            return Err(format!(
                "hunk {number} begins at line {}, but the file has {} lines",
                hunk.start + 1,
                file.len()
            ));
        }
        if let Some(problem) = mismatch(hunk, &file) {
            return Err(format!("hunk {number} does not apply: {problem}"));
        }
        new.extend(file[at..hunk.start].iter().map(|&line| line.to_owned()));
        at = hunk.start;
        for line in &hunk.lines {
            match line.mark {
                Mark::Kept => new.push(file[at].to_owned()),
                Mark::Gone => {}
                Mark::New if line.unended => new.push(line.text.clone()),
                Mark::New => new.push(format!("{}{end}", line.text)),
            }
            at += usize::from(line.mark != Mark::New);
        }
    }
    new.extend(file[at..].iter().map(|&line| line.to_owned()));
    // A last line without an end that is the last no longer gets one.
    let last = new.len().saturating_sub(1);
    for line in &mut new[..last] {
        if !line.ends_with('\n') {
            line.push_str(end);
        }
    }
    Ok(new.concat())
}

/// Where a hunk says something else than the file.
fn mismatch(hunk: &Hunk, file: &[&str]) -> Option<String> {
    let fits = |start: usize| {
        let mut lines = hunk.old().zip(start..);
        lines.all(|(line, at)| file.get(at).is_some_and(|there| bare(there) == line.text))
    };
    if fits(hunk.start) {
        return None;
    }
    let mut lines = hunk.old().zip(hunk.start..);
    let wrong = lines.find(|(line, at)| file.get(*at).is_none_or(|it| bare(it) != line.text));
    let at = wrong.map_or(hunk.start, |(_, at)| at) + 1;
    let elsewhere: Vec<_> = (0..file.len()).filter(|start| fits(*start)).collect();
    let hint = match elsewhere[..] {
        [start] => format!("; its lines stand at line {}", start + 1),
        [] => "; read the file again".to_owned(),
        [..] => "; its lines stand at several others".to_owned(),
    };
    Some(format!("line {at} of the file is not what it says{hint}"))
}

/// A line without its end.
fn bare(line: &str) -> &str {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line)
}

/// Reads the hunks of a patch.
fn read(path: &str, patch: &str) -> Result<Vec<Hunk>, String> {
    let mut hunks: Vec<Hunk> = Vec::new();
    for (line, number) in patch.lines().map(bare).zip(1..) {
        let open = hunks.last().is_some_and(|hunk| !is_full(hunk));
        if line.starts_with("@@") {
            full(&hunks)?;
            hunks.push(header(line).ok_or_else(|| {
                format!("line {number} of the patch is no `@@ -LINE,COUNT +LINE,COUNT @@`")
            })?);
        } else if line.starts_with('\\') {
            if let Some(last) = hunks.last_mut().and_then(|hunk| hunk.lines.last_mut()) {
                last.unended = true;
            }
        } else if let Some(hunk) = hunks.last_mut().filter(|_| open) {
            let (mark, text) = match line.split_at_checked(1) {
                Some((" ", text)) => (Mark::Kept, text),
                Some(("-", text)) => (Mark::Gone, text),
                Some(("+", text)) => (Mark::New, text),
                // Some leave out the space of an empty line.
                None => (Mark::Kept, ""),
                Some(_) => {
                    return Err(format!(
                        "line {number} of the patch begins with none of ` `, `-` and `+`"
                    ));
                }
            };
            let (text, unended) = (text.to_owned(), false);
            hunk.lines.push(Line {
                mark,
                text,
                unended,
            });
        } else if let Some(name) = line.strip_prefix("--- ").or(line.strip_prefix("+++ ")) {
            if !hunks.is_empty() || !is_about(name, path) {
                return Err(format!(
                    "line {number} of the patch names another file; one file is edited at a time"
                ));
            }
        } else if !hunks.is_empty() && !line.is_empty() {
            return Err(format!(
                "hunk {} has more lines than its `@@` line says",
                hunks.len()
            ));
        }
    }
    full(&hunks)?;
    if hunks.is_empty() {
        return Err("the patch has no `@@` line, so it changes nothing".to_owned());
    }
    Ok(hunks)
}

/// Whether the name in a header means this file.
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

/// `@@ -3,2 +3,4 @@ anything`.
fn header(line: &str) -> Option<Hunk> {
    let (ranges, _) = line.strip_prefix("@@ -")?.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    let range = |text: &str| -> Option<(usize, usize)> {
        match text.split_once(',') {
            Some((line, count)) => Some((line.parse().ok()?, count.parse().ok()?)),
            None => Some((text.parse().ok()?, 1)),
        }
    };
    let ((line, gone), (_, left)) = (range(old)?, range(new)?);
    // What only adds stands behind the line it names, everything else on it.
    let start = match gone {
        0 => line,
        _ => line.checked_sub(1)?,
    };
    Some(Hunk {
        start,
        counts: (gone, left),
        lines: Vec::new(),
    })
}

fn counted(hunk: &Hunk) -> (usize, usize) {
    let of = |mark| hunk.lines.iter().filter(|line| line.mark != mark).count();
    (of(Mark::New), of(Mark::Gone))
}

fn is_full(hunk: &Hunk) -> bool {
    let (old, new) = counted(hunk);
    old >= hunk.counts.0 && new >= hunk.counts.1
}

/// Whether the last hunk has the lines it says.
fn full(hunks: &[Hunk]) -> Result<(), String> {
    match hunks.last() {
        Some(hunk) if counted(hunk) != hunk.counts => {
            let (old, new) = counted(hunk);
            Err(format!(
                "hunk {} has {old} old and {new} new lines, but its `@@` line says {} and {}",
                hunks.len(),
                hunk.counts.0,
                hunk.counts.1
            ))
        }
        Some(_) | None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
