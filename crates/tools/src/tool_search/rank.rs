//! Ranks tools for a query: by words, by a pattern, or by words and their positions.

use regex::RegexBuilder;

use super::{
    ToolIndex, ToolSearchOutcome,
    index::{IN_DESCRIPTION, IN_NAME, IN_PARAMETER, tokens},
};
use crate::search::bm25::{idf, weight};

/// The most names in one result.
pub(super) const MAX_RESULTS: usize = 20;
/// The number of entries of each list that count in a fusion.
const FUSED: usize = 4 * MAX_RESULTS;
/// The `k1` of BM25: the lower, the sooner repetitions stop to count.
const K1: f64 = 1.5;
/// Reduces the difference between ranks in a fusion.
const RANK_CONSTANT: f64 = 60.0;
/// The largest compiled pattern, in bytes.
const PATTERN_BYTES: usize = 1024 * 1024;
/// The longest query. Each of its words is compared with all words of all tools.
const QUERY_BYTES: usize = 1024;

/// A built-in way to rank tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ToolRanking {
    /// By words; rare words count more.
    #[default]
    Bm25,
    /// By a regular expression; more matches rank higher.
    Regex,
    /// By words, weighted by their position: in the name, the description or a parameter.
    Hybrid,
}

impl ToolRanking {
    /// All rankings.
    pub const ALL: [Self; 3] = [Self::Bm25, Self::Regex, Self::Hybrid];

    /// Returns the ranking's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bm25 => "bm25",
            Self::Regex => "regex",
            Self::Hybrid => "hybrid",
        }
    }

    /// Returns the ranking with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|ranking| ranking.name() == name)
    }
}

/// The index of a tool and its score.
type ScoredTool = (usize, f64);

impl ToolIndex {
    /// Returns the tools that match a query, best first, at most twenty; equal ones by name.
    pub fn rank(&self, ranking: ToolRanking, query: &str) -> ToolSearchOutcome {
        if query.trim().is_empty() {
            return ToolSearchOutcome::blank_query();
        }
        if query.len() > QUERY_BYTES {
            let long = format!("the query is longer than {QUERY_BYTES} bytes; use a few words");
            return ToolSearchOutcome::without_results(long);
        }
        let found = match ranking {
            ToolRanking::Bm25 => self.score_by_words(&count_words(query)),
            ToolRanking::Hybrid => self.score_by_fusion(&count_words(query)),
            ToolRanking::Regex => match self.score_by_pattern(query) {
                Ok(found) => found,
                Err(error) => {
                    let bad = format!("the query is not a regular expression: {error}");
                    return ToolSearchOutcome::without_results(bad);
                }
            },
        };
        if found.is_empty() {
            return ToolSearchOutcome::without_results("no tool fits; try other or broader terms");
        }
        let names = found.iter().take(MAX_RESULTS);
        ToolSearchOutcome {
            tool_names: names
                .map(|(tool, _)| self.tools[*tool].name.clone())
                .collect(),
            diagnostic: None,
        }
    }

    /// Scores tools with Okapi BM25 over their whole text.
    pub(super) fn score_by_words(&self, query: &[(String, f64)]) -> Vec<ScoredTool> {
        let total = u32::try_from(self.tools.len()).unwrap_or(u32::MAX);
        let mut scores = vec![0.0; self.tools.len()];
        for (word, times) in query {
            let places = self.postings(word);
            let idf = idf(total, u32::try_from(places.len()).unwrap_or(u32::MAX));
            for place in places {
                let length = self.tools[place.tool].length;
                let count = f64::from(place.count);
                scores[place.tool] += times * weight(K1, idf, count, length, self.mean_length);
            }
        }
        sort_best_first(scores)
    }

