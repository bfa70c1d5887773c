//! Patterns for names and paths. `*` alone, `x*`, `*x`, `src/**` and plain text mean what the contract defines;
//! everything else is a glob. A `?` matches one byte. Case counts, except for paths that a rule asks about or
//! denies.
//!
//! One pass matches a text against all patterns of a policy, so that a hundred rules cost little more
//! than one.

mod overlap;

use globset::{Glob, GlobBuilder};
use harn_model::{ApprovalLists, WorkspacePathInfo};
use regex::bytes::{Regex, RegexBuilder, RegexSet, RegexSetBuilder, SetMatches};

pub(crate) use self::overlap::may_overlap;
use crate::{LocatedPath, PolicyError, command_paths, path::normalise_text};

/// Longer patterns are rejected: no person reads them, and each is compiled.
const LONGEST: usize = 512;
/// The size limit of all compiled patterns of a policy.
const LARGEST_SET: usize = 64 * 1024 * 1024;
/// The limit of words of a line, each in each of its folders: matching one costs about a microsecond.
const MOST_PLACES: usize = 1 << 16;
/// Characters with a special meaning in a glob.
const META: [char; 7] = ['*', '?', '[', ']', '{', '}', '\\'];

/// A parsed pattern, by the kind of match.
#[derive(Debug)]
enum PatternForm<'a> {
    All,
    Nothing,
    Exact(&'a str),
    Prefix(&'a str),
    Suffix(&'a str),
    Glob(Glob),
}

impl<'a> PatternForm<'a> {
    fn read(pattern: &'a str, literal_separator: bool) -> Result<Self, PolicyError> {
        if pattern.is_empty() {
            return Err(pattern_error(
                pattern,
                "it is empty; `*` matches everything",
            ));
        }
        if pattern.len() > LONGEST {
            let start: String = pattern.chars().take(40).collect();
            let message = format!("it is longer than {LONGEST} bytes");
            return Err(pattern_error(&format!("{start}…"), &message));
        }
        if pattern == ApprovalLists::NOTHING {
            return Ok(Self::Nothing);
        }
        if !has_meta(pattern) {
            return Ok(Self::Exact(pattern));
        }
        if pattern == "*" || pattern == "**" {
            return Ok(Self::All);
        }
        // The contract's prefix crosses every separator, so one star at the end means the same as two.
        let prefix = pattern.strip_suffix("**").or(pattern.strip_suffix('*'));
        if let Some(prefix) = prefix.filter(|prefix| !has_meta(prefix)) {
            return Ok(Self::Prefix(prefix));
        }
        if let Some(suffix) = pattern.strip_prefix('*').filter(|suffix| !has_meta(suffix)) {
            return Ok(Self::Suffix(suffix));
        }
        compile_glob(pattern, literal_separator, false).map(Self::Glob)
    }

    fn to_regex(&self) -> String {
        match self {
            Self::All => String::new(),
            // An empty character class.
            Self::Nothing => r"[^\s\S]".to_owned(),
            Self::Exact(text) => format!("^{}$", regex::escape(text)),
            Self::Prefix(text) => format!("^{}", regex::escape(text)),
            Self::Suffix(text) => format!("{}$", regex::escape(text)),
            Self::Glob(glob) => glob.regex().to_owned(),
        }
    }
}

/// A pattern for the name of a worker or a capability, by itself.
#[derive(Debug)]
pub(crate) struct NamePattern(Regex);

impl NamePattern {
    pub(crate) fn read_all(patterns: &[String]) -> Result<Vec<Self>, PolicyError> {
        patterns.iter().map(|pattern| Self::read(pattern)).collect()
    }

    fn read(pattern: &str) -> Result<Self, PolicyError> {
        // As in globs, a wildcard also matches a newline.
        let regex = RegexBuilder::new(&PatternForm::read(pattern, false)?.to_regex())
            .dot_matches_new_line(true)
            .build();
        let regex = regex.map_err(|error| pattern_error(pattern, &error.to_string()))?;
        Ok(Self(regex))
    }

    pub(crate) fn matches(&self, name: &str) -> bool {
        self.0.is_match(name.as_bytes())
    }
}

/// The index of a pattern in its set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PatternIndex(usize);

#[derive(Debug, Default)]
pub(crate) struct PatternSetBuilder {
    regexes: Vec<String>,
}

impl PatternSetBuilder {
    /// Adds patterns for tool names and returns their indexes.
    pub(crate) fn add_names(
        &mut self,
        patterns: &[String],
    ) -> Result<Vec<PatternIndex>, PolicyError> {
        let patterns = patterns.iter();
        patterns.map(|pattern| self.add(pattern)).collect()
    }

    fn add(&mut self, pattern: &str) -> Result<PatternIndex, PolicyError> {
        self.regexes
            .push(PatternForm::read(pattern, false)?.to_regex());
        Ok(PatternIndex(self.regexes.len() - 1))
    }

    pub(crate) fn build(self) -> Result<PatternSet, PolicyError> {
        // As in single globs, a wildcard also matches a newline.
        let set = RegexSetBuilder::new(self.regexes)
            .dot_matches_new_line(true)
            .size_limit(LARGEST_SET)
            .build();
        set.map(PatternSet).map_err(|error| PolicyError::Limit {
            message: format!("all patterns together are too large: {error}"),
        })
    }
}

/// Patterns that are matched against a text all at once.
#[derive(Debug)]
pub(crate) struct PatternSet(RegexSet);

impl PatternSet {
    pub(crate) fn find_matches(&self, text: &str) -> PatternHits {
        PatternHits(self.0.matches(text.as_bytes()))
    }
}

/// The patterns of a set that match a text.
#[derive(Debug)]
pub(crate) struct PatternHits(SetMatches);

impl PatternHits {
    pub(crate) fn has(&self, at: PatternIndex) -> bool {
        self.0.matched(at.0)
    }
}

/// A pattern for paths. One that begins with `/` is matched against absolute paths, every other one against
/// paths from the session's directory.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PathPattern {
    Relative(PatternIndex),
    Absolute(PatternIndex),
}

/// One value for patterns of relative paths, and one for patterns of absolute paths.
#[derive(Debug, Default)]
pub(crate) struct PerPathKind<T> {
    relative: T,
    absolute: T,
}

impl<T> PerPathKind<T> {
    /// Returns the value for a pattern, and the pattern's index in it.
    fn select(&self, pattern: PathPattern) -> (&T, PatternIndex) {
        match pattern {
            PathPattern::Relative(at) => (&self.relative, at),
            PathPattern::Absolute(at) => (&self.absolute, at),
        }
    }
}

pub(crate) type PathSetsBuilder = PerPathKind<CasedSetBuilder>;

#[derive(Debug, Default)]
pub(crate) struct CasedSetBuilder {
    exact: PatternSetBuilder,
    folded: PatternSetBuilder,
    taking: PatternSetBuilder,
    places: Vec<usize>,
}

impl CasedSetBuilder {
    fn add(&mut self, pattern: &str) -> Result<PatternIndex, PolicyError> {
        let regex = PatternForm::read(pattern, true)?.to_regex();
        self.folded.regexes.push(format!("(?i-u){regex}"));
        self.exact.regexes.push(regex);
        Ok(PatternIndex(self.exact.regexes.len() - 1))
    }

    /// Makes a pattern match the words of commands, too.
    fn add_word_pattern(&mut self, at: PatternIndex, pattern: &str) {
        if let (Some(exact), Some(folded)) =
            (self.exact.regexes.get(at.0), self.folded.regexes.get(at.0))
        {
            // Only a class can match less when case is ignored.
            self.taking.regexes.push(match pattern.contains('[') {
                true => format!("(?:{exact})|(?:{folded})"),
                false => folded.clone(),
            });
            self.places.push(at.0);
        }
    }

    fn build(self) -> Result<CasedSet, PolicyError> {
        Ok(CasedSet {
            exact: self.exact.build()?,
            folded: self.folded.build()?,
            taking: self.taking.build()?,
            places: self.places,
        })
    }
}

/// All path patterns of a policy.
pub(crate) type PathSets = PerPathKind<CasedSet>;

/// The same patterns twice: as they are, and for ask and deny rules in any case of ASCII letters, since on
/// some disks `.ENV` opens `.env`.
#[derive(Debug)]
pub(crate) struct CasedSet {
    exact: PatternSet,
    folded: PatternSet,
    /// The patterns of ask and deny rules, both variants in one, for the words of commands: these are many
    /// and rarely match.
    taking: PatternSet,
    /// The index of each of these among all patterns.
    places: Vec<usize>,
}

impl CasedSet {
    /// Returns the patterns that certainly match a path, and marks those that may match it. That needs both
    /// sets: `[!A]` matches less when case is ignored.
    fn match_path(&self, path: &str, touched: &mut [bool]) -> PatternHits {
        let hits = self.exact.find_matches(path);
        mark_hits(touched, &hits);
        mark_hits(touched, &self.folded.find_matches(path));
        hits
    }

    /// Marks the ask and deny patterns that may match a word.
    fn match_word(&self, word: &str, touched: &mut [bool]) {
        // `is_match` allocates nothing, so it is first.
        if !self.taking.0.is_match(word.as_bytes()) {
            return;
        }
        for hit in self.taking.0.matches(word.as_bytes()).iter() {
            let place = self.places.get(hit);
            if let Some(touched) = place.and_then(|place| touched.get_mut(*place)) {
                *touched = true;
            }
        }
    }
}

impl PathSetsBuilder {
    pub(crate) fn add(&mut self, pattern: &str) -> Result<PathPattern, PolicyError> {
        if pattern.starts_with("./") || pattern.split('/').any(|part| part == "..") {
            let message = "a path pattern must not begin with `./` or have a `..` part; write \
                           `src/**`, from the session's directory";
            return Err(pattern_error(pattern, message));
        }
        match pattern.starts_with('/') {
            true => self.absolute.add(pattern).map(PathPattern::Absolute),
            false => self.relative.add(pattern).map(PathPattern::Relative),
        }
    }

    pub(crate) fn add_all(&mut self, patterns: &[String]) -> Result<Vec<PathPattern>, PolicyError> {
        patterns.iter().map(|pattern| self.add(pattern)).collect()
    }

    /// Adds the patterns of an ask or deny rule.
    pub(crate) fn add_restricting(
        &mut self,
        patterns: &[String],
    ) -> Result<Vec<PathPattern>, PolicyError> {
        let read = self.add_all(patterns)?;
        for (at, pattern) in read.iter().zip(patterns) {
            match at {
                PathPattern::Relative(at) => self.relative.add_word_pattern(*at, pattern),
                PathPattern::Absolute(at) => self.absolute.add_word_pattern(*at, pattern),
            }
        }
        Ok(read)
    }

    pub(crate) fn build(self) -> Result<PathSets, PolicyError> {
        Ok(PathSets {
            relative: self.relative.build()?,
            absolute: self.absolute.build()?,
        })
    }
}

impl PathSets {
    /// Whether one of these patterns matches a path of which only the words are known.
    pub(crate) fn is_listed(&self, list: &[PathPattern], path: &str, workspace: &str) -> bool {
        let workspace = &normalise_text(workspace);
        let relative = command_paths::make_relative(path, workspace);
        // A path that leads elsewhere matches absolute patterns only.
        let relative =
            (!relative.starts_with('/')).then(|| self.relative.exact.find_matches(&relative));
        let absolute = self
            .absolute
            .exact
            .find_matches(&command_paths::make_absolute(path, workspace));
        let named = CertainHits {
            relative,
            absolute: Some(absolute),
        };
        list.iter().any(|pattern| named.has(*pattern))
    }

    /// Matches paths against all patterns at once.
    pub(crate) fn match_paths<'a>(&self, paths: &'a [LocatedPath]) -> CallPaths<'a> {
        let mut touched = self.hits(false);
        let targets = paths.iter().map(|located| CallPath {
            located,
            named: self.match_located(&located.info, &mut touched),
        });
        CallPaths {
            targets: targets.collect(),
            touched,
        }
    }

    /// Matches the words of commands against the ask and deny patterns. Each word counts as a path from every
    /// folder in which the command may run: `workspace` and `folders`. If these are unknown or too many, every
    /// pattern may match.
    pub(crate) fn match_words<'w>(
        &self,
        words: impl Iterator<Item = &'w str>,
        workspace: &str,
        folders: Option<&[&str]>,
    ) -> PossibleHits {
        let workspace = &normalise_text(workspace);
        let mut parts: Vec<&str> = words.flat_map(command_paths::path_candidates).collect();
        parts.sort_unstable();
        parts.dedup();
        let Some(folders) = folders.filter(|it| it.len() * parts.len() <= MOST_PLACES) else {
            return self.hits(true);
        };
        let mut touched = self.hits(false);
        for part in parts {
            let relative = command_paths::make_relative(part, workspace);
            self.relative.match_word(&relative, &mut touched.relative);
            if !self.absolute.places.is_empty() {
                let absolute = command_paths::make_absolute(part, workspace);
                self.absolute.match_word(&absolute, &mut touched.absolute);
            }
            // Absolute paths are already matched.
            let folders = folders.iter().filter(|_| !part.starts_with('/'));
            for folder in folders {
                let absolute = command_paths::make_absolute(part, folder);
                let relative =
                    command_paths::strip_workspace(&absolute, workspace).unwrap_or(&absolute);
                self.relative.match_word(relative, &mut touched.relative);
                self.absolute.match_word(&absolute, &mut touched.absolute);
            }
        }
        touched
    }

    /// Returns the same answer for every pattern.
    fn hits(&self, hit: bool) -> PossibleHits {
        PossibleHits {
            relative: vec![hit; self.relative.exact.0.len()],
            absolute: vec![hit; self.absolute.exact.0.len()],
        }
    }

    fn match_located(&self, path: &WorkspacePathInfo, touched: &mut PossibleHits) -> CertainHits {
        let relative = path.workspace_path.as_deref();
        let absolute = path.host_path.as_deref();
        if let (None, Some(absolute)) = (relative, absolute) {
            // `*.env` matches such files in any directory.
            self.relative.match_path(absolute, &mut touched.relative);
        }
        // A rule may name a link instead of its target.
        if relative != Some(&path.input) && absolute != Some(&path.input) {
            let worded = normalise_text(&path.input);
            match worded.starts_with('/') {
                true => self.absolute.match_path(&worded, &mut touched.absolute),
                false => self.relative.match_path(&worded, &mut touched.relative),
            };
        }
        CertainHits {
            relative: relative.map(|path| self.relative.match_path(path, &mut touched.relative)),
            absolute: absolute.map(|path| self.absolute.match_path(path, &mut touched.absolute)),
        }
    }
}

