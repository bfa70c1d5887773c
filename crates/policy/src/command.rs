//! Patterns for commands, word by word. An allow pattern must account for every word; an ask or deny pattern
//! needs only its own words in order, with any words between them and any spelling of the program.

use std::path::Path;

use globset::GlobMatcher;

use crate::{
    PolicyError, command_paths,
    pattern::{compile_glob, has_meta},
    shell::SimpleCommand,
};

/// A pattern with more words is a script.
const MOST_WORDS: usize = 64;
/// The longest accepted pattern, in bytes.
const LONGEST: usize = 1024;

/// A pattern for one simple command.
#[derive(Debug)]
pub(crate) struct CommandPattern {
    words: Vec<WordPattern>,
    /// Whether a last `*` matches any further words.
    open: bool,
}

#[derive(Debug)]
enum WordPattern {
    Plain(String),
    Glob(GlobMatcher),
}

/// How strictly words are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MatchStrictness {
    /// For allow rules: every word, as it is.
    Whole,
    /// For ask and deny rules: these words among others, the program in any spelling.
    Wide,
}

impl CommandPattern {
    pub(crate) fn read(pattern: &str, reading: MatchStrictness) -> Result<Self, PolicyError> {
        let bad = |message: String| PolicyError::Pattern {
            pattern: pattern.chars().take(80).collect(),
            message,
        };
        if pattern.len() > LONGEST {
            return Err(bad(format!("it is longer than {LONGEST} bytes")));
        }
        let mut words = split_words(pattern).map_err(bad)?;
        if words.len() > MOST_WORDS {
            return Err(bad(format!("it has more than {MOST_WORDS} words")));
        }
        let open = words
            .last()
            .is_some_and(|last| last.wild && last.plain == "*");
        if open {
            words.pop();
        } else if words.is_empty() {
            let message = "it is empty; `*` matches every command";
            return Err(bad(message.to_owned()));
        }
        let words = words.iter().enumerate();
        let words = words.map(|(at, word)| WordPattern::read(word, reading, at == 0));
        Ok(Self {
            words: words.collect::<Result<_, _>>()?,
            open,
        })
    }

    pub(crate) fn matches(&self, command: &SimpleCommand, reading: MatchStrictness) -> bool {
        let argv = &command.argv;
        match reading {
            MatchStrictness::Whole if command.exec_capable.is_some() && !self.is_plain() => false,
            MatchStrictness::Whole => {
                let rest = argv.get(self.words.len()..);
                rest.is_some_and(|rest| rest.is_empty() || (self.open && stay_inside(rest)))
                    && self
                        .words
                        .iter()
                        .zip(argv)
                        .all(|(word, text)| word.matches_exactly(text))
            }
            MatchStrictness::Wide => self.is_subsequence_of(argv),
        }
    }

    /// Whether its words occur in a command in this order, the program first. Other words may be between them:
    /// only the program knows which are options, and which options have values.
    fn is_subsequence_of(&self, argv: &[String]) -> bool {
        let Some((program, words)) = self.words.split_first() else {
            return true;
        };
        let Some((first, rest)) = argv.split_first() else {
            return false;
        };
        let mut rest = rest.iter();
        program.matches_program(first)
            && words
                .iter()
                .all(|word| rest.any(|text| word.may_match(text)))
    }

    /// Whether it may match a command of this program.
    pub(crate) fn may_begin(&self, program: &str, reading: MatchStrictness) -> bool {
        self.words.first().is_none_or(|word| match reading {
            MatchStrictness::Whole => word.matches_exactly(program),
            MatchStrictness::Wide => word.matches_program(program),
        })
    }

    /// Whether it spells every word, so that it matches one command only.
    pub(crate) fn is_plain(&self) -> bool {
        !self.open
            && self
                .words
                .iter()
                .all(|word| matches!(word, WordPattern::Plain(_)))
    }
}

/// Whether words that no pattern spells all stay below the directory in which a command runs: the author of
/// `cp *` has this project in mind.
pub(crate) fn stay_inside(words: &[String]) -> bool {
    !words.iter().any(|word| command_paths::leads_out(word))
}

/// A pattern for the program of a command.
#[derive(Debug)]
pub(crate) struct ProgramPattern(WordPattern);

impl ProgramPattern {
    pub(crate) fn read(pattern: &str, reading: MatchStrictness) -> Result<Self, PolicyError> {
        if pattern.is_empty() || pattern.len() > LONGEST {
            return Err(PolicyError::Pattern {
                pattern: pattern.chars().take(80).collect(),
                message: "the name of a program is expected".to_owned(),
            });
        }
        let piece = UncompiledWord {
            plain: pattern.to_owned(),
            glob: pattern.to_owned(),
            wild: has_meta(pattern),
        };
        WordPattern::read(&piece, reading, true).map(Self)
    }

