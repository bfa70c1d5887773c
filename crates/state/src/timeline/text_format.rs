//! Text for people: single short lines, shortened texts, and readable numbers.

use std::fmt::Display;

use harn_model::{ContentBlock, PlanEntry, PlanEntryStatus, plain_text};

pub(super) use crate::to_wire::output::format_json;

/// The maximum length of a title, in characters.
const TITLE_CHARS: usize = 160;
/// The maximum length of a text, in bytes.
const TEXT_BYTES: usize = 4 * 1024;
const CUT: char = '…';

/// Returns the first line that is not blank, without control characters, and shortened.
pub(super) fn first_line(text: &str) -> String {
    let mut lines = text.lines().map(str::trim);
    let line = lines.find(|line| !line.is_empty()).unwrap_or_default();
    let mut readable = line
        .chars()
        .map(|c| if is_control_or_direction(c) { ' ' } else { c });
    let mut title: String = readable.by_ref().take(TITLE_CHARS).collect();
    if readable.next().is_some() {
        title.pop();
        title.push(CUT);
    }
    title.trim().to_owned()
}

/// Whether a character is executed instead of shown; those that change the direction can make a line read as
/// something else.
fn is_control_or_direction(c: char) -> bool {
    let turns = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns || c.is_control()
}

/// Returns the first line that is not blank, or `nothing` if there is none.
pub(super) fn first_line_or(text: &str, nothing: &str) -> String {
    let line = first_line(text);
    match line.is_empty() {
        true => nothing.to_owned(),
        false => line,
    }
}

/// Shortens a text to its maximum length.
pub(super) fn shorten(text: &mut String) {
    if text.len() > TEXT_BYTES {
        let room = TEXT_BYTES - CUT.len_utf8();
        let end = (0..=room).rev().find(|&at| text.is_char_boundary(at));
        text.truncate(end.unwrap_or_default());
        text.push(CUT);
    }
}

/// Returns the first line of a message, or the kinds of its blocks if it has no text.
pub(super) fn headline(blocks: &[ContentBlock]) -> String {
    let line = first_line(&plain_text(blocks));
    if !line.is_empty() {
        return line;
    }
    let kinds: Vec<_> = blocks.iter().map(ContentBlock::kind).collect();
    match kinds[..] {
        [] => "(nothing)".to_owned(),
        _ => format!("({})", kinds.join(", ")),
    }
}

/// Formats a duration: `1.2 s`, `340 ms`, `2 min 5 s`.
pub(super) fn format_duration(ms: u64) -> String {
    let seconds = ms / 1000;
    match seconds {
        0 => format!("{ms} ms"),
        1..60 => format!("{seconds}.{} s", ms % 1000 / 100),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        3600.. => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

/// Formats a duration as a suffix; empty if it is unknown.
pub(super) fn duration_suffix(ms: Option<u64>) -> String {
    ms.map(|ms| format!(" — {}", format_duration(ms)))
        .unwrap_or_default()
}

/// Formats a number with its noun: `1 file`, `2 files`.
pub(super) fn count(n: impl Into<u64>, one: &str, many: &str) -> String {
    match n.into() {
        1 => format!("1 {one}"),
        n => format!("{n} {many}"),
    }
}

/// Formats a length like [`count`].
pub(super) fn count_items(n: usize, one: &str, many: &str) -> String {
    count(u64::try_from(n).unwrap_or(u64::MAX), one, many)
}

/// Formats a list in one line.
pub(super) fn join_list<T: Display>(items: impl IntoIterator<Item = T>) -> String {
    let items: Vec<_> = items.into_iter().map(|item| item.to_string()).collect();
    match items[..] {
        [] => "none".to_owned(),
        _ => items.join(", "),
    }
}

/// Joins the parts that are not blank, one per line.
pub(super) fn join_lines<const N: usize>(parts: [Option<String>; N]) -> String {
    let parts = parts.into_iter().flatten();
    let told: Vec<_> = parts.filter(|part| !part.trim().is_empty()).collect();
    told.join("\n")
}

/// Returns a text after its label; `None` if the text is blank.
pub(super) fn with_label(label: &str, text: &str) -> Option<String> {
    (!text.trim().is_empty()).then(|| format!("{label}: {text}"))
}

/// Formats how many entries are completed.
pub(super) fn completed_count(entries: &[PlanEntry]) -> String {
    let is_done = |entry: &&PlanEntry| entry.status == PlanEntryStatus::Completed;
    let done = entries.iter().filter(is_done).count();
    format!("{done} of {} done", entries.len())
}

/// Formats entries as a checklist.
pub(super) fn checklist(entries: &[PlanEntry]) -> String {
    let line = |entry: &PlanEntry| {
        let mark = match entry.status {
            PlanEntryStatus::Pending => "[ ]",
            PlanEntryStatus::InProgress => "[>]",
            PlanEntryStatus::Completed => "[x]",
        };
        format!("{mark} {}", entry.content)
    };
    entries.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_one_short_line() {
        assert_eq!(first_line("\n  \n first \nsecond"), "first");
        assert_eq!(
            first_line("\u{1b}[32mgreen\u{1b}[0m\ttab"),
            "[32mgreen [0m tab"
        );
        assert_eq!(first_line("a\u{202e}txt.exe"), "a txt.exe");
        assert_eq!(first_line(""), "");
        let long = first_line(&"é".repeat(TITLE_CHARS + 1));
        assert_eq!(long.chars().count(), TITLE_CHARS);
        assert!(long.ends_with("é…"));
        let just = "é".repeat(TITLE_CHARS);
        assert_eq!(first_line(&just), just);
    }

    #[test]
    fn a_text_is_cut_between_characters() {
        let mut just = "a".repeat(TEXT_BYTES);
        shorten(&mut just);
        assert_eq!(just.len(), TEXT_BYTES);
        assert!(just.ends_with('a'));
        for odd in 0..4 {
            let mut long = "a".repeat(odd) + &"🪣".repeat(TEXT_BYTES);
            shorten(&mut long);
            assert!(long.len() <= TEXT_BYTES && long.len() > TEXT_BYTES - 4);
            assert!(long.ends_with("🪣…"));
        }
    }

    #[test]
    fn durations_are_readable() {
        let told =
            [0, 340, 999, 1000, 1250, 59_999, 60_000, 125_000, 3_720_000].map(format_duration);
        let expected = [
            "0 ms",
            "340 ms",
            "999 ms",
            "1.0 s",
            "1.2 s",
            "59.9 s",
            "1 min 0 s",
            "2 min 5 s",
            "1 h 2 min",
        ];
        assert_eq!(told, expected);
    }
}
