//! The agent's messages in the style of a Shell: Markdown, plain text, or a few short lines.

mod markup;

use std::borrow::Cow;

use harn_model::visible_text;

use crate::{
    report::RunReport,
    request::{ShellProfile, TextStyle},
    wire::directive::{MessagePayload, TextFormat},
};

/// The limits of a short message, in lines and in characters.
const SHORT_LINES: usize = 3;
const SHORT_LETTERS: usize = 160;

/// Returns the agent's messages as one; none if there is no text.
pub(super) fn message_payload<'a>(
    shell: &ShellProfile,
    told: &RunReport,
) -> Option<MessagePayload<'a>> {
    let said = told.messages.iter().map(|text| visible_text(text));
    let said: Vec<_> = said.filter(|text| !text.trim().is_empty()).collect();
    let (text, format) = match shell.manner {
        TextStyle::Markdown => (join_messages(shell, told, &said), TextFormat::Markdown),
        TextStyle::Plain => (
            markup::strip_markup(&join_messages(shell, told, &said)),
            TextFormat::Text,
        ),
        // Only the last message has the result; earlier ones are about the course of the run.
        TextStyle::Short => {
            let last = said.last().map(|text| markup::strip_markup(text));
            (shorten(&last.unwrap_or_default()), TextFormat::Text)
        }
    };
    let text: Cow<'_, str> = text.into();
    (!text.is_empty()).then(|| MessagePayload {
        message: text.clone(),
        text,
        format,
    })
}

/// Returns text of any length and content as one short line.
pub(super) fn to_short_line(words: &str) -> String {
    const LONGEST: usize = 500;
    let words = visible_text(words);
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    match words.char_indices().nth(LONGEST) {
        None => words,
        Some((cut, _)) => format!("{} …", words.get(..cut).unwrap_or_default().trim_end()),
    }
}

/// Joins all messages; without cards, adds the fallback text of each artifact.
fn join_messages(shell: &ShellProfile, told: &RunReport, said: &[Cow<'_, str>]) -> String {
    let made = told
        .artifacts
        .iter()
        .map(|artifact| visible_text(&artifact.fallback));
    let made = made.filter(|text| !shell.cards && !text.trim().is_empty());
    let parts: Vec<_> = said.iter().cloned().chain(made).collect();
    parts.join("\n\n")
}

/// Returns the first few lines that are not blank, cut at the end of a word.
fn shorten(text: &str) -> String {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let few: Vec<_> = lines.by_ref().take(SHORT_LINES).collect();
    let more = lines.next().is_some();
    let few = few.join("\n");
    let Some((cut, _)) = few.char_indices().nth(SHORT_LETTERS) else {
        return if more { format!("{few} …") } else { few };
    };
    let (kept, rest) = few.split_at(cut);
    let in_word = !rest.starts_with(char::is_whitespace);
    let word_end = kept.rfind(char::is_whitespace).filter(|_| in_word);
    // Do not cut off a word of half the length: scripts without spaces are cut between characters.
    let kept = match word_end {
        Some(end) if end >= cut / 2 => kept.get(..end).unwrap_or(kept),
        _ => kept,
    };
    format!("{} …", kept.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_texts_stay_and_long_ones_end_with_a_word() {
        assert_eq!(shorten(""), "");
        assert_eq!(shorten("Done.\n\nAll well.\n"), "Done.\nAll well.");
        assert_eq!(shorten("a\nb\nc\n\nd"), "a\nb\nc …");
        let words = "word ".repeat(100);
        let short = shorten(&words);
        assert!(short.ends_with("word …"), "{short}");
        assert!(short.chars().count() <= SHORT_LETTERS + 2);
    }

    #[test]
    fn characters_of_any_width_stay_whole() {
        for letter in ["語", "é", "👩‍🔧", "ب"] {
            let short = shorten(&letter.repeat(400));
            assert!(short.ends_with(" …"), "{short}");
            assert!(short.chars().count() <= SHORT_LETTERS + 2);
        }
        let exact = "x".repeat(SHORT_LETTERS);
        assert_eq!(shorten(&exact), exact);
    }
}