    pub(crate) fn matches(&self, command: &SimpleCommand, reading: MatchStrictness) -> bool {
        let Some(program) = command.argv.first() else {
            return false;
        };
        match reading {
            // A name does not restrict the arguments, and those are what such a command runs.
            MatchStrictness::Whole => {
                command.exec_capable.is_none() && self.0.matches_exactly(program)
            }
            MatchStrictness::Wide => self.0.matches_program(program),
        }
    }
}

impl WordPattern {
    fn read(
        piece: &UncompiledWord,
        reading: MatchStrictness,
        program: bool,
    ) -> Result<Self, PolicyError> {
        if !piece.wild {
            return Ok(Self::Plain(piece.plain.clone()));
        }
        let wide = reading == MatchStrictness::Wide;
        let glob = compile_glob(&piece.glob, !wide, wide && program)?;
        Ok(Self::Glob(glob.compile_matcher()))
    }

    /// Whether it matches exactly this word. A wildcard never matches a path out of a directory.
    fn matches_exactly(&self, text: &str) -> bool {
        match self {
            Self::Plain(plain) => plain == text,
            Self::Glob(glob) => {
                let begins_wild = glob.glob().glob().starts_with(['*', '?']);
                let elsewhere = begins_wild && text.starts_with(['/', '~']);
                let climbs = || text.split('/').any(|part| part == "..");
                !elsewhere && !climbs() && glob.is_match(Path::new(text))
            }
        }
    }

    fn may_match(&self, text: &str) -> bool {
        match self {
            Self::Plain(plain) => plain == text,
            Self::Glob(glob) => glob.is_match(Path::new(text)),
        }
    }

    /// Whether it may match this program: as written, or by its last part, in any case.
    fn matches_program(&self, text: &str) -> bool {
        let last = text.rsplit(['/', '\\']).next().unwrap_or(text);
        match self {
            Self::Plain(plain) => {
                plain.eq_ignore_ascii_case(text) || plain.eq_ignore_ascii_case(last)
            }
            Self::Glob(glob) => [text, last]
                .iter()
                .any(|name| glob.is_match(Path::new(name))),
        }
    }
}

/// A word of a pattern, before it is compiled.
#[derive(Default)]
struct UncompiledWord {
    plain: String,
    glob: String,
    wild: bool,
}