/// The paths of a call, ready to be matched against patterns.
#[derive(Debug)]
pub(crate) struct CallPaths<'a> {
    pub(crate) targets: Vec<CallPath<'a>>,
    touched: PossibleHits,
}

impl CallPaths<'_> {
    /// Whether a pattern may match one of the paths in any spelling; decides about ask and deny.
    pub(crate) fn may_match(&self, pattern: PathPattern) -> bool {
        self.touched.is_hit(pattern)
    }
}

#[derive(Debug)]
pub(crate) struct CallPath<'a> {
    pub(crate) located: &'a LocatedPath,
    named: CertainHits,
}

impl CallPath<'_> {
    /// Whether a pattern certainly matches this path, by its target; decides about allow.
    pub(crate) fn is_matched_by(&self, pattern: PathPattern) -> bool {
        self.named.has(pattern)
    }
}

type CertainHits = PerPathKind<Option<PatternHits>>;

impl CertainHits {
    fn has(&self, pattern: PathPattern) -> bool {
        let (hits, at) = self.select(pattern);
        hits.as_ref().is_some_and(|hits| hits.has(at))
    }
}

/// The patterns that any path matches in any spelling.
pub(crate) type PossibleHits = PerPathKind<Vec<bool>>;

impl PossibleHits {
    pub(crate) fn is_hit(&self, pattern: PathPattern) -> bool {
        let (touched, at) = self.select(pattern);
        touched.get(at.0).copied().unwrap_or(false)
    }
}

