//! Explains a line from the text around it: its comment, its heading, the definition that contains it. Pure.

use std::ops::Range;

use harn_tools::defined_name;

use super::markdown::shorten;

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Explanation {
    /// The name of the definition or section that contains the line, unless the line itself names it.
    pub(super) owner: Option<String>,
    /// A sentence about the line, from a comment, a docstring or the prose.
    pub(super) text: Option<String>,
}

/// The maximum length of an explanation, in characters.
const MAX_TEXT: usize = 200;
/// The maximum number of lines of an excerpt.
const MAX_EXCERPT: usize = 9;
/// The maximum distance, in lines, to a definition above that the excerpt still includes.
const NEAR: usize = 5;

/// Explains line `at` of a file, counted from 0.
pub(super) fn explain(path: &str, lines: &[&str], at: usize) -> Explanation {
    if at >= lines.len() {
        return Explanation::default();
    }
    let style = CommentStyle::from_path(path);
    if style == CommentStyle::Prose {
        return explain_prose(lines, at);
    }
    if style.comment_text(lines[at]).is_some() {
        return Explanation {
            owner: None,
            text: sentence_at(style, lines, at),
        };
    }
    let owner = find_owner(lines, at);
    let doc = owner.and_then(|o| doc_above(style, lines, o).or_else(|| docstring(lines, o)));
    let other = owner.filter(|owner| *owner != at);
    Explanation {
        owner: other
            .and_then(|owner| defined_name(lines[owner]))
            .map(str::to_owned),
        text: doc.or_else(|| header(style, lines)),
    }
}

/// Returns the first sentence of a comment at the top of the file.
fn header(style: CommentStyle, lines: &[&str]) -> Option<String> {
    let says_nothing = |line: &usize| {
        let line = lines[*line].trim();
        line.is_empty() || line.starts_with("#!")
    };
    let first = (0..lines.len()).find(|line| !says_nothing(line))?;
    style.comment_text(lines[first])?;
    let says = sentence_at(style, lines, first)?;
    Some(format!("from the head of the file: {says}"))
}

/// Returns the lines to show around line `at`, counted from 0.
pub(super) fn excerpt(path: &str, lines: &[&str], at: usize) -> Range<usize> {
    if at >= lines.len() {
        return 0..0;
    }
    let style = CommentStyle::from_path(path);
    let begin = if style == CommentStyle::Prose {
        let blank_before = (0..at).rev().find(|line| lines[*line].trim().is_empty());
        blank_before.map_or(0, |blank| blank + 1)
    } else if style.comment_text(lines[at]).is_some() {
        comment_block(style, lines, at).start
    } else {
        find_owner(lines, at).unwrap_or(at)
    };
    let start = if at - begin <= NEAR { begin } else { at - 2 };
    let most = (start + MAX_EXCERPT).min(lines.len());
    let ends = |line: &usize| {
        let after = lines[*line..].iter().find(|text| !text.trim().is_empty());
        let next_is_another = after.is_none_or(|text| indent(text) <= indent(lines[begin]));
        lines[*line].trim().is_empty() && next_is_another
    };
    let end = (at + 1..most).find(ends).unwrap_or(most);
    start..end
}

