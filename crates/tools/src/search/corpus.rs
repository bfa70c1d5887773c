//! Texts cut into passages, and their ranking.
//!
//! Only what a query asks for is kept, so that a workspace can be searched without an index: terms with
//! their lines, names with theirs, and the length of every passage.

use super::{
    Hit, Query,
    bm25::{idf, weight},
    define::defined_name,
    query::name_key,
    words::{stem, words},
};

/// Lines in a passage, and how many it shares with the next.
const PASSAGE: usize = 40;
const OVERLAP: usize = 10;

/// A name that is defined here counts as much as this many mentions of a word as rare.
const MEANT_NAME: f64 = 3.0;
const PLAIN_NAME: f64 = 0.4;
/// What a word in the path adds, beside a mention in the text.
const IN_PATH: f64 = 0.6;
/// What the best single line adds: words that stand together mean more than words apart.
const TOGETHER: f64 = 0.8;
/// A word that is only part of a name, such as the error of a `JournalError`.
const IN_NAME: f64 = 0.5;
/// Tests and data show a thing in use; where it is made comes first.
const ASIDE: f64 = 0.6;
/// The most passages of one text in a ranking.
const PER_TEXT: usize = 2;

/// Texts to be ranked against one query.
pub struct Corpus<'q> {
    query: &'q Query,
    texts: Vec<Text>,
    passages: u32,
    length: u64,
    /// For each term, in how many passages it is.
    with_term: Vec<u32>,
    /// For each name, how often it is defined.
    defined: Vec<u32>,
    /// Terms that are in some path.
    in_paths: u32,
}

/// What is kept of a text that has something to say.
struct Text {
    path: String,
    passages: Vec<Passage>,
    mentions: Vec<Mention>,
    definitions: Vec<Definition>,
    /// Terms in its path.
    in_path: u32,
    aside: bool,
    /// The line from which on it holds its own tests.
    tests_from: u32,
}

/// Lines `first..=last`, from 1.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Passage {
    first: u32,
    last: u32,
    length: u32,
}

#[derive(Clone, Copy)]
struct Mention {
    line: u32,
    term: u8,
    /// As a word of its own.
    whole: u8,
    /// As part of a name.
    part: u8,
    line_kind: LineKind,
}

#[derive(Clone, Copy)]
enum LineKind {
    /// A comment or a heading: says what a thing is.
    Explains,
    /// Only names what is elsewhere.
    Imports,
    /// Stands in a code block of a document: an example, not what the document says.
    Quoted,
    Plain,
}

struct Definition {
    line: u32,
    name: usize,
    meant: bool,
}

impl<'q> Corpus<'q> {
    /// An empty corpus.
    #[must_use]
    pub fn new(query: &'q Query) -> Self {
        Self {
            query,
            texts: Vec::new(),
            passages: 0,
            length: 0,
            with_term: vec![0; query.terms.len()],
            defined: vec![0; query.names.len()],
            in_paths: 0,
        }
    }

    /// Takes a text in. `path` tells what sort of text it is.
    pub fn add(&mut self, path: &str, text: &str) {
        let prose = is_prose(path);
        let mut lengths = Vec::new();
        let mut mentions = Vec::new();
        let mut definitions = Vec::new();
        let mut tests_from = u32::MAX;
        let mut quoting = false;
        let mut counts = vec![(0_u8, 0_u8); self.query.terms.len()];
        for (line, number) in text.lines().zip(1..) {
            if prose && is_fence(line) {
                quoting = !quoting;
            }
            let mut any = false;
            lengths.push(self.query.scan(line, |term, whole| {
                let (wholes, parts) = &mut counts[term];
                let count = if whole { wholes } else { parts };
                *count = count.saturating_add(1);
                any = true;
            }));
            if any {
                let line_kind = if quoting {
                    LineKind::Quoted
                } else {
                    line_kind(line, prose)
                };
                for (term, counts) in (0..).zip(&mut counts) {
                    let (whole, part) = std::mem::take(counts);
                    if whole > 0 || part > 0 {
                        mentions.push(Mention {
                            line: number,
                            term,
                            whole,
                            part,
                            line_kind,
                        });
                    }
                }
            }
            if !prose && let Some(name) = defined_name(line) {
                definitions.extend(self.definition(number, name));
            }
            if tests_from == u32::MAX && line.trim_start().starts_with("#[cfg(test)]") {
                tests_from = number;
            }
        }
        let passages = passages(&lengths);
        self.count(&passages, &mentions);
        let in_path = self.terms_in_path(path);
        self.in_paths |= in_path;
        if !mentions.is_empty() || !definitions.is_empty() || in_path != 0 {
            self.texts.push(Text {
                path: path.to_owned(),
                passages,
                mentions,
                definitions,
                in_path,
                aside: self.is_aside(path),
                tests_from,
            });
        }
    }

    fn definition(&mut self, line: u32, name: &str) -> Option<Definition> {
        let found = self.query.names.get(&name_key(name))?;
        self.defined[found.number] += 1;
        Some(Definition {
            line,
            name: found.number,
            meant: found.means(name),
        })
    }

