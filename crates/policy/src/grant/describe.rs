//! Describes grants and commands in a line for a person. A shortened text is marked as such and keeps its
//! end, where a danger may hide.

use harn_model::{Grant, GrantSubject};

use crate::invisible_chars::is_unseen;

/// The number of characters that fit in a label.
const FITS: usize = 60;

/// Describes the subject of a grant in one line, short enough for a label.
pub fn describe(grant: &Grant) -> String {
    let (text, mark) = full_description(grant);
    shorten_to_label(&text, mark)
}

/// Describes the whole subject of a grant in one line of any length.
pub fn describe_whole(grant: &Grant) -> String {
    let (text, mark) = full_description(grant);
    format!("{mark}{text}{mark}")
}

/// Returns the subject of a grant as text, and the mark around it.
fn full_description(grant: &Grant) -> (String, &'static str) {
    match &grant.subject {
        GrantSubject::Argv(argv) => (quote_words(argv), "`"),
        GrantSubject::Line(line) => (visible_line(line), "`"),
        GrantSubject::Paths(paths) => (
            format!("{} {}", visible_line(&grant.tool), quote_words(paths)),
            "",
        ),
        GrantSubject::Arguments(arguments) => {
            let arguments = visible_line(&arguments.to_string());
            (format!("{} {arguments}", visible_line(&grant.tool)), "")
        }
    }
}

/// Quotes words as a person types them in a shell, without ambiguity: nothing in a word ends it, moves a
/// cursor, or hides or reorders text.
pub fn quote_words(argv: &[String]) -> String {
    // Long lines have hundreds of commands: no allocation for each word.
    let room = argv.iter().map(|word| word.len() + 3).sum();
    let mut shown = String::with_capacity(room);
    for (at, word) in argv.iter().enumerate() {
        if at > 0 {
            shown.push(' ');
        }
        show_word(word, at == 0, &mut shown);
    }
    shown
}

fn show_word(text: &str, first: bool, shown: &mut String) {
    let bare = |c: u8| {
        c.is_ascii_alphanumeric()
            || matches!(
                c,
                b'-' | b'_' | b'.' | b'/' | b':' | b'@' | b'%' | b'+' | b','
            )
            // Before a program it would look like an assignment.
            || (c == b'=' && !first)
    };
    if !text.is_empty() && text.bytes().all(bare) {
        return shown.push_str(text);
    }
    if text.bytes().all(|c| (b' '..=b'~').contains(&c)) || visible_line(text) == text {
        shown.push('\'');
        shown.push_str(&text.replace('\'', r"'\''"));
    } else {
        // A shell reads escapes in these quotes, so that `\n` is not taken for two letters.
        shown.push_str("$'");
        shown.push_str(&visible_line(
            &text.replace('\\', r"\\").replace('\'', r"\'"),
        ));
    }
    shown.push('\'');
}

/// Returns a text in one line without anything that moves a cursor, or hides or reorders text.
pub fn visible_line(text: &str) -> String {
    visible_lines(text)
        .replace('\n', "\\n")
        .replace('\t', "\\t")
}

/// Returns a text like [`visible_line`], but keeps line breaks and tabs.
pub fn visible_lines(text: &str) -> String {
    let mut visible = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => visible.push(c),
            c if is_unseen(c) => visible.extend(c.escape_unicode()),
            c => visible.push(c),
        }
    }
    visible
}

/// Returns the text between two marks; if it is too long, only its beginning, its end and its length.
fn shorten_to_label(text: &str, mark: &str) -> String {
    let long = text.chars().count();
    if long <= FITS {
        return format!("{mark}{text}{mark}");
    }
    let half = FITS / 2 - 1;
    let cuts = cut_positions(text);
    let start = cuts.iter().rev().find(|(_, before)| *before <= half);
    let end = cuts.iter().find(|(_, before)| long - before <= half);
    let start = start.map_or("", |(at, _)| &text[..*at]);
    let end = end.map_or("", |(at, _)| &text[*at..]);
    format!("{mark}{start} … {end}{mark} ({long} characters)")
}

/// Returns the positions where a text may be cut, each with the number of characters before it. An escape of one
/// character, such as `\n` or `\u{200b}`, is not cut.
fn cut_positions(text: &str) -> Vec<(usize, usize)> {
    let mut cuts = Vec::new();
    let mut chars = text.char_indices().enumerate();
    while let Some((before, (at, c))) = chars.next() {
        cuts.push((at, before));
        if c == '\\'
            && let Some((_, (_, 'u'))) = chars.next()
            && text[at..].starts_with("\\u{")
        {
            chars.find(|(_, (_, c))| *c == '}');
        }
    }
    cuts.push((text.len(), text.chars().count()));
    cuts
}
