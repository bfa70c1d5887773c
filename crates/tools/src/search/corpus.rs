//! Texts split into passages, reduced to the matches of one query.
//!
//! Stores only what the query needs, so that a workspace can be searched without an index: terms and names with
//! their lines, and the length of every passage.

use super::{
    SearchHit, SearchQuery,
    definition::defined_name,
    line::{CodeBlockTracker, LineKind, is_prose},
    query::name_key,
    rank,
    words::{to_stem, words},
};

/// The number of lines in a passage, and how many it shares with the next.
const PASSAGE: usize = 40;
const OVERLAP: usize = 10;

/// Texts to be ranked for one query.
pub struct Corpus {
    query: SearchQuery,
    pub(super) texts: Vec<CorpusText>,
    pub(super) passages: u32,
    pub(super) length: u64,
    /// For each term, the number of passages that contain it.
    pub(super) with_term: Vec<u32>,
    /// For each name, the number of its definitions.
    pub(super) defined: Vec<u32>,
    /// The terms that occur in any path.
    in_paths: u32,
}

/// The matches in one text.
pub(super) struct CorpusText {
    pub(super) path: String,
    pub(super) passages: Vec<Passage>,
    pub(super) mentions: Vec<TermMention>,
    pub(super) definitions: Vec<NameDefinition>,
    /// The terms that occur in its path.
    pub(super) in_path: u32,
    pub(super) aside: bool,
    /// The line at which its tests begin.
    pub(super) tests_from: u32,
}

/// Lines `first..=last`, from 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Passage {
    pub(super) first: u32,
    pub(super) last: u32,
    pub(super) length: u32,
}

/// A term on a line.
#[derive(Clone, Copy)]
pub(super) struct TermMention {
    pub(super) line: u32,
    pub(super) term: u8,
    /// Occurrences as a whole word.
    pub(super) whole: u8,
    /// Occurrences as part of a name.
    pub(super) part: u8,
    pub(super) line_kind: LineKind,
}

/// The definition of a name on a line.
pub(super) struct NameDefinition {
    pub(super) line: u32,
    pub(super) name: usize,
    pub(super) meant: bool,
}

impl Corpus {
    /// Creates an empty corpus for a query.
    pub fn new(query: &SearchQuery) -> Self {
        Self {
            query: query.clone(),
            texts: Vec::new(),
            passages: 0,
            length: 0,
            with_term: vec![0; query.terms.len()],
            defined: vec![0; query.names.len()],
            in_paths: 0,
        }
    }

    /// Adds a text. `path` determines its type.
    pub fn add(&mut self, path: &str, text: &str) {
        let prose = is_prose(path);
        let mut lengths = Vec::new();
        let mut mentions = Vec::new();
        let mut definitions = Vec::new();
        let mut tests_from = u32::MAX;
        let mut quoting = CodeBlockTracker::default();
        let mut counts = vec![(0_u8, 0_u8); self.query.terms.len()];
        for (line, number) in text.lines().zip(1..) {
            let quoted = prose && quoting.next(line);
            let mut any = false;
            lengths.push(self.query.scan(line, |term, whole| {
                let (wholes, parts) = &mut counts[term];
                let count = if whole { wholes } else { parts };
                *count = count.saturating_add(1);
                any = true;
            }));
            if any {
                let line_kind = if quoted {
                    LineKind::Quoted
                } else {
                    LineKind::classify(line, prose)
                };
                for (term, counts) in (0..).zip(&mut counts) {
                    let (whole, part) = std::mem::take(counts);
                    if whole > 0 || part > 0 {
                        mentions.push(TermMention {
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
                definitions.extend(self.match_definition(number, name));
            }
            if tests_from == u32::MAX && line.trim_start().starts_with("#[cfg(test)]") {
                tests_from = number;
            }
        }
        let passages = split_passages(&lengths);
        self.count_passages(&passages, &mentions);
        let in_path = self.query.terms_in(path);
        self.in_paths |= in_path;
        if !mentions.is_empty() || !definitions.is_empty() || in_path != 0 {
            self.texts.push(CorpusText {
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

    /// Adds the texts of another corpus, which must be for the same query.
    pub fn join(&mut self, other: Self) {
        self.texts.extend(other.texts);
        self.passages += other.passages;
        self.length += other.length;
        self.in_paths |= other.in_paths;
        let counts = [
            (&mut self.with_term, other.with_term),
            (&mut self.defined, other.defined),
        ];
        for (ours, theirs) in counts {
            for (count, more) in ours.iter_mut().zip(theirs) {
                *count += more;
            }
        }
    }

    fn match_definition(&mut self, line: u32, name: &str) -> Option<NameDefinition> {
        let found = self.query.names.get(&name_key(name))?;
        self.defined[found.number] += 1;
        Some(NameDefinition {
            line,
            name: found.number,
            meant: found.means(name),
        })
    }

    fn count_passages(&mut self, passages: &[Passage], mentions: &[TermMention]) {
        for passage in passages {
            self.passages += 1;
            self.length += u64::from(passage.length);
            let mut seen = 0_u32;
            for mention in items_in_passage(mentions, passage, |m| m.line) {
                seen |= 1 << mention.term;
            }
            for (term, count) in self.with_term.iter_mut().enumerate() {
                *count += (seen >> term) & 1;
            }
        }
    }

    /// Returns whether a text is a test, an example or data that the query does not ask for.
    fn is_aside(&self, path: &str) -> bool {
        let asked = |word: &str| self.query.terms.contains_key(&to_stem(word));
        let mut tests = words(path).flat_map(|word| word.split('_')).filter(|word| {
            let known = [
                "test", "tests", "fixtures", "testdata", "benches", "examples", "fuzz",
            ];
            known.contains(word)
        });
        let is_data = DATA.iter().any(|ending| path.ends_with(ending));
        is_data || tests.any(|word| !asked(word))
    }

    /// Returns the words of the query that occur in no text and no path.
    pub fn missing_words(&self) -> Vec<String> {
        let mut seen = self.in_paths;
        for (term, with) in self.with_term.iter().enumerate() {
            seen |= u32::from(*with > 0) << term;
        }
        self.query.words_without(seen)
    }

    /// Returns the best `limit` hits, best first; equal ones in the order of their paths and lines.
    pub fn rank(&self, limit: usize) -> Vec<SearchHit> {
        rank::rank_passages(self, limit)
    }
}

/// Endings of files with data rather than code or prose.
const DATA: &[&str] = &[
    ".json", ".jsonl", ".lock", ".csv", ".tsv", ".svg", ".xml", ".snap", ".map",
];

/// Splits lines of these lengths into overlapping passages.
fn split_passages(lengths: &[u32]) -> Vec<Passage> {
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

/// Returns the items of a passage from a list sorted by line.
pub(super) fn items_in_passage<'a, T>(
    items: &'a [T],
    passage: &Passage,
    line: impl Fn(&T) -> u32,
) -> &'a [T] {
    let from = items.partition_point(|item| line(item) < passage.first);
    let to = items.partition_point(|item| line(item) <= passage.last);
    &items[from..to]
}

#[cfg(test)]
mod tests;