    fn count(&mut self, passages: &[Passage], mentions: &[Mention]) {
        for passage in passages {
            self.passages += 1;
            self.length += u64::from(passage.length);
            let mut seen = 0_u32;
            for mention in within(mentions, passage, |m| m.line) {
                seen |= 1 << mention.term;
            }
            for (term, count) in self.with_term.iter_mut().enumerate() {
                *count += (seen >> term) & 1;
            }
        }
    }

    fn terms_in_path(&self, path: &str) -> u32 {
        let mut seen = 0;
        self.query.scan(path, |term, _| seen |= 1 << term);
        seen
    }

    /// Whether a text is a test, an example or data, and was not asked for as such.
    fn is_aside(&self, path: &str) -> bool {
        let asked = |word: &str| {
            let mut word = word.to_lowercase();
            stem(&mut word);
            self.query.terms.contains_key(&word)
        };
        let mut tests = words(path).flat_map(|word| word.split('_')).filter(|word| {
            let known = [
                "test", "tests", "fixtures", "testdata", "benches", "examples",
            ];
            known.contains(word)
        });
        let is_data = DATA.iter().any(|ending| path.ends_with(ending));
        is_data || tests.any(|word| !asked(word))
    }

    /// The words of the query that are nowhere, in no text and no path.
    #[must_use]
    pub fn missing(&self) -> Vec<String> {
        let mut seen = self.in_paths;
        for (term, with) in self.with_term.iter().enumerate() {
            seen |= u32::from(*with > 0) << term;
        }
        self.query.words_without(seen)
    }

    /// The best `limit` places, best first; equal ones in the order of their paths and lines.
    #[must_use]
    pub fn rank(&self, limit: usize) -> Vec<Hit> {
        let weights = Weights::new(self);
        let mut hits: Vec<(usize, Hit)> = Vec::new();
        for (number, text) in self.texts.iter().enumerate() {
            let ranked = text.passages.iter();
            let ranked = ranked.filter_map(|passage| weights.hit(text, passage));
            hits.extend(ranked.map(|hit| (number, hit)));
        }
        hits.sort_by(|(_, a), (_, b)| {
            let by_score = b.score.total_cmp(&a.score);
            by_score.then_with(|| (&a.path, a.line).cmp(&(&b.path, b.line)))
        });
        let mut chosen: Vec<(usize, Hit)> = Vec::new();
        for (text, hit) in hits {
            if chosen.len() == limit {
                break;
            }
            let mut same = chosen.iter().filter(|(other, _)| *other == text);
            let overlaps = same
                .clone()
                .any(|(_, o)| o.first <= hit.last && hit.first <= o.last);
            if !overlaps && same.by_ref().count() < PER_TEXT {
                chosen.push((text, hit));
            }
        }
        chosen.into_iter().map(|(_, hit)| hit).collect()
    }
}

/// What words and names are worth in this corpus.
struct Weights {
    terms: Vec<f64>,
    names: Vec<f64>,
    mean_length: f64,
}

impl Weights {
    fn new(corpus: &Corpus<'_>) -> Self {
        let idf = |with: &u32| idf(corpus.passages, (*with).min(corpus.passages));
        #[allow(clippy::cast_precision_loss, reason = "a mean need not be exact")]
        let mean_length = corpus.length as f64 / f64::from(corpus.passages.max(1));
        Self {
            terms: corpus.with_term.iter().map(idf).collect(),
            names: corpus.defined.iter().map(idf).collect(),
            mean_length,
        }
    }

    fn hit(&self, text: &Text, passage: &Passage) -> Option<Hit> {
        let mentions = within(&text.mentions, passage, |m| m.line);
        let definitions = within(&text.definitions, passage, |d| d.line);
        let mut counts = vec![0.0; self.terms.len()];
        for mention in mentions {
            counts[usize::from(mention.term)] += mention.count();
        }
        let mut score: f64 = (self.terms.iter().zip(&counts))
            .map(|(idf, count)| weight(*idf, *count, passage.length, self.mean_length))
            .sum();
        let best_name = definitions.iter().map(|d| self.name(d)).fold(0.0, f64::max);
        let here = !mentions.is_empty() || best_name > 0.0;
        // A file that only its name speaks for is shown by its beginning.
        if !here && (text.in_path == 0 || passage.first > 1) {
            return None;
        }
        let has = |term: usize| counts[term] > 0.0 || text.in_path >> term & 1 == 1;
        let covered: f64 = self.sum_of(has);
        let total: f64 = self.sum_of(|_| true);
        let (line, together) = self.best_line(text, passage);
        score += best_name + TOGETHER * together;
        score += IN_PATH * self.sum_of(|term| text.in_path >> term & 1 == 1);
        // Half of a question answered is less than half an answer.
        score *= covered / total.max(f64::MIN_POSITIVE);
        if text.aside || line >= text.tests_from {
            score *= ASIDE;
        }
        Some(Hit {
            path: text.path.clone(),
            first: passage.first,
            last: passage.last,
            line,
            text: String::new(),
            score,
        })
    }