fn mark_hits(all: &mut [bool], hits: &PatternHits) {
    if hits.0.matched_any() {
        for at in hits.0.iter() {
            if let Some(touched) = all.get_mut(at) {
                *touched = true;
            }
        }
    }
}

/// Compiles a glob; its error explains how to escape special characters.
pub(crate) fn compile_glob(
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
                "{}; to match a literal `[`, `{{`, `?` or `*`, write `[[]`, `[{{]`, `[?]` or `[*]`",
                error.kind()
            );
            pattern_error(pattern, &message)
        })
}

/// Whether a text contains a special character of globs.
pub(crate) fn has_meta(text: &str) -> bool {
    text.contains(META)
}

fn pattern_error(pattern: &str, message: &str) -> PolicyError {
    PolicyError::Pattern {
        pattern: pattern.to_owned(),
        message: message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use harn_model::PathKind;

    use crate::PathScope;

    use super::*;

    fn located_path(input: &str, relative: Option<&str>, absolute: &str) -> LocatedPath {
        LocatedPath {
            info: WorkspacePathInfo {
                input: input.to_owned(),
                kind: PathKind::WorkspaceRelative,
                normalized: input.to_owned(),
                workspace_path: relative.map(str::to_owned),
                host_path: Some(absolute.to_owned()),
                recovered_root_drift: false,
                reason: None,
            },
            standing: PathScope::Inside,
            protected: false,
            configures: false,
            place: None,
        }
    }

    /// Returns whether a pattern certainly matches the path, and whether it may match it.
    fn match_one(pattern: &str, path: &LocatedPath) -> (bool, bool) {
        let mut builder = PathSetsBuilder::default();
        let pattern = builder.add(pattern).unwrap();
        let sets = builder.build().unwrap();
        let paths = sets.match_paths(std::slice::from_ref(path));
        (
            paths.targets[0].is_matched_by(pattern),
            paths.may_match(pattern),
        )
    }

    #[test]
    fn name_patterns_match_as_in_the_table() {
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
            ("a.c", "abc", false),
            ("a.*", "abc", false),
            ("*.c", "abc", false),
            ("gr*", "größe", true),
            ("gr?ße", "größe", false),
            ("gr??ße", "größe", true),
            ("größe", "größe", true),
            ("*", "", true),
            ("a*", "a\nb", true),
            ("*mid*", "a\nmid\nb", true),
            ("a?b", "a\nb", true),
            ("a*b?", "a\n\nb\n", true),
            ("*mid", "\nmid", true),
            ("mid", "mid\n", false),
            ("*mid", "mid\n", false),
            ("[!r]s", "rs", false),
            (r"a\*", "a*", true),
            (r"a\*", "ab", false),
            ("<nothing>", "<nothing>", false),
            ("<nothing>", "", false),
        ];
        for (pattern, name, expected) in table {
            let matches = NamePattern::read(pattern).unwrap().matches(name);
            assert_eq!(matches, expected, "{pattern} on {name}");
            let mut builder = PatternSetBuilder::default();
            let at = builder.add_names(&[pattern.to_owned()]).unwrap()[0];
            let in_set = builder.build().unwrap().find_matches(name).has(at);
            assert_eq!(in_set, expected, "{pattern} on {name}, in a set");
        }
    }

    #[test]
    fn path_patterns_match_as_in_the_table() {
        let table = [
            ("src/**", "src/a/b.rs", true),
            ("src/*", "src/a/b.rs", true),
            ("src/**", "src", false),
            ("src/**", "srcs/a", false),
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
            let path = located_path(path, Some(path), &format!("/w/{path}"));
            let (named, touched) = match_one(pattern, &path);
            assert_eq!(named, expected, "{pattern} on {}", path.info.input);
            assert_eq!(touched, expected, "{pattern} on {}", path.info.input);
        }
    }

    #[test]
    fn deny_pattern_ignores_case() {
        for pattern in [
            "Secrets/key.pem",
            "/W/SECRETS/**",
            "*.Pem",
            "sec?ets/*.PEM",
            "/w/[S]ecrets/*.pem",
            "secrets/KEY*",
        ] {
            let path = located_path(
                "secrets/key.pem",
                Some("secrets/key.pem"),
                "/w/secrets/key.pem",
            );
            assert_eq!(match_one(pattern, &path), (false, true), "{pattern}");
        }
        let path = located_path("a.x", Some("a.x"), "/w/a.x");
        assert_eq!(match_one("[!A].x", &path), (true, true));
    }

    #[test]
    fn deny_pattern_also_matches_links_and_other_directories() {
        let link = located_path("a/../link", Some("real.txt"), "/w/real.txt");
        let other = located_path("/more/x.env", None, "/more/x.env");
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
            let (_, touched) = match_one(pattern, path);
            assert_eq!(touched, expected, "{pattern} on {}", path.info.input);
        }
        let (named, _) = match_one("*.env", &other);
        assert!(!named, "and allows nothing there");
    }

    #[test]
    fn invalid_pattern_is_rejected_with_the_reason() {
        let long = "x".repeat(LONGEST + 1);
        let table = [
            ("", "it is empty"),
            ("a[b", "[[]"),
            ("a{b", "[{]"),
            (&*long, "longer than 512"),
        ];
        for (pattern, expected) in table {
            let error = NamePattern::read(pattern).unwrap_err().to_string();
            assert!(error.contains(expected), "{pattern}: {error}");
        }
        for pattern in ["./src/*", "../x", "src/../x"] {
            let error = PathSetsBuilder::default().add(pattern).unwrap_err();
            assert!(
                error.to_string().contains("must not begin with `./`"),
                "{error}"
            );
        }
    }
}
