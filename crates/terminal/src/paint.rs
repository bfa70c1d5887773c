//! Colours for terminals, and text made safe for a terminal.

use std::{borrow::Cow, fmt::Write as _};

/// The style of a piece of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PaintStyle {
    /// Unstyled text.
    Plain,
    /// Less important text.
    Dim,
    /// Important text.
    Bold,
    /// Success, or added text.
    Green,
    /// Failure, or removed text.
    Red,
    /// A question or a warning.
    Yellow,
    /// A symbol, a path or a position.
    Cyan,
}

impl PaintStyle {
    fn code(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Dim => "2",
            Self::Bold => "1",
            Self::Green => "32",
            Self::Red => "31",
            Self::Yellow => "33",
            Self::Cyan => "36",
        }
    }
}

/// Adds colour codes to text if colour is on.
#[derive(Clone, Copy, Debug)]
pub struct TextPainter {
    /// Whether colour is on.
    pub colour: bool,
}

impl TextPainter {
    /// Returns `text` in a style.
    pub fn apply<'a>(self, style: PaintStyle, text: &'a str) -> Cow<'a, str> {
        if self.colour && style != PaintStyle::Plain && !text.is_empty() {
            format!("\x1b[{}m{text}\x1b[0m", style.code()).into()
        } else {
            text.into()
        }
    }
}

/// Escapes all that a terminal would interpret: an agent's text must not move the cursor over a question,
/// or hide part of a command. That covers control characters, characters that change the direction of text,
/// and zero-width or line-breaking ones, which terminals show differently.
pub fn escape_controls(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_terminal_control) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_terminal_control(c) {
            // Writing to a string does not fail.
            let _ = write!(out, "{}", c.escape_default());
        } else {
            out.push(c);
        }
    }
    out.into()
}

fn is_terminal_control(c: char) -> bool {
    let direction = matches!(
        c,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    // Joiners stay: some scripts and emoji need them.
    let unseen = matches!(
        c,
        '\u{200b}' | '\u{2028}' | '\u{2029}' | '\u{2060}'..='\u{2064}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}'
    );
    direction || unseen || (c.is_control() && c != '\n' && c != '\t')
}

/// Returns the first line of `text`, with an ellipsis if there are more lines.
pub fn one_line(text: &str) -> Cow<'_, str> {
    match text.trim_end().split_once('\n') {
        None => escape_controls(text.trim_end()),
        Some((first, _)) => format!("{} …", escape_controls(first.trim_end())).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_controls_are_escaped() {
        assert_eq!(escape_controls("plain\n\ttext ü"), "plain\n\ttext ü");
        assert_eq!(
            escape_controls("\x1b[2Arm -rf ~\r ls"),
            "\\u{1b}[2Arm -rf ~\\r ls"
        );
        assert_eq!(escape_controls("a\u{202e}b"), "a\\u{202e}b");
        for unseen in [
            '\u{61c}',
            '\u{200b}',
            '\u{2028}',
            '\u{2060}',
            '\u{feff}',
            '\u{e0041}',
        ] {
            let shown = escape_controls(&unseen.to_string()).into_owned();
            assert_eq!(shown, unseen.escape_default().to_string());
        }
        let family = "\u{1f469}\u{200d}\u{1f467}";
        assert_eq!(escape_controls(family), family);
        assert_eq!(
            escape_controls("bell\u{7} csi\u{9b}"),
            "bell\\u{7} csi\\u{9b}"
        );
    }

    #[test]
    fn a_painter_without_colour_returns_plain_text() {
        let off = TextPainter { colour: false };
        assert_eq!(off.apply(PaintStyle::Red, "x"), "x");
        let on = TextPainter { colour: true };
        assert_eq!(on.apply(PaintStyle::Red, "x"), "\x1b[31mx\x1b[0m");
        assert_eq!(on.apply(PaintStyle::Plain, "x"), "x");
    }

    #[test]
    fn omitted_lines_are_marked() {
        assert_eq!(one_line("one\n"), "one");
        assert_eq!(one_line("one\ntwo"), "one …");
    }
}
