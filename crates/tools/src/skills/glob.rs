//! Globs over paths as skills write them: `*` within a name, `**` across folders, `**/` also for none, `?` for
//! one character of a name. Everything else means itself. Looks at no disk.

/// Whether a glob matches a path with `/` between its parts. Takes time in proportion to both lengths, whatever
/// the glob says.
pub(super) fn matches(glob: &str, path: &str) -> bool {
    let tokens = tokens(glob.trim_start_matches("./"));
    // `reached[i]`: the first `i` tokens can match what was read so far.
    let mut reached = vec![false; tokens.len() + 1];
    reached[0] = true;
    pass_over(&tokens, &mut reached);
    for c in path.trim_start_matches("./").chars() {
        let mut next = vec![false; tokens.len() + 1];
        for (at, token) in tokens.iter().enumerate().filter(|(at, _)| reached[*at]) {
            match token {
                Token::Is(own) => next[at + 1] |= *own == c,
                Token::One => next[at + 1] |= c != '/',
                Token::Name => next[at] |= c != '/',
                Token::Any => next[at] = true,
                Token::Perhaps => {}
            }
        }
        pass_over(&tokens, &mut next);
        reached = next;
    }
    reached[tokens.len()]
}

enum Token {
    Is(char),
    One,
    /// Any part of a name.
    Name,
    /// Anything.
    Any,
    /// The next two tokens, or neither.
    Perhaps,
}

fn tokens(glob: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = glob;
    while let Some(c) = rest.chars().next() {
        let len = if rest.starts_with("**/") {
            tokens.extend([Token::Perhaps, Token::Any, Token::Is('/')]);
            3
        } else if rest.starts_with("**") {
            tokens.push(Token::Any);
            2
        } else {
            tokens.push(match c {
                '*' => Token::Name,
                '?' => Token::One,
                c => Token::Is(c),
            });
            c.len_utf8()
        };
        rest = &rest[len..];
    }
    tokens
}

/// Passes over what may match nothing.
fn pass_over(tokens: &[Token], reached: &mut [bool]) {
    for (at, token) in tokens.iter().enumerate() {
        if !reached[at] {
            continue;
        }
        match token {
            Token::Is(_) | Token::One => {}
            Token::Name | Token::Any => reached[at + 1] = true,
            Token::Perhaps => {
                reached[at + 1] = true;
                reached[at + 3] = true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_matches() {
        let table = [
            ("infra/**", "infra/terraform/cluster.tf", true),
            ("infra/**", "infra/a", true),
            ("infra/**", "infra", false),
            ("infra/**", "src/infra/a", false),
            ("*.rs", "a.rs", true),
            ("*.rs", "src/a.rs", false),
            ("**.rs", "src/a.rs", true),
            ("**/*.rs", "a.rs", true),
            ("**/*.rs", "src/deep/a.rs", true),
            ("src/**/a.rs", "src/a.rs", true),
            ("src/**/a.rs", "src/x/y/a.rs", true),
            ("src/**/a.rs", "src/xa.rs", false),
            ("src/?.rs", "src/a.rs", true),
            ("src/?.rs", "src/.rs", false),
            ("src?a.rs", "src/a.rs", false),
            ("Dockerfile", "Dockerfile", true),
            ("Dockerfile", "x/Dockerfile", false),
            ("./a/*", "a/b", true),
            ("a/[b]", "a/[b]", true),
            ("a/[b]", "a/b", false),
            ("größe/?", "größe/ü", true),
            ("**", "any/thing", true),
            ("", "", true),
            ("", "a", false),
        ];
        for (glob, path, expected) in table {
            assert_eq!(matches(glob, path), expected, "{glob} on {path}");
        }
    }

    #[test]
    fn no_glob_takes_for_ever() {
        let glob = "**/*a".repeat(200);
        assert!(!matches(&glob, &"a/".repeat(2_000)));
    }
}
