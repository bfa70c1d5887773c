//! Removes the markup of Markdown; what may be literal stays. `pulldown-cmark` finds the markup.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

/// A longer line is data and stays as it is.
const LONGEST_LINE: usize = 2048;

/// Returns the text as it reads without a renderer. Code stays verbatim. Single stars and underscores stay,
/// because names and formulas have them, too.
pub(super) fn strip_markup(text: &str) -> String {
    let mut edits = MarkupEdits {
        text,
        made: Vec::new(),
    };
    // The content of the current heading.
    let mut heading: Option<Range<usize>> = None;
    for (event, at) in Parser::new_ext(text, Options::empty()).into_offset_iter() {
        match (&event, &mut heading) {
            (Event::Start(Tag::Heading { .. }), _) => heading = Some(at.start..at.start),
            (Event::End(TagEnd::Heading(_)), Some(inside)) => {
                edits.replace(at.start..inside.start, "");
                edits.replace(inside.end..at.end, "");
                heading = None;
            }
            (_, Some(inside)) if inside.start == inside.end => *inside = at.clone(),
            (_, Some(inside)) => inside.end = inside.end.max(at.end),
            (_, None) => {}
        }
        match event {
            Event::Code(code) => edits.replace(at, code.trim()),
            Event::Rule => edits.replace(at, ""),
            Event::Start(Tag::Strong) if text[at.clone()].starts_with("**") => {
                edits.replace(at.start..at.start + 2, "");
                edits.replace(at.end - 2..at.end, "");
            }
            Event::Start(Tag::Item) if text[at.clone()].starts_with(['*', '+']) => {
                edits.replace(at.start..at.start + 1, "-");
            }
            Event::Start(
                Tag::Link {
                    dest_url, title, ..
                }
                | Tag::Image {
                    dest_url, title, ..
                },
            ) if title.is_empty() => edits.replace_link(at, &dest_url),
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_))) => edits.remove_fences(at),
            _ => {}
        }
    }
    edits.apply().trim_matches('\n').to_owned()
}

/// The replacements in a text.
struct MarkupEdits<'t> {
    text: &'t str,
    made: Vec<(Range<usize>, String)>,
}

impl MarkupEdits<'_> {
    /// Replaces a part of the text, but not the end of its last line.
    fn replace(&mut self, at: Range<usize>, by: &str) {
        let part = &self.text[at.clone()];
        let end = at.start + part.trim_end_matches('\n').len();
        self.made.push((at.start..end, by.to_owned()));
    }

    /// Replaces a link or an image by its text, and adds the target unless the text is the target.
    fn replace_link(&mut self, at: Range<usize>, target: &str) {
        let link = &self.text[at.clone()];
        let Some(words_end) = link.rfind("](") else {
            return;
        };
        let words_start = if link.starts_with('!') { 2 } else { 1 };
        let words = link.get(words_start..words_end).unwrap_or_default();
        let target = match words.trim() {
            "" => target.to_owned(),
            words if words == target => String::new(),
            _ => format!(" ({target})"),
        };
        self.replace(at.start..at.start + words_start, "");
        self.replace(at.start + words_end..at.end, &target);
    }

    /// Removes both fences of a code block with their lines.
    fn remove_fences(&mut self, at: Range<usize>) {
        let block = &self.text[at.clone()];
        let bare = block.trim_start_matches(['`', '~']);
        let fence = &block[..block.len() - bare.len()];
        let first = block.find('\n').map_or(block.len(), |end| end + 1);
        let indent = self.text[..at.start].trim_end_matches([' ', '\t']).len();
        let start = match self.text[..indent].ends_with('\n') {
            true => indent,
            false => at.start,
        };
        self.made.push((start..at.start + first, String::new()));
        let inside = block[first..].trim_end_matches('\n');
        let last = inside.rfind('\n').map_or(0, |end| end + 1);
        let last = &inside[last..];
        if last.trim().starts_with(fence) {
            let end = at.start + first + inside.len();
            let line = end - last.len()..(end + 1).min(self.text.len());
            self.made.push((line, String::new()));
        }
    }

    fn apply(mut self) -> String {
        self.made.sort_by_key(|(at, _)| at.start);
        let mut out = String::with_capacity(self.text.len());
        let (mut done, long) = (0, long_lines(self.text));
        for (at, by) in self.made {
            let next = long.partition_point(|line| line.end < at.start);
            if at.start < done || long.get(next).is_some_and(|line| line.start <= at.start) {
                continue;
            }
            out.push_str(&self.text[done..at.start]);
            out.push_str(&by);
            done = at.end;
        }
        out + &self.text[done..]
    }
}

fn long_lines(text: &str) -> Vec<Range<usize>> {
    let mut start = 0;
    let lines = text.split_inclusive('\n').map(|line| {
        start += line.len();
        start - line.len()..start - 1
    });
    lines.filter(|line| line.len() > LONGEST_LINE).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_line_of_markup_stays_unchanged() {
        for mark in ["[", "`", "**", "![", "``` "] {
            let data = format!("x{}", mark.repeat(500_000));
            assert_eq!(strip_markup(&data), data);
        }
    }

    #[test]
    fn markup_is_removed_and_literal_text_stays() {
        let table = [
            ("plain", "plain"),
            ("## Plan ##\n\ntext", "Plan\n\ntext"),
            ("#hashtag, C#", "#hashtag, C#"),
            (
                "**bold** and __init__ and a*b*c",
                "bold and __init__ and a*b*c",
            ),
            ("2 ** 3 ** 4", "2 ** 3 ** 4"),
            ("run `rm *.o`, then ``a`b``", "run rm *.o, then a`b"),
            ("a ` b", "a ` b"),
            (
                "see [the docs](https://e.org/d)",
                "see the docs (https://e.org/d)",
            ),
            ("[https://e.org](https://e.org)", "https://e.org"),
            ("![chart](c.png) [x] [y](z w)", "chart (c.png) [x] [y](z w)"),
            ("[**bold**](u)", "bold (u)"),
            (
                "* one\n  + two\n- three\n1. four",
                "- one\n  - two\n- three\n1. four",
            ),
            ("a\n\n---\n\nb", "a\n\n\n\nb"),
            (
                "```sh\n# not a heading\nls **\n```\nafter",
                "# not a heading\nls **\nafter",
            ),
            ("~~~\n```\n~~~", "```"),
            ("````\n```\n````", "```"),
            ("```\nnever closed **", "never closed **"),
            ("> quoted", "> quoted"),
            ("日本 **語**", "日本 語"),
            ("**", "**"),
            ("**a", "**a"),
            ("[a](", "[a]("),
            ("***", ""),
        ];
        for (text, expected) in table {
            assert_eq!(strip_markup(text), expected, "{text:?}");
        }
    }
}