    fn sum_of(&self, chosen: impl Fn(usize) -> bool) -> f64 {
        let chosen = self
            .terms
            .iter()
            .enumerate()
            .filter(|(term, _)| chosen(*term));
        chosen.map(|(_, idf)| idf).sum()
    }

    fn name(&self, definition: &Definition) -> f64 {
        let factor = if definition.meant {
            MEANT_NAME
        } else {
            PLAIN_NAME
        };
        self.names[definition.name] * factor
    }

    /// The line that says most, the first of equals, and how much it says.
    fn best_line(&self, text: &Text, passage: &Passage) -> (u32, f64) {
        let definitions = within(&text.definitions, passage, |d| d.line);
        let mut best = (passage.first, 0.0);
        let mentions = within(&text.mentions, passage, |m| m.line);
        for on_line in mentions.chunk_by(|a, b| a.line == b.line) {
            let line = on_line[0].line;
            let said: f64 = on_line.iter().map(|m| self.said(m, text.in_path)).sum();
            let kind = on_line[0].line_kind.weight();
            let defined = definitions.iter().filter(|d| d.line == line);
            let named = defined.map(|d| self.name(d)).fold(0.0, f64::max);
            let value = said * kind + named;
            if value > best.1 {
                best = (line, value);
            }
        }
        best
    }

    /// What a mention says on its line. What the path says already needs no saying again.
    fn said(&self, mention: &Mention, in_path: u32) -> f64 {
        let whole = if mention.whole > 0 { 1.0 } else { IN_NAME };
        let known = if in_path >> mention.term & 1 == 1 {
            0.5
        } else {
            1.0
        };
        self.terms[usize::from(mention.term)] * whole * known
    }
}

impl Mention {
    fn count(&self) -> f64 {
        let count = f64::from(self.whole) + f64::from(self.part) * IN_NAME;
        count * self.line_kind.weight().min(1.0)
    }
}

impl LineKind {
    /// How much a line of this kind says, beside a plain one.
    fn weight(self) -> f64 {
        match self {
            Self::Explains => 1.25,
            Self::Plain => 1.0,
            Self::Imports | Self::Quoted => 0.3,
        }
    }
}

/// Files that hold data rather than say something.
const DATA: &[&str] = &[
    ".json", ".jsonl", ".lock", ".csv", ".tsv", ".svg", ".xml", ".snap", ".map",
];

fn is_prose(path: &str) -> bool {
    let endings = [".md", ".markdown", ".txt", ".rst", ".adoc"];
    endings.iter().any(|ending| path.ends_with(ending))
}

fn is_fence(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("```") || line.starts_with("~~~")
}

/// How lines begin that only name what is elsewhere.
const IMPORTS: [&str; 6] = ["use ", "mod ", "import ", "from ", "#include ", "require "];

/// The same, made public again: `pub(crate) use`.
fn begins_after_pub(line: &str) -> bool {
    let rest = line.strip_prefix("pub").unwrap_or_default();
    let rest = rest
        .strip_prefix('(')
        .and_then(|scope| scope.split_once(')'))
        .map_or(rest, |(_, rest)| rest);
    rest.starts_with(" use ") || rest.starts_with(" mod ")
}

fn line_kind(line: &str, prose: bool) -> LineKind {
    let line = line.trim_start();
    let begins = |marks: &[&str]| marks.iter().any(|mark| line.starts_with(mark));
    // `#[attribute]` and `#include` are code; `# words` is a heading, or a comment in many languages.
    if begins(&["# ", "## ", "###"]) {
        LineKind::Explains
    } else if prose {
        LineKind::Plain
    } else if begins(&["//", "/*", "* ", "\"\"\"", "--", ";;"]) {
        LineKind::Explains
    } else if begins(&IMPORTS) || begins_after_pub(line) {
        LineKind::Imports
    } else {
        LineKind::Plain
    }
}

/// Cuts lines of these lengths into overlapping passages.
fn passages(lengths: &[u32]) -> Vec<Passage> {
    let mut out = Vec::new();
    let mut start = 0;
    while start < lengths.len() {
        let end = (start + PASSAGE).min(lengths.len());
        let line = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        out.push(Passage {
            first: line(start + 1),
            last: line(end),
            length: lengths[start..end].iter().sum(),
        });
        if end == lengths.len() {
            break;
        }
        start += PASSAGE - OVERLAP;
    }
    out
}

/// The part of a list sorted by line that lies in a passage.
fn within<'a, T>(items: &'a [T], passage: &Passage, line: impl Fn(&T) -> u32) -> &'a [T] {
    let from = items.partition_point(|item| line(item) < passage.first);
    let to = items.partition_point(|item| line(item) <= passage.last);
    &items[from..to]
}

#[cfg(test)]
mod tests;
