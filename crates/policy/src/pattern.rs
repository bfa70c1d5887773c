//! Patterns for names and paths. `*` alone, `x*`, `*x`, `src/**` and plain text mean what the contract says;
//! everything else is a glob. All of them tell small from capital letters.

use std::{borrow::Cow, path::Path};

use globset::{Candidate, Glob, GlobBuilder, GlobMatcher, GlobSet, GlobSetBuilder};
use harn_model::WorkspacePathInfo;

use crate::{PolicyError, path::as_worded};

/// Longer patterns are refused: nobody reads them, and each is compiled.
const LONGEST: usize = 512;
/// What has a meaning of its own in a glob.
const META: [char; 7] = ['*', '?', '[', ']', '{', '}', '\\'];

/// What a pattern asks of a text.
#[derive(Debug)]
enum Form<G> {
    All,
    Exact(String),
    Prefix(String),
    Suffix(String),
    Glob(G),
}

impl<G> Form<G> {
    /// Reads a pattern; `glob` makes what is none of the contract's forms.
    fn read(
        pattern: &str,
        glob: impl FnOnce(&str) -> Result<G, PolicyError>,
    ) -> Result<Self, PolicyError> {
        if pattern.is_empty() {
            return Err(bad(pattern, "it is empty; `*` matches everything"));
        }
        if pattern.len() > LONGEST {
            let start: String = pattern.chars().take(40).collect();
            let message = format!("it is longer than {LONGEST} bytes");
            return Err(bad(&format!("{start}…"), &message));
        }
        let plain = |text: &str| !text.contains(META);
        if plain(pattern) {
            return Ok(Self::Exact(pattern.to_owned()));
        }
        if pattern == "*" || pattern == "**" {
            return Ok(Self::All);
        }
        // The contract's prefix crosses every separator, so one star at the end says no less than two.
        let prefix = pattern.strip_suffix("**");
        if let Some(prefix) = prefix.or(pattern.strip_suffix('*')).filter(|p| plain(p)) {
            return Ok(Self::Prefix(prefix.to_owned()));
        }
        if let Some(suffix) = pattern.strip_prefix('*').filter(|s| plain(s)) {
            return Ok(Self::Suffix(suffix.to_owned()));
        }
        glob(pattern).map(Self::Glob)
    }

    fn matches(&self, text: &str, glob: impl FnOnce(&G) -> bool) -> bool {
        match self {
            Self::All => true,
            Self::Exact(exact) => exact == text,
            Self::Prefix(prefix) => text.starts_with(prefix.as_str()),
            Self::Suffix(suffix) => text.ends_with(suffix.as_str()),
            Self::Glob(of) => glob(of),
        }
    }
}

/// A pattern for the name of a tool, a capability or a worker.
#[derive(Debug)]
pub(crate) struct Name(Form<GlobMatcher>);

impl Name {
    pub(crate) fn read(pattern: &str) -> Result<Self, PolicyError> {
        let glob = |pattern: &str| glob(pattern, false, false).map(|glob| glob.compile_matcher());
        Form::read(pattern, glob).map(Self)
    }

    pub(crate) fn all(patterns: &[String]) -> Result<Vec<Self>, PolicyError> {
        patterns.iter().map(|pattern| Self::read(pattern)).collect()
    }

    pub(crate) fn matches(&self, name: &str) -> bool {
        self.0.matches(name, |glob| glob.is_match(Path::new(name)))
    }
}

/// A pattern for paths. One that begins with `/` is held against absolute paths, every other against paths
/// from the session's directory.
#[derive(Debug)]
pub(crate) struct PathPattern {
    form: Form<usize>,
    absolute: bool,
}

/// The globs of all path patterns of a policy, so that a path is held against all of them at once.
#[derive(Debug)]
pub(crate) struct PathGlobs {
    relative: GlobSet,
    absolute: GlobSet,
}

/// Collects [`PathGlobs`].
#[derive(Debug, Default)]
pub(crate) struct PathGlobsBuilder {
    relative: Vec<Glob>,
    absolute: Vec<Glob>,
}

/// A path, ready to be held against patterns.
#[derive(Debug)]
pub(crate) struct Target<'a> {
    /// Where it leads, from the session's directory and absolute.
    sure: [Option<Spelling<'a>>; 2],
    /// What else somebody may have meant it by.
    also: Vec<Spelling<'a>>,
}

#[derive(Debug)]
struct Spelling<'a> {
    text: Cow<'a, str>,
    absolute: bool,
    hits: Vec<usize>,
}

