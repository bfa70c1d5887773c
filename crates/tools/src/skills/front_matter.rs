//! Splits the file of a skill into front matter and text, without parsing either.

/// The two parts of a skill's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SkillFileParts<'t> {
    /// The front matter without its fences, and the number of lines before it.
    pub(super) front: Option<(&'t str, usize)>,
    pub(super) body: &'t str,
}

const FENCE: &str = "---";

/// Splits a file. Without a closing fence there is no front matter: the whole file is text.
pub(super) fn split(text: &str) -> SkillFileParts<'_> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let whole = SkillFileParts {
        front: None,
        body: text,
    };
    let mut rest = text;
    let mut lines = 0;
    let mut begin = None;
    while !rest.is_empty() {
        let end = rest.find('\n').map_or(rest.len(), |at| at + 1);
        let (line, after) = rest.split_at(end);
        lines += 1;
        let fence = line.trim_end() == FENCE;
        match begin {
            None if fence => begin = Some((after, lines)),
            None if line.trim().is_empty() => {}
            None => return whole,
            Some((from, before)) if fence => {
                let front = &from[..from.len() - rest.len()];
                return SkillFileParts {
                    front: Some((front, before)),
                    body: after,
                };
            }
            Some(_) => {}
        }
        rest = after;
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_split_into_front_matter_and_body() {
        let table = [
            ("---\na: 1\n---\nbody\n", Some(("a: 1\n", 1)), "body\n"),
            (
                "\n  \n---\na: 1\nb: 2\n---\n",
                Some(("a: 1\nb: 2\n", 3)),
                "",
            ),
            (
                "\u{feff}---\r\na: 1\r\n---\r\nbody",
                Some(("a: 1\r\n", 1)),
                "body",
            ),
            ("---  \na: 1\n--- \n\nbody", Some(("a: 1\n", 1)), "\nbody"),
            ("---\n---\nbody", Some(("", 1)), "body"),
            ("---\na: 1\n---", Some(("a: 1\n", 1)), ""),
            ("---\na: 1\nbody\n", None, "---\na: 1\nbody\n"),
            ("body\n---\na: 1\n---\n", None, "body\n---\na: 1\n---\n"),
            ("----\na\n---\n", None, "----\na\n---\n"),
            ("", None, ""),
            ("\u{feff}text", None, "text"),
        ];
        for (text, front, body) in table {
            assert_eq!(split(text), SkillFileParts { front, body }, "{text:?}");
        }
    }
}
