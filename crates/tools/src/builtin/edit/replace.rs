//! Replaces an exact match of one text by another. Pure.

/// The most line numbers in the error for several matches.
const NAMED: usize = 5;

/// Replaces `old` by `new`. `old` must occur once, or at least once if `all` is set.
pub(super) fn replace(text: &str, old: &str, new: &str, all: bool) -> Result<String, String> {
    if old.is_empty() {
        return Err("`old_text` is empty; give the text to replace".to_owned());
    }
    let at: Vec<usize> = text.match_indices(old).map(|(at, _)| at).collect();
    match at[..] {
        [] => Err(not_found_error(text, old)),
        [_] => Ok(text.replacen(old, new, 1)),
        [..] if all => Ok(text.replace(old, new)),
        [..] => {
            let lines = at.iter().take(NAMED);
            let lines = lines.map(|at| (text[..*at].matches('\n').count() + 1).to_string());
            let lines = lines.collect::<Vec<_>>().join(", ");
            let more = if at.len() > NAMED { " and more" } else { "" };
            Err(format!(
                "`old_text` occurs {} times, at lines {lines}{more}; include more of the text around \
                 it, or set `replace_all`",
                at.len()
            ))
        }
    }
}

/// Creates the error for a text that does not occur, with a hint about a similar one.
fn not_found_error(text: &str, old: &str) -> String {
    let plain = |text: &str| text.replace("\r\n", "\n");
    if plain(text).contains(&plain(old)) {
        return "`old_text` occurs with other line ends; the file's lines end with CR LF, or with a mix"
            .to_owned();
    }
    let first = old.lines().map(str::trim).find(|line| !line.is_empty());
    let near = first.and_then(|first| {
        let mut lines = text.lines().zip(1..);
        lines.find(|(line, _)| line.trim() == first)
    });
    match near {
        Some((_, line)) => format!(
            "`old_text` was not found; line {line} matches its first line, so compare the spaces and \
             the lines that follow"
        ),
        None => "`old_text` was not found; read the file again".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(text: &str, old: &str, new: &str, all: bool, expected: &Expect) {
        let told = match replace(text, old, new, all) {
            Ok(text) => format!("{text:?}"),
            Err(problem) => problem,
        };
        expected.assert_eq(&told);
    }

    #[test]
    fn a_single_match_is_replaced() {
        check("a b c", "b", "x", false, &expect![[r#""a x c""#]]);
        check("a b c", "b ", "", false, &expect![[r#""a c""#]]);
        check("aaa", "aa", "b", false, &expect![[r#""ba""#]]);
        check("ö→b", "→", "↔", false, &expect![[r#""ö↔b""#]]);
        check("a.b", ".", "$0", false, &expect![[r#""a$0b""#]]);
        check("x", "x", "", false, &expect![[r#""""#]]);
    }

    #[test]
    fn several_matches_need_replace_all() {
        check("a\nb\na\n", "a", "x", true, &expect![[r#""x\nb\nx\n""#]]);
        check(
            "a\nb\na\n",
            "a",
            "x",
            false,
            &expect![
                "`old_text` occurs 2 times, at lines 1, 3; include more of the text around it, or set `replace_all`"
            ],
        );
        check(
            &"a\n".repeat(7),
            "a",
            "x",
            false,
            &expect![
                "`old_text` occurs 7 times, at lines 1, 2, 3, 4, 5 and more; include more of the text around it, or set `replace_all`"
            ],
        );
    }

    #[test]
    fn an_error_hints_at_a_similar_text() {
        check(
            "a\n",
            "b",
            "x",
            false,
            &expect!["`old_text` was not found; read the file again"],
        );
        check(
            "a\n",
            "b",
            "x",
            true,
            &expect!["`old_text` was not found; read the file again"],
        );
        check(
            "a\n",
            "",
            "x",
            false,
            &expect!["`old_text` is empty; give the text to replace"],
        );
        check(
            "fn a() {\n    b();\n}\n",
            "fn a() {\n  b();",
            "x",
            false,
            &expect![
                "`old_text` was not found; line 1 matches its first line, so compare the spaces and the lines that follow"
            ],
        );
        check(
            "a\r\nb\r\n",
            "a\nb",
            "x",
            false,
            &expect![
                "`old_text` occurs with other line ends; the file's lines end with CR LF, or with a mix"
            ],
        );
    }
}