impl PathGlobsBuilder {
    pub(crate) fn read(&mut self, pattern: &str) -> Result<PathPattern, PolicyError> {
        if pattern.starts_with("./") || pattern.split('/').any(|part| part == "..") {
            let message = "paths are matched as they stand in the session's directory: \
                           write `src/**`, without `.` and `..`";
            return Err(bad(pattern, message));
        }
        let absolute = pattern.starts_with('/');
        let form = Form::read(pattern, |pattern| {
            let globs = match absolute {
                true => &mut self.absolute,
                false => &mut self.relative,
            };
            globs.push(glob(pattern, true, false)?);
            Ok(globs.len() - 1)
        })?;
        Ok(PathPattern { form, absolute })
    }

    pub(crate) fn all(&mut self, patterns: &[String]) -> Result<Vec<PathPattern>, PolicyError> {
        patterns.iter().map(|pattern| self.read(pattern)).collect()
    }

    pub(crate) fn build(self) -> Result<PathGlobs, PolicyError> {
        let set = |globs: Vec<Glob>| {
            let mut builder = GlobSetBuilder::new();
            for glob in globs {
                builder.add(glob);
            }
            builder.build().map_err(|error| {
                let pattern = error.glob().unwrap_or("all of them").to_owned();
                bad(&pattern, &error.kind().to_string())
            })
        };
        Ok(PathGlobs {
            relative: set(self.relative)?,
            absolute: set(self.absolute)?,
        })
    }
}

impl PathGlobs {
    /// Looks a path up, once for all patterns.
    pub(crate) fn target<'a>(&self, path: &'a WorkspacePathInfo) -> Target<'a> {
        let relative = path.workspace_path.as_deref();
        let absolute = path.host_path.as_deref();
        let mut also = Vec::new();
        if let (None, Some(absolute)) = (relative, absolute) {
            // `*.env` means such files wherever they stand.
            also.push(self.spelling(absolute.into(), false));
        }
        // A rule may name a link rather than where it leads.
        let worded = as_worded(&path.input);
        if relative != Some(&worded) && absolute != Some(&worded) {
            let is_absolute = worded.starts_with('/');
            also.push(self.spelling(worded.into(), is_absolute));
        }
        Target {
            sure: [
                relative.map(|text| self.spelling(text.into(), false)),
                absolute.map(|text| self.spelling(text.into(), true)),
            ],
            also,
        }
    }

    fn spelling<'a>(&self, text: Cow<'a, str>, absolute: bool) -> Spelling<'a> {
        let set = match absolute {
            true => &self.absolute,
            false => &self.relative,
        };
        let hits = match set.is_empty() {
            true => Vec::new(),
            false => set.matches_candidate(&Candidate::new(&*text)),
        };
        Spelling {
            text,
            absolute,
            hits,
        }
    }
}

impl PathPattern {
    /// Whether it is held against absolute paths.
    pub(crate) fn is_absolute(&self) -> bool {
        self.absolute
    }

    /// Whether it says for sure that it means this path: what may be allowed.
    pub(crate) fn names(&self, target: &Target<'_>) -> bool {
        let [relative, absolute] = &target.sure;
        let spelling = match self.absolute {
            true => absolute,
            false => relative,
        };
        spelling.as_ref().is_some_and(|it| self.fits(it))
    }

    /// Whether it may mean this path: what has to be asked or denied.
    pub(crate) fn touches(&self, target: &Target<'_>) -> bool {
        self.names(target) || target.also.iter().any(|it| self.fits(it))
    }

    fn fits(&self, spelling: &Spelling<'_>) -> bool {
        let hit = |at: &usize| spelling.hits.binary_search(at).is_ok();
        self.absolute == spelling.absolute && self.form.matches(&spelling.text, hit)
    }
}

/// A glob, with an error that helps.
pub(crate) fn glob(
    pattern: &str,
    literal_separator: bool,
    any_case: bool,
) -> Result<Glob, PolicyError> {
    GlobBuilder::new(pattern)
        .literal_separator(literal_separator)
        .case_insensitive(any_case)
        .backslash_escape(true)
        .build()
        .map_err(|error| {
            let message = format!(
                "{}; a `[`, `{{`, `?` or `*` that means itself is written `[[]`, `[{{]`, `[?]`, `[*]`",
                error.kind()
            );
            bad(pattern, &message)
        })
}

/// Whether a text has anything in it that a glob would read as more than itself.
pub(crate) fn has_meta(text: &str) -> bool {
    text.contains(META)
}