/// Removes the indentation that all lines share, and cuts long lines.
pub(super) fn dedent(lines: &[&str]) -> String {
    const MAX_WIDTH: usize = 160;
    let filled = lines.iter().filter(|line| !line.trim().is_empty());
    let shared = filled.map(|line| indent(line)).min().unwrap_or(0);
    let cut = |line: &&str| {
        // A space may have several bytes; `get` returns `None` for a cut inside one.
        let line = line.get(shared..).unwrap_or_else(|| line.trim_start());
        let line = line.trim_end();
        match line.char_indices().nth(MAX_WIDTH) {
            Some((end, _)) => format!("{}…", &line[..end]),
            None => line.to_owned(),
        }
    };
    lines.iter().map(cut).collect::<Vec<_>>().join("\n")
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CommentStyle {
    Prose,
    /// `// comment`
    Slashes,
    /// `# comment`
    Hash,
    /// `-- comment`
    Dashes,
}

impl CommentStyle {
    fn from_path(path: &str) -> Self {
        let name = path.rsplit('/').next().unwrap_or(path);
        match name.rsplit_once('.').map_or(name, |(_, ending)| ending) {
            "md" | "markdown" | "txt" | "rst" | "adoc" => Self::Prose,
            "py" | "sh" | "bash" | "zsh" | "rb" | "toml" | "yaml" | "yml" | "pl" | "r" | "nix"
            | "ex" | "exs" | "conf" | "ini" | "Makefile" | "makefile" | "Dockerfile"
            | "justfile" | "Justfile" | "gitignore" => Self::Hash,
            "sql" | "lua" | "hs" | "elm" => Self::Dashes,
            _ => Self::Slashes,
        }
    }

    /// Returns the text of a comment line, or `None` if the line is no comment.
    fn comment_text(self, line: &str) -> Option<&str> {
        let line = line.trim();
        let marks: &[&str] = match self {
            Self::Prose => return None,
            Self::Slashes => &["///", "//!", "//", "/**", "/*", "*/", "* "],
            Self::Hash if line.starts_with("#!") => return None,
            Self::Hash => &["#"],
            Self::Dashes => &["--"],
        };
        // The middle of a block comment may be an empty line.
        if self == Self::Slashes && line == "*" {
            return Some("");
        }
        let rest = marks.iter().find_map(|mark| line.strip_prefix(mark))?;
        Some(rest.strip_suffix("*/").unwrap_or(rest).trim())
    }
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Returns the line of the definition that contains `at`: the line itself, or the nearest line above that defines
/// something and is indented less.
fn find_owner(lines: &[&str], at: usize) -> Option<usize> {
    if defined_name(lines[at]).is_some() {
        return Some(at);
    }
    let mut depth = indent(lines[at]);
    for line in (0..at).rev() {
        let text = lines[line];
        if text.trim().is_empty() || indent(text) >= depth {
            continue;
        }
        if defined_name(text).is_some() {
            return Some(line);
        }
        depth = indent(text);
    }
    None
}

/// Returns the range of comment lines around a comment line.
fn comment_block(style: CommentStyle, lines: &[&str], at: usize) -> Range<usize> {
    let is_comment = |line: &usize| style.comment_text(lines[*line]).is_some();
    let start = (0..=at).rev().take_while(is_comment).last().unwrap_or(at);
    let end = (at..lines.len())
        .take_while(is_comment)
        .last()
        .unwrap_or(at)
        + 1;
    start..end
}

/// Returns the first sentence of the comment above a definition; skips attributes in between.
fn doc_above(style: CommentStyle, lines: &[&str], owner: usize) -> Option<String> {
    let is_attribute = |line: &&usize| lines[**line].trim_start().starts_with(['#', '@']);
    let above: Vec<usize> = (0..owner).rev().collect();
    let passed = above
        .iter()
        .take_while(|line| style.comment_text(lines[**line]).is_none() && is_attribute(line));
    let last = *above.get(passed.count())?;
    style.comment_text(lines[last])?;
    let start = comment_block(style, lines, last).start;
    sentence_at(style, lines, start)
}

/// Returns the first line of a docstring below a definition.
fn docstring(lines: &[&str], owner: usize) -> Option<String> {
    let below = lines.get(owner + 1..)?.iter().take(4);
    let mut quoted = below.filter_map(|line| line.trim().strip_prefix("\"\"\""));
    let first = quoted.next()?.trim().trim_end_matches("\"\"\"");
    (!first.is_empty()).then(|| shorten(first, MAX_TEXT))
}

/// Returns the sentence of a comment that line `at` is part of.
fn sentence_at(style: CommentStyle, lines: &[&str], at: usize) -> Option<String> {
    let block = comment_block(style, lines, at);
    let says = |line: usize| style.comment_text(lines[line]).unwrap_or_default();
    // In a comment of several paragraphs, use the one around the line, or the first if the line is blank.
    let first = (block.clone()).find(|line| !says(*line).is_empty())?;
    let at = if says(at).is_empty() { first } else { at };
    let start = (block.start..at).rev().find(|line| says(*line).is_empty());
    let start = start.map_or(block.start, |blank| blank + 1);
    let end = (at..block.end).find(|line| says(*line).is_empty());
    sentence((start..end.unwrap_or(block.end)).map(says), at - start)
}

/// Returns the sentence that line `at` of a paragraph is part of.
fn sentence<'a>(paragraph: impl Iterator<Item = &'a str>, at: usize) -> Option<String> {
    let mut text = String::new();
    let mut wanted = 0;
    for (number, line) in paragraph.enumerate() {
        if !text.is_empty() {
            text.push(' ');
        }
        if number == at {
            wanted = text.len();
        }
        text.push_str(line);
    }
    let mut start = 0;
    for end in sentence_ends(&text) {
        if end > wanted {
            break;
        }
        start = end;
    }
    let end = sentence_ends(&text[start..]).next();
    let end = end.map_or(text.len(), |end| start + end);
    let sentence = text[start..end].trim();
    (!sentence.is_empty()).then(|| shorten(sentence, MAX_TEXT))
}

/// Returns the ends of sentences, each after the space that follows the full stop.
fn sentence_ends(text: &str) -> impl Iterator<Item = usize> {
    text.match_indices(['.', '!', '?'])
        .filter_map(|(at, mark)| {
            let abbreviated = ["e.g", "i.e", "etc", "cf"]
                .iter()
                .any(|a| text[..at].ends_with(a));
            let end = at + mark.len();
            (!abbreviated && text[end..].starts_with(' ')).then_some(end + 1)
        })
}

fn explain_prose(lines: &[&str], at: usize) -> Explanation {
    let heading = |line: &usize| lines[*line].starts_with('#');
    let title = |line: usize| lines[line].trim_start_matches('#').trim().to_owned();
    let above = (0..at).rev().find(heading).map(title);
    let start = if heading(&at) {
        // The text after a heading explains it.
        (at + 1..lines.len()).find(|line| !lines[*line].trim().is_empty())
    } else {
        let blank = (0..at)
            .rev()
            .find(|line| lines[*line].trim().is_empty() || heading(line));
        Some(blank.map_or(0, |blank| blank + 1))
    };
    let text = start.filter(|start| !heading(start)).and_then(|start| {
        let lines = lines[start..].iter().map(|line| line.trim());
        let paragraph = lines.take_while(|line| !line.is_empty());
        // The marks of a code block carry no text.
        let said = paragraph.map(|line| if line.starts_with("```") { "" } else { line });
        sentence(said, at.saturating_sub(start))
    });
    if heading(&at) {
        return Explanation {
            owner: None,
            text: Some(match text {
                Some(text) => format!("{}: {text}", title(at)),
                None => title(at),
            }),
        };
    }
    Explanation { owner: above, text }
}

#[cfg(test)]
mod tests;
