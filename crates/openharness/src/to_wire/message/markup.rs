//! Markdown without its markup, with a light hand: what may be meant literally stays as it is.

/// The text as it reads without a renderer. Code is kept letter by letter.
pub(super) fn stripped(text: &str) -> String {
    let mut lines = Vec::new();
    let mut fence: Option<&str> = None;
    for line in text.lines() {
        let bare = line.trim_start();
        match (fence, fence_of(bare)) {
            (None, Some(opened)) => fence = Some(opened),
            (Some(opened), Some(_)) if closes(bare, opened) => fence = None,
            (Some(_), _) => lines.push(line.to_owned()),
            (None, None) => lines.push(plain_line(line)),
        }
    }
    lines.join("\n").trim_matches('\n').to_owned()
}

/// The fence that a line begins with.
fn fence_of(line: &str) -> Option<&str> {
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let rest = line.trim_start_matches(mark);
    let fence = line.get(..line.len() - rest.len())?;
    (fence.len() >= 3 && !rest.contains('`')).then_some(fence)
}

fn closes(line: &str, opened: &str) -> bool {
    line.starts_with(opened) && line.trim_end().trim_matches(['`', '~']).is_empty()
}

fn plain_line(line: &str) -> String {
    let bare = line.trim_start();
    let indent = line.get(..line.len() - bare.len()).unwrap_or_default();
    if is_rule(bare) {
        return String::new();
    }
    let level = bare.bytes().take_while(|b| *b == b'#').count();
    let heading = bare.get(level..).and_then(|rest| rest.strip_prefix(' '));
    if let Some(heading) = heading.filter(|_| (1..=6).contains(&level)) {
        return spans(heading.trim_end().trim_end_matches('#').trim_end());
    }
    let item = bare.strip_prefix("* ").or_else(|| bare.strip_prefix("+ "));
    match item {
        Some(item) => format!("{indent}- {}", spans(item)),
        None => format!("{indent}{}", spans(bare)),
    }
}

fn is_rule(line: &str) -> bool {
    let line = line.trim_end();
    line.len() >= 3
        && ["*", "-", "_"]
            .iter()
            .any(|mark| line.replace(mark, "").is_empty())
}

/// A line's text without what marks a part of it. One that is very long is data, and looking for the other end
/// of every mark in it would take as long as it is long, each time.
fn spans(text: &str) -> String {
    const LONGEST: usize = 2048;
    if text.len() > LONGEST {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let taken = code(rest).or_else(|| link(rest)).or_else(|| strong(rest));
        match taken {
            Some((plain, after)) => {
                out.push_str(&plain);
                rest = after;
            }
            None => {
                out.push(c);
                rest = rest.get(c.len_utf8()..).unwrap_or_default();
            }
        }
    }
    out
}

type Taken<'a> = Option<(String, &'a str)>;

/// `code`: its inside, untouched.
fn code(text: &str) -> Taken<'_> {
    let rest = text.trim_start_matches('`');
    let ticks = text.get(..text.len() - rest.len())?;
    if ticks.is_empty() {
        return None;
    }
    let (inside, after) = rest.split_once(ticks)?;
    (!after.starts_with('`')).then(|| (inside.trim().to_owned(), after))
}

/// A link or a picture: its words, and where it leads if they do not say so.
fn link(text: &str) -> Taken<'_> {
    let rest = text.strip_prefix("![").or_else(|| text.strip_prefix('['))?;
    let (words, rest) = rest.split_once("](")?;
    let (target, after) = rest.split_once(')')?;
    if words.contains(['[', ']']) || target.contains(char::is_whitespace) || target.is_empty() {
        return None;
    }
    let words = spans(words);
    let plain = match words.trim() {
        "" => target.to_owned(),
        words if words == target => target.to_owned(),
        words => format!("{words} ({target})"),
    };
    Some((plain, after))
}

/// **Strong** text. Single stars and underscores stay: names and sums have them, too.
fn strong(text: &str) -> Taken<'_> {
    let rest = text.strip_prefix("**")?;
    let (inside, after) = rest.split_once("**")?;
    let tight = !inside.is_empty() && inside.trim() == inside;
    tight.then(|| (spans(inside), after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_marks_is_no_work() {
        for mark in ["[", "`", "**", "![", "``` "] {
            let data = format!("x{}", mark.repeat(500_000));
            assert_eq!(stripped(&data), data);
        }
    }

    #[test]
    fn what_marks_goes_and_what_is_meant_stays() {
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
            assert_eq!(stripped(text), expected, "{text:?}");
        }
    }
}