fn bad(pattern: &str, message: &str) -> PolicyError {
    PolicyError::Pattern {
        pattern: pattern.to_owned(),
        message: message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use harn_model::PathKind;

    use super::*;

    fn info(input: &str, relative: Option<&str>, absolute: &str) -> WorkspacePathInfo {
        WorkspacePathInfo {
            input: input.to_owned(),
            kind: PathKind::WorkspaceRelative,
            normalized: input.to_owned(),
            workspace_path: relative.map(str::to_owned),
            host_path: Some(absolute.to_owned()),
            recovered_root_drift: false,
            reason: None,
        }
    }

    fn path_matches(pattern: &str, path: &str) -> bool {
        let mut builder = PathGlobsBuilder::default();
        let pattern = builder.read(pattern).unwrap();
        let globs = builder.build().unwrap();
        pattern.names(&globs.target(&info(path, Some(path), &format!("/w/{path}"))))
    }

    #[test]
    fn names() {
        let table = [
            ("*", "anything/at all", true),
            ("read_*", "read_file", true),
            ("read_*", "Read_file", false),
            ("read_*", "xread_file", false),
            ("read_*", "read_", true),
            ("*_file", "read_file", true),
            ("*_file", "read_file2", false),
            ("edit", "edit", true),
            ("edit", "editor", false),
            ("mcp/**", "mcp/a/b", true),
            ("mcp/**", "mcp", false),
            ("read_?", "read_a", true),
            ("read_?", "read_ab", false),
            ("{read,list}_*", "list_all", true),
            ("{read,list}_*", "write_all", false),
            ("*mid*", "a/mid/b", true),
            ("[rl]s", "ls", true),
            ("[!r]s", "rs", false),
            (r"a\*", "a*", true),
            (r"a\*", "ab", false),
        ];
        for (pattern, name, expected) in table {
            let matches = Name::read(pattern).unwrap().matches(name);
            assert_eq!(matches, expected, "{pattern} on {name}");
        }
    }

    #[test]
    fn paths() {
        let table = [
            ("src/**", "src/a/b.rs", true),
            ("src/*", "src/a/b.rs", true),
            ("src/**", "src", false),
            ("src/**", "srcs/a", false),
            ("src/**", "SRC/a", false),
            ("*.rs", "src/a.rs", true),
            ("src/*.rs", "src/a.rs", true),
            ("src/*.rs", "src/deep/a.rs", false),
            ("src/**/*.rs", "src/deep/er/a.rs", true),
            ("src/**/*.rs", "src/a.rs", true),
            ("**/*.rs", "a.rs", true),
            ("src/?.rs", "src//rs", false),
            ("src/?.rs", "src/a.rs", true),
            ("/w/**", "src/a.rs", true),
            ("/w/*/a.rs", "src/a.rs", true),
            ("/w/*/a.rs", "src/deep/a.rs", false),
            ("/src/**", "src/a.rs", false),
            ("Cargo.toml", "Cargo.toml", true),
            ("Cargo.toml", "a/Cargo.toml", false),
        ];
        for (pattern, path, expected) in table {
            assert_eq!(path_matches(pattern, path), expected, "{pattern} on {path}");
        }
    }

    #[test]
    fn what_takes_away_also_means_links_and_other_directories() {
        let link = info("a/../link", Some("real.txt"), "/w/real.txt");
        let other = info("/more/x.env", None, "/more/x.env");
        let table = [
            (&link, "link", true),
            (&link, "real.txt", true),
            (&link, "a/**", false),
            (&other, "*.env", true),
            (&other, "**/x.*", true),
            (&other, "/more/**", true),
            (&other, "more/**", false),
        ];
        for (path, pattern, expected) in table {
            let mut builder = PathGlobsBuilder::default();
            let read = builder.read(pattern).unwrap();
            let globs = builder.build().unwrap();
            let touches = read.touches(&globs.target(path));
            assert_eq!(touches, expected, "{pattern} on {}", path.input);
        }
        let mut builder = PathGlobsBuilder::default();
        let end = builder.read("*.env").unwrap();
        let globs = builder.build().unwrap();
        assert!(
            !end.names(&globs.target(&other)),
            "and allows nothing there"
        );
    }

    #[test]
    fn what_is_no_pattern_says_so() {
        let long = "x".repeat(LONGEST + 1);
        let table = [
            ("", "it is empty"),
            ("a[b", "[[]"),
            ("a{b", "[{]"),
            (&*long, "longer than 512"),
        ];
        for (pattern, expected) in table {
            let error = Name::read(pattern).unwrap_err().to_string();
            assert!(error.contains(expected), "{pattern}: {error}");
        }
        for pattern in ["./src/*", "../x", "src/../x"] {
            let error = PathGlobsBuilder::default().read(pattern).unwrap_err();
            assert!(error.to_string().contains("without `.`"), "{error}");
        }
    }
}
