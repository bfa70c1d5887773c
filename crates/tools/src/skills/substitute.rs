//! Fills in the placeholders of a skill's text in one pass: placeholders in inserted values stay.

use std::collections::BTreeMap;

/// The values of placeholders.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlaceholderValues<'v> {
    /// The text after the slash command, as typed.
    pub(super) arguments: &'v str,
    pub(super) skill_dir: Option<&'v str>,
    pub(super) session_id: &'v str,
    /// The values of all other names in braces.
    pub(super) environment: &'v BTreeMap<String, String>,
}

/// Fills in `$ARGUMENTS`, `$1`, `${HARN_SKILL_DIR}`, `${HARN_SESSION_ID}`, `${OTHER}` and `$$`. A placeholder without
/// a value stays as it is.
pub(super) fn substitute(text: &str, values: PlaceholderValues<'_>) -> String {
    let words = split_words(values.arguments);
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let (filled, len) = resolve_placeholder(rest, &words, values).unwrap_or(("$", 1));
        out.push_str(filled);
        rest = &rest[len..];
    }
    out.push_str(rest);
    out
}

/// Returns the value of the placeholder at the beginning of a text, and the length of the placeholder.
fn resolve_placeholder<'v>(
    text: &str,
    words: &'v [String],
    values: PlaceholderValues<'v>,
) -> Option<(&'v str, usize)> {
    let after = &text[1..];
    if after.starts_with('$') {
        return Some(("$", 2));
    }
    if let Some(inside) = after.strip_prefix('{') {
        let name = &inside[..inside.find('}')?];
        let value = match name {
            "HARN_SKILL_DIR" => values.skill_dir,
            "HARN_SESSION_ID" => Some(values.session_id),
            other => values.environment.get(other).map(String::as_str),
        };
        return Some((value?, name.len() + 3));
    }
    let in_name = |c: char| c.is_alphanumeric() || c == '_';
    const ARGUMENTS: &str = "ARGUMENTS";
    if let Some(next) = after.strip_prefix(ARGUMENTS)
        && !next.starts_with(in_name)
    {
        return Some((values.arguments, ARGUMENTS.len() + 1));
    }
    let digits = after.find(|c: char| !c.is_ascii_digit());
    let digits = &after[..digits.unwrap_or(after.len())];
    let nth: usize = digits.parse().ok()?;
    let word = words.get(nth.checked_sub(1)?)?;
    Some((word, digits.len() + 1))
}

/// Splits a line into words as a shell does, without any other expansion. An unclosed quote ends with the line.
fn split_words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            c if c.is_whitespace() => words.extend(word.take()),
            '\'' => {
                let word = word.get_or_insert_default();
                word.extend(chars.by_ref().take_while(|c| *c != '\''));
            }
            '"' => read_quoted(&mut chars, word.get_or_insert_default()),
            // A backslash at the end is literal.
            '\\' => word
                .get_or_insert_default()
                .push(chars.next().unwrap_or('\\')),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// Reads up to the closing double quote; a backslash escapes only a few characters there.
fn read_quoted(chars: &mut std::str::Chars<'_>, word: &mut String) {
    while let Some(c) = chars.next() {
        match c {
            '"' => return,
            '\\' => match chars.next() {
                Some(c @ ('"' | '\\' | '$' | '`')) => word.push(c),
                Some(c) => word.extend(['\\', c]),
                None => word.push('\\'),
            },
            c => word.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(text: &str, arguments: &str) -> String {
        let environment = [("EDITOR", "vi"), ("ODD", "$1 ${EDITOR}")];
        let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let values = PlaceholderValues {
            arguments,
            skill_dir: Some("/skills/deploy"),
            session_id: "s-1",
            environment: &environment.into(),
        };
        substitute(text, values)
    }

    #[test]
    fn placeholders_are_filled_in() {
        let arguments = r#"prod "two words" it\'s"#;
        let table = [
            ("all: $ARGUMENTS.", r#"all: prod "two words" it\'s."#),
            ("$1, $2, $3", "prod, two words, it's"),
            ("$4 and $0 stay", "$4 and $0 stay"),
            ("$1st", "prodst"),
            ("$10", "$10"),
            ("$ARGUMENTS_X $ARGUMENT", "$ARGUMENTS_X $ARGUMENT"),
            ("${HARN_SKILL_DIR}/run.sh", "/skills/deploy/run.sh"),
            ("in ${HARN_SESSION_ID}", "in s-1"),
            ("${EDITOR} ${NOBODY} ${", "vi ${NOBODY} ${"),
            ("${} $EDITOR $", "${} $EDITOR $"),
            ("costs $$1 or $$$1", "costs $1 or $prod"),
            ("${ODD}", "$1 ${EDITOR}"),
            ("größe $1 日本", "größe prod 日本"),
            ("$99999999999999999999999", "$99999999999999999999999"),
        ];
        for (text, expected) in table {
            assert_eq!(fill(text, arguments), expected, "{text}");
        }
        assert_eq!(fill("$ARGUMENTS|$1|", ""), "|$1|");
        assert_eq!(fill("$1 $ARGUMENTS", "$2 ${EDITOR}"), "$2 $2 ${EDITOR}");
    }

    #[test]
    fn arguments_are_split_like_in_a_shell() {
        let table: [(&str, &[&str]); 9] = [
            ("", &[]),
            ("  a\tb\n", &["a", "b"]),
            (r#"a"b c"'d e'f"#, &["ab cd ef"]),
            (r#""" ''"#, &["", ""]),
            (r#"a\ b \"c"#, &["a b", "\"c"]),
            (r#""a\n\"b\\""#, &["a\\n\"b\\"]),
            (r"'a\'", &["a\\"]),
            ("'open end", &["open end"]),
            ("end\\", &["end\\"]),
        ];
        for (line, expected) in table {
            assert_eq!(split_words(line), expected, "{line:?}");
        }
    }
}