/// Splits a pattern into words at white space. As in a shell, quotes keep a word together and make its
/// wildcards literal.
fn split_words(pattern: &str) -> Result<Vec<UncompiledWord>, String> {
    let mut pieces = Vec::new();
    let mut piece: Option<UncompiledWord> = None;
    let mut chars = pattern.chars();
    while let Some(next) = chars.next() {
        match next {
            '\'' | '"' => {
                let rest = chars.as_str();
                let Some(end) = rest.find(next) else {
                    return Err(format!("a {next} is not closed"));
                };
                let piece = piece.get_or_insert_default();
                let quoted = &rest[..end];
                piece.plain.push_str(quoted);
                piece
                    .glob
                    .push_str(&globset::escape(&quoted.replace('\\', "\\\\")));
                chars = rest[end + 1..].chars();
            }
            white if white.is_whitespace() => pieces.extend(piece.take()),
            other => {
                let piece = piece.get_or_insert_default();
                piece.plain.push(other);
                piece.glob.push(other);
                piece.wild |= has_meta(other.encode_utf8(&mut [0; 4]));
            }
        }
    }
    pieces.extend(piece);
    Ok(pieces)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn simple_command(argv: &[&str], exec_capable: bool) -> SimpleCommand {
        SimpleCommand {
            argv: argv.iter().map(|&word| word.to_owned()).collect(),
            exec_capable: exec_capable.then(|| "-exec".to_owned()),
        }
    }

    #[test]
    fn allow_pattern_accounts_for_every_word() {
        let table: &[(&str, &[&str], bool)] = &[
            ("cargo test", &["cargo", "test"], true),
            ("cargo test", &["cargo", "test", "x"], false),
            ("cargo test", &["cargo"], false),
            ("cargo test *", &["cargo", "test"], true),
            ("cargo test *", &["cargo", "test", "a", "b"], true),
            ("cargo test *", &["cargo", "run"], false),
            ("cargo * --locked", &["cargo", "test", "--locked"], true),
            ("cargo * --locked", &["cargo", "--locked"], false),
            ("cargo", &["/tmp/cargo"], false),
            ("cargo", &["Cargo"], false),
            ("cat src/*", &["cat", "src/a.rs"], true),
            ("cat src/*", &["cat", "src/a/b.rs"], false),
            ("cat src/**", &["cat", "src/a/b.rs"], true),
            ("cat src/**", &["cat", "src/../secret"], false),
            ("grep 'a b'", &["grep", "a b"], true),
            ("grep \"*\"", &["grep", "*"], true),
            ("grep \"*\"", &["grep", "x"], false),
            ("grep '*'", &["grep", "a", "b"], false),
            (r"grep '\d'*", &["grep", r"\d+"], true),
            ("*", &["anything", "goes"], true),
            ("cat *", &["cat", "/etc/hostname"], false),
            ("cat *", &["cat", "a", "~/x"], false),
            ("cat *", &["cat", "src/../../x"], false),
            ("cat *", &["cat", "--x=/etc"], false),
            ("cat *", &["cat", "--x=../x"], false),
            ("cat /etc/*", &["cat", "/etc/hostname"], true),
            ("cat /etc/hostname *", &["cat", "/etc/hostname"], true),
            ("cat /etc/hostname *", &["cat", "/etc/hostname", "a"], true),
            (
                "cat /etc/hostname *",
                &["cat", "/etc/hostname", "/x"],
                false,
            ),
            ("cat **", &["cat", "/etc/hostname"], false),
            ("cat **", &["cat", "~"], false),
            ("cat ** a", &["cat", "b/c", "a"], true),
            ("*", &["/tmp/x"], false),
        ];
        for (pattern, argv, expected) in table {
            let command = CommandPattern::read(pattern, MatchStrictness::Whole).unwrap();
            let matches = command.matches(&simple_command(argv, false), MatchStrictness::Whole);
            assert_eq!(matches, *expected, "{pattern} on {argv:?}");
        }
    }

    #[test]
    fn exec_capable_command_needs_a_pattern_without_wildcards() {
        let find = simple_command(&["find", ".", "-exec", "rm", "{}", ";"], true);
        for pattern in [
            "find *",
            "*",
            "find . -exec rm * ;",
            "find . -exec r? '{}' ;",
        ] {
            let command = CommandPattern::read(pattern, MatchStrictness::Whole).unwrap();
            assert!(!command.matches(&find, MatchStrictness::Whole), "{pattern}");
        }
        let shown =
            CommandPattern::read("find . -exec rm '{}' ';'", MatchStrictness::Whole).unwrap();
        assert!(shown.matches(&find, MatchStrictness::Whole));
        let name = ProgramPattern::read("find", MatchStrictness::Whole).unwrap();
        assert!(!name.matches(&find, MatchStrictness::Whole));
    }

    #[test]
    fn deny_pattern_matches_its_words_in_order() {
        let table: &[(&str, &[&str], bool)] = &[
            ("rm", &["rm", "-rf", "/"], true),
            ("rm", &["/bin/rm"], true),
            ("rm", &["RM", "x"], true),
            ("rm", &["rmdir"], false),
            ("rm*", &["/bin/RMDIR"], true),
            ("git push", &["git", "push", "--force"], true),
            ("git push", &["git", "Push"], false),
            ("git push", &["git"], false),
            ("git push", &["git", "--no-pager", "push"], true),
            ("git push", &["git", "-P", "push"], true),
            ("git push", &["git", "-C", ".", "push"], true),
            ("git push", &["git", "-c", "a=b", "push", "x"], true),
            ("cargo publish", &["cargo", "-q", "publish"], true),
            ("cargo publish", &["cargo", "+stable", "publish"], true),
            (
                "git push --force",
                &["git", "push", "origin", "--force"],
                true,
            ),
            ("git push --force", &["git", "--force", "push"], false),
            ("git push push", &["git", "push"], false),
            ("rm -r", &["sudo", "rm", "-r"], false),
            ("git push *", &["git", "push"], true),
            ("curl http*", &["curl", "http://a/b"], true),
            ("/bin/rm", &["/bin/rm"], true),
            ("*", &["x"], true),
        ];
        for (pattern, argv, expected) in table {
            let command = CommandPattern::read(pattern, MatchStrictness::Wide).unwrap();
            let matches = command.matches(&simple_command(argv, true), MatchStrictness::Wide);
            assert_eq!(matches, *expected, "{pattern} on {argv:?}");
        }
    }

    #[test]
    fn invalid_pattern_is_rejected_with_the_reason() {
        let long = "x".repeat(LONGEST + 1);
        let many = "x ".repeat(MOST_WORDS + 1);
        let table = [
            ("", "is empty"),
            ("grep 'a", "not closed"),
            (&*long, "longer than"),
            (&*many, "more than 64 words"),
            ("rm [a", "[[]"),
        ];
        for (pattern, expected) in table {
            let error = CommandPattern::read(pattern, MatchStrictness::Wide).unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
        }
    }
}
