//! The raw output of a command: the part that one event carries, and how a reader joins such parts.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{ToolCallUpdate, ToolContent};

/// A part of the raw output of a command.
///
/// The parts of one call overlap: each repeats the end of the previous output before the new text, so that a
/// client that shows only one part shows something useful. `start` lets a reader that has all parts append exactly
/// the rest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandOutput {
    /// The text.
    pub text: String,
    /// How many bytes the command printed before the text.
    #[serde(default, skip_serializing_if = "crate::event::is_zero")]
    pub start: u64,
    /// Whether the host that ran the command omitted a part and did not count it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub incomplete: bool,
}

impl CommandOutput {
    /// Returns the end of the text, in bytes from the beginning of the output.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.start.saturating_add(self.text.len() as u64)
    }

    /// Whether output is missing before the end of the text.
    pub fn is_partial(&self) -> bool {
        self.start > 0 || self.incomplete
    }

    /// Returns the text as a code block of Markdown, for readers that would read a star in it as emphasis.
    pub fn to_markdown(&self) -> String {
        if self.text.is_empty() {
            return "No output.\n".to_owned();
        }
        let head = if self.is_partial() {
            "The end of the output:\n\n"
        } else {
            ""
        };
        let fence = code_fence(&self.text);
        let end = if self.text.ends_with('\n') { "" } else { "\n" };
        format!("{head}{fence}\n{}{end}{fence}\n", self.text)
    }
}

/// Returns the backticks that open and close a code block around a text: nothing in the text closes the block.
pub fn code_fence(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max();
    "`".repeat(longest.unwrap_or_default().max(2) + 1)
}

/// The output of a command, joined by a reader from the parts in the events of its call.
#[derive(Clone, Debug)]
pub struct OutputText {
    text: String,
    /// The end of the text, in bytes from the beginning of the output.
    end: u64,
    /// Above this many bytes, the first half of the text is dropped.
    limit: usize,
    is_cut: bool,
    incomplete: bool,
}

impl OutputText {
    /// An empty text that never exceeds `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self {
            text: String::new(),
            end: 0,
            limit,
            is_cut: false,
            incomplete: false,
        }
    }

    /// Appends the new text of a part, and returns it. A line in brackets replaces bytes that no part contained.
    pub fn append(&mut self, part: &CommandOutput) -> String {
        let skipped = part.start.saturating_sub(self.end);
        let mark = match part.incomplete && !self.incomplete {
            true => Some("[… part of the output is missing …]\n".to_owned()),
            false if skipped > 0 => Some(format!("[… {skipped} bytes are left out …]\n")),
            false => None,
        };
        let known = usize::try_from(self.end.saturating_sub(part.start));
        let new = known.ok().and_then(|known| part.text.get(known..));
        let mut more = String::new();
        if let Some(mark) = mark {
            if !self.text.is_empty() && !self.text.ends_with('\n') {
                more.push('\n');
            }
            more.push_str(&mark);
        }
        more.push_str(new.unwrap_or_default());
        self.incomplete |= part.incomplete;
        self.end = self.end.max(part.end());
        self.text.push_str(&more);
        if self.text.len() > self.limit {
            let from = self.text.len() - self.limit / 2;
            let from = (from..self.text.len()).find(|at| self.text.is_char_boundary(*at));
            self.text.drain(..from.unwrap_or(self.text.len()));
            self.is_cut = true;
        }
        more
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether the beginning was dropped, because the text exceeded its limit.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }
}

/// The output of a tool call so far, folded from its events.
#[derive(Clone, Debug, Default)]
pub struct CallOutput {
    /// The content to show.
    pub content: Vec<ToolContent>,
    /// Its result.
    pub raw: Option<Value>,
    /// The output of its command.
    pub printed: Option<OutputText>,
    /// The text that the last event added to `printed`.
    pub added: String,
}

impl CallOutput {
    /// Replaces the content of the call. Of a command's output, the end is kept, up to `limit` bytes.
    pub fn replace_content(&mut self, content: &[ToolContent], limit: usize) {
        self.content = content.to_owned();
        self.added.clear();
        for part in content.iter().filter_map(ToolContent::command_output) {
            let printed = &mut self.printed;
            let printed = printed.get_or_insert_with(|| OutputText::new(limit));
            self.added.push_str(&printed.append(part));
        }
    }

    /// Applies an update of the call.
    pub fn update(&mut self, update: &ToolCallUpdate, limit: usize) {
        match &update.content {
            Some(content) => self.replace_content(content, limit),
            None => self.added.clear(),
        }
        if update.raw_output.is_some() {
            self.raw.clone_from(&update.raw_output);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(start: u64, text: &str) -> CommandOutput {
        CommandOutput {
            text: text.to_owned(),
            start,
            incomplete: false,
        }
    }

    #[test]
    fn overlapping_parts_join_without_repetition() {
        let mut joined = OutputText::new(100);
        let parts = [(0, "one\n"), (0, "one\ntw→"), (4, "tw→"), (6, "→o\n")];
        let new = parts.map(|(start, text)| joined.append(&part(start, text)));
        assert_eq!(new, ["one\n", "tw→", "", "o\n"]);
        assert_eq!(joined.as_str(), "one\ntw→o\n");
        assert!(!joined.is_cut());
    }

    #[test]
    fn skipped_bytes_are_marked_where_they_are_missing() {
        let mut joined = OutputText::new(100);
        joined.append(&part(0, "one"));
        assert_eq!(
            joined.append(&part(10, "two")),
            "\n[… 7 bytes are left out …]\ntwo"
        );
        let lossy = CommandOutput {
            incomplete: true,
            ..part(0, "end")
        };
        let mut joined = OutputText::new(100);
        let text = "[… part of the output is missing …]\nend";
        assert_eq!(joined.append(&lossy), text);
        assert_eq!(joined.append(&lossy), "");
    }

    #[test]
    fn invalid_or_repeated_part_adds_no_text() {
        let mut joined = OutputText::new(100);
        joined.append(&part(0, "ab"));
        assert_eq!(joined.append(&part(1, "→")), "");
        assert_eq!(joined.append(&part(0, "a")), "");
        assert_eq!(joined.append(&part(u64::MAX, "x")).lines().count(), 3);
    }

    #[test]
    fn long_text_keeps_its_end() {
        let mut joined = OutputText::new(10);
        joined.append(&part(0, "0123456789"));
        assert!(!joined.is_cut());
        assert_eq!(joined.append(&part(0, "0123456789→")), "→");
        assert_eq!((joined.as_str(), joined.is_cut()), ("89→", true));
    }

    #[test]
    fn nothing_in_the_output_closes_its_code_block() {
        assert_eq!(part(0, "").to_markdown(), "No output.\n");
        assert_eq!(part(0, "a").to_markdown(), "```\na\n```\n");
        assert_eq!(
            part(3, "```\n").to_markdown(),
            "The end of the output:\n\n````\n```\n````\n"
        );
    }
}
