//! Formats small pieces of Markdown. Pure functions.

use std::{borrow::Cow, fmt::Write};

use harn_model::code_fence;

/// Formats a text as inline code, with any backticks in it; line breaks become spaces.
pub fn code(text: &str) -> String {
    let text = text.replace(['\n', '\r'], " ");
    let ticks = "`".repeat(longest_run(&text) + 1);
    // A space separates a backtick at either end from the marks; renderers drop it.
    let pad = if text.starts_with('`') || text.ends_with('`') {
        " "
    } else {
        ""
    };
    format!("{ticks}{pad}{text}{pad}{ticks}")
}

/// Formats a text as a code block, indented by `indent` spaces.
pub fn fence(language: &str, text: &str, indent: usize) -> String {
    let margin = " ".repeat(indent);
    let marks = code_fence(text);
    let mut out = format!("{margin}{marks}{language}\n");
    for line in text.lines() {
        let margin = if line.is_empty() { "" } else { &margin };
        // Writing into a string cannot fail.
        let _ = writeln!(out, "{margin}{line}");
    }
    out + &margin + &marks + "\n"
}

/// Joins items as "a", "a and b" or "a, b and c".
pub fn join_with_and<T: AsRef<str>>(items: &[T]) -> String {
    let items: Vec<&str> = items.iter().map(AsRef::as_ref).collect();
    match items.split_last() {
        None => String::new(),
        Some((last, [])) => (*last).to_owned(),
        Some((last, before)) => format!("{} and {last}", before.join(", ")),
    }
}

/// Cuts a text to at most `max` characters and a mark, between words where possible.
pub fn shorten(text: &str, max: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(max) else {
        return text.to_owned();
    };
    let cut = &text[..end];
    let cut = match cut.rsplit_once(' ') {
        Some((words, _)) if words.len() > end / 2 => words,
        _ => cut,
    };
    format!("{}…", cut.trim_end_matches([' ', ',', ';', ':']))
}

/// Cuts a line to at most `width` characters and a mark.
pub(crate) fn clip(line: &str, width: usize) -> Cow<'_, str> {
    match line.char_indices().nth(width) {
        Some((end, _)) => format!("{}…", &line[..end]).into(),
        None => line.into(),
    }
}

/// Cuts a text to at most `most` bytes and a mark.
pub(crate) fn cut(mut text: String, most: usize) -> String {
    if text.len() > most {
        let end = (0..=most).rev().find(|at| text.is_char_boundary(*at));
        text.truncate(end.unwrap_or_default());
        text.push('…');
    }
    text
}

/// Returns the language of a file for a code block.
pub fn language(path: &str) -> &'static str {
    let name = path.rsplit('/').next().unwrap_or(path);
    match name.rsplit_once('.').map_or(name, |(_, ending)| ending) {
        "rs" => "rust",
        "py" => "python",
        "js" | "mjs" | "cjs" | "jsx" => "javascript",
        "ts" | "mts" | "cts" => "typescript",
        "tsx" => "tsx",
        "go" => "go",
        "java" => "java",
        "kt" => "kotlin",
        "swift" => "swift",
        "c" | "h" => "c",
        "cc" | "cpp" | "cxx" | "hh" | "hpp" => "cpp",
        "cs" => "csharp",
        "rb" => "ruby",
        "php" => "php",
        "sh" | "bash" | "zsh" => "sh",
        "sql" => "sql",
        "html" => "html",
        "css" => "css",
        "json" | "jsonl" => "json",
        "yaml" | "yml" => "yaml",
        "toml" => "toml",
        "md" | "markdown" => "markdown",
        _ => "",
    }
}

fn longest_run(text: &str) -> usize {
    let runs = text.split(|c| c != '`').map(str::len);
    runs.max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backticks_do_not_break_out() {
        assert_eq!(code("a.rs:3"), "`a.rs:3`");
        assert_eq!(code("echo `date`"), "`` echo `date` ``");
        assert_eq!(code("a\nb"), "`a b`");
        assert_eq!(
            fence("rust", "let x;\n\ny", 3),
            "   ```rust\n   let x;\n\n   y\n   ```\n"
        );
        assert_eq!(fence("", "```\nx\n```", 0), "````\n```\nx\n```\n````\n");
    }

    #[test]
    fn lists_are_joined_and_long_texts_shortened() {
        assert_eq!(join_with_and::<&str>(&[]), "");
        assert_eq!(join_with_and(&["a"]), "a");
        assert_eq!(join_with_and(&["a", "b", "c"]), "a, b and c");
        assert_eq!(shorten("one two three", 13), "one two three");
        assert_eq!(shorten("one two, three", 10), "one two…");
        assert_eq!(shorten("ööööö", 3), "ööö…");
    }

    #[test]
    fn language_follows_the_file_extension() {
        assert_eq!(language("src/lib.rs"), "rust");
        assert_eq!(language("a.b/Makefile"), "");
        assert_eq!(language("x.unknown"), "");
    }
}
