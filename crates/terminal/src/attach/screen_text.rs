//! Text for a terminal: escaped, measured in columns, and wrapped.

use ratatui::{style::Style, text::Span};

use crate::paint::escape_controls;

pub(super) fn width(text: &str) -> usize {
    Span::raw(text).width()
}

/// Escapes all that a terminal would interpret, and replaces tabs by spaces.
pub(super) fn escape_text(text: &str) -> String {
    escape_controls(text).replace('\t', "    ")
}

/// Returns `text` as one escaped line, with its line breaks as `\n`.
pub(super) fn escape_line(text: &str) -> String {
    escape_text(text.trim_end()).replace('\n', "\\n")
}

/// Cuts `text` to this many columns, with an ellipsis if some of it is missing.
pub(super) fn cut(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let span = Span::raw(text);
    let mut kept = Vec::new();
    let mut used = 1;
    for cell in span.styled_graphemes(Style::new()) {
        used += width(cell.symbol);
        if used > columns {
            break;
        }
        kept.push(cell.symbol);
    }
    kept.truncate(last_cut_position(&kept, kept.len()));
    match columns {
        0 => String::new(),
        _ => format!("{}…", kept.concat().trim_end()),
    }
}

/// Returns the last position up to `at` that is not inside an escape such as `\u{1b}`: half of one could be
/// mistaken for something else.
fn last_cut_position(cells: &[&str], at: usize) -> usize {
    const LONGEST: usize = "\\u{10ffff".len();
    let from = at.saturating_sub(LONGEST);
    let Some(back) = cells[from..at].iter().rposition(|cell| *cell == "\\") else {
        return at;
    };
    let inside = match &cells[from + back + 1..at] {
        [] | ["u"] => true,
        ["u", "{", rest @ ..] => !rest.contains(&"}"),
        _ => false,
    };
    if inside { from + back } else { at }
}

/// Wraps `text` at this many columns. Words stay whole if they fit.
pub(super) fn wrap(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(1);
    text.split('\n')
        .flat_map(|line| wrap_line(line, columns))
        .collect()
}

fn wrap_line(line: &str, columns: usize) -> Vec<String> {
    let span = Span::raw(line);
    let cells: Vec<&str> = span
        .styled_graphemes(Style::new())
        .map(|cell| cell.symbol)
        .collect();
    let mut lines = Vec::new();
    let (mut start, mut used) = (0, 0);
    // The position after the last space that follows a word.
    let mut gap = None;
    let mut at = 0;
    while let Some(cell) = cells.get(at) {
        let wide = width(cell);
        if used + wide > columns && at > start {
            let end = match gap {
                _ if *cell == " " => at,
                Some(gap) => gap,
                None => match last_cut_position(&cells, at) {
                    end if end > start => end,
                    _ => at,
                },
            };
            lines.push(cells[start..end].concat().trim_end().to_owned());
            start = end;
            // Spaces at a break are dropped.
            while cells.get(start) == Some(&" ") {
                start += 1;
            }
            at = at.max(start);
            used = cells[start..at].iter().map(|cell| width(cell)).sum();
            gap = None;
            continue;
        }
        used += wide;
        at += 1;
        if *cell == " " && cells[start..at].iter().any(|cell| *cell != " ") {
            gap = Some(at);
        }
    }
    if start < cells.len() || lines.is_empty() {
        lines.push(cells[start..].concat().trim_end().to_owned());
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay_whole_if_they_fit() {
        let table: [(&str, usize, &[&str]); 10] = [
            ("", 5, &[""]),
            ("one two three", 7, &["one two", "three"]),
            ("one two three", 8, &["one two", "three"]),
            ("one  two", 3, &["one", "two"]),
            ("unbreakable", 4, &["unbr", "eaka", "ble"]),
            ("    deep in", 9, &["    deep", "in"]),
            ("a\n\nb", 9, &["a", "", "b"]),
            ("日本語の字", 4, &["日本", "語の", "字"]),
            (
                "e\u{301}e\u{301}e\u{301}",
                2,
                &["e\u{301}e\u{301}", "e\u{301}"],
            ),
            ("日本", 1, &["日", "本"]),
        ];
        for (text, columns, lines) in table {
            assert_eq!(wrap(text, columns), lines, "{text:?} in {columns}");
        }
        assert_eq!(wrap("ab", 0), ["a", "b"]);
    }

    #[test]
    fn escapes_are_not_cut() {
        for columns in 6..11 {
            let lines = wrap("abcde\\u{1b}[2J", columns);
            assert_eq!(lines[0], "abcde", "{columns}");
        }
        assert_eq!(cut("abc\\u{1b}[2J", 8), "abc…");
        assert_eq!(cut("abc\\u{1b}[2J", 12), "abc\\u{1b}[2J");
        assert_eq!(cut("abc\\u{1b}[2J", 11), "abc\\u{1b}[…");
        // Other text that starts like an escape may be cut.
        assert_eq!(cut("a\\users", 5), "a\\us…");
        assert_eq!(wrap("\\u{1b}", 3), ["\\u{", "1b}"]);
    }

    #[test]
    fn cut_text_fits_into_the_columns() {
        assert_eq!(cut("short", 5), "short");
        assert_eq!(cut("longer", 5), "long…");
        assert_eq!(cut("日本語", 4), "日…");
        assert_eq!(cut("abc", 1), "…");
        assert_eq!(cut("abc", 0), "");
    }

    #[test]
    fn control_characters_and_tabs_are_escaped() {
        assert_eq!(escape_text("a\tb\x1b[2J\n"), "a    b\\u{1b}[2J\n");
        assert_eq!(escape_line("a\nb\n"), "a\\nb");
    }
}