    /// Scores tools by the number of matches of a pattern.
    fn score_by_pattern(&self, pattern: &str) -> Result<Vec<ScoredTool>, regex::Error> {
        let pattern = RegexBuilder::new(pattern)
            .case_insensitive(true)
            .size_limit(PATTERN_BYTES)
            .build()?;
        let matches = |text: &str| pattern.find_iter(text).count() as f64;
        let scores = self.tools.iter().map(|tool| matches(&tool.text));
        Ok(sort_best_first(scores.collect()))
    }

    /// Scores tools by the positions of the words: each counts once in the name, in the description, and in a
    /// parameter. Tools with all words in a short name rank first among equals.
    pub(super) fn score_by_parts(&self, query: &[(String, f64)]) -> Vec<ScoredTool> {
        let mut scores = vec![0.0; self.tools.len()];
        let mut in_name = vec![0; self.tools.len()];
        let mut parts = vec![0; self.tools.len()];
        for (word, times) in query {
            // A word of letters and digits occurs in a text if it occurs in one of the text's words.
            parts.fill(0);
            let terms = self.terms.iter().filter(|(term, _)| term.contains(&**word));
            for place in terms.flat_map(|(_, places)| places) {
                parts[place.tool] |= place.parts;
            }
            for (tool, parts) in parts.iter().enumerate() {
                let mut score = 0.0;
                if parts & IN_NAME != 0 {
                    in_name[tool] += 1;
                    score += name_weight(&self.tools[tool].lower_name, word);
                }
                if parts & IN_DESCRIPTION != 0 {
                    score += 2.0;
                }
                if parts & IN_PARAMETER != 0 {
                    score += 1.0;
                }
                scores[tool] += times * score;
            }
        }
        for (tool, score) in scores.iter_mut().enumerate() {
            if *score > 0.0 && in_name[tool] == query.len() {
                *score += 1.0 / name_parts(&self.tools[tool].lower_name).count().max(1) as f64;
            }
        }
        sort_best_first(scores)
    }

    /// Combines the list by words (weight 1) and the list by parts (weight 2) with reciprocal-rank fusion.
    pub(super) fn score_by_fusion(&self, query: &[(String, f64)]) -> Vec<ScoredTool> {
        let mut scores = vec![0.0; self.tools.len()];
        for (times, list) in [
            (1.0, self.score_by_words(query)),
            (2.0, self.score_by_parts(query)),
        ] {
            for (rank, (tool, _)) in list.iter().take(FUSED).enumerate() {
                scores[*tool] += times / (RANK_CONSTANT + (rank + 1) as f64);
            }
        }
        sort_best_first(scores)
    }
}

/// Returns the weight of a word in a name: as the whole name, as a part, or inside a part.
fn name_weight(lower_name: &str, word: &str) -> f64 {
    if lower_name == word {
        10.0
    } else if name_parts(lower_name).any(|part| part == word) {
        7.0
    } else {
        5.0
    }
}

fn name_parts(lower_name: &str) -> impl Iterator<Item = &str> {
    lower_name
        .split(['_', '-', '.', ':'])
        .filter(|part| !part.is_empty())
}

/// Returns the words of a query, each once, with the number of its occurrences.
pub(super) fn count_words(query: &str) -> Vec<(String, f64)> {
    let mut counted: Vec<(String, f64)> = Vec::new();
    for word in tokens(&query.to_lowercase()) {
        match counted.iter_mut().find(|(known, _)| known == word) {
            Some((_, times)) => *times += 1.0,
            None => counted.push((word.to_owned(), 1.0)),
        }
    }
    counted
}

/// Returns the tools with a positive score, best first; equal ones by index, which is the order of names.
fn sort_best_first(scores: Vec<f64>) -> Vec<ScoredTool> {
    let fits = |(_, score): &ScoredTool| *score > 0.0;
    let mut found: Vec<_> = scores.into_iter().enumerate().filter(fits).collect();
    found.sort_by(|(a, a_score), (b, b_score)| b_score.total_cmp(a_score).then(a.cmp(b)));
    found
}
