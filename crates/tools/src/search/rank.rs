//! Scores and ranks passages.

use super::{
    SearchHit,
    bm25::{idf, weight},
    corpus::{Corpus, CorpusText, NameDefinition, Passage, TermMention, items_in_passage},
};

/// The `k1` of BM25: the lower, the sooner repetitions stop to count.
const K1: f64 = 1.2;
/// A name defined in a passage counts as much as this many mentions of a word equally rare.
const MEANT_NAME: f64 = 3.0;
const PLAIN_NAME: f64 = 0.4;
/// The weight of a word in the path, relative to a mention in the text.
const IN_PATH: f64 = 0.6;
/// The weight of the best single line: words on one line mean more than words apart.
pub(super) const TOGETHER: f64 = 0.8;
/// The weight of a word that is only part of a name, such as the error of a `JournalError`.
const IN_NAME: f64 = 0.5;
/// The factor for tests and data: they show an item in use; its definition ranks first.
const ASIDE: f64 = 0.6;
/// The most passages of one text in a result.
pub(super) const PER_TEXT: usize = 2;

/// Returns the best `limit` hits, best first; equal ones in the order of their paths and lines.
pub(super) fn rank_passages(corpus: &Corpus, limit: usize) -> Vec<SearchHit> {
    let weights = Weights::new(corpus);
    let mut hits: Vec<(usize, SearchHit)> = Vec::new();
    for (number, text) in corpus.texts.iter().enumerate() {
        let ranked = text.passages.iter();
        let ranked = ranked.filter_map(|passage| weights.score_passage(text, passage));
        hits.extend(ranked.map(|hit| (number, hit)));
    }
    hits.sort_by(|(_, a), (_, b)| {
        let by_score = b.score.total_cmp(&a.score);
        by_score.then_with(|| (&a.path, a.line).cmp(&(&b.path, b.line)))
    });
    let mut chosen: Vec<(usize, SearchHit)> = Vec::new();
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

/// The weights of words and names in a corpus.
struct Weights {
    terms: Vec<f64>,
    names: Vec<f64>,
    mean_length: f64,
}

impl Weights {
    fn new(corpus: &Corpus) -> Self {
        let idf = |with: &u32| idf(corpus.passages, (*with).min(corpus.passages));
        #[allow(clippy::cast_precision_loss, reason = "a mean need not be exact")]
        let mean_length = corpus.length as f64 / f64::from(corpus.passages.max(1));
        Self {
            terms: corpus.with_term.iter().map(idf).collect(),
            names: corpus.defined.iter().map(idf).collect(),
            mean_length,
        }
    }

    fn score_passage(&self, text: &CorpusText, passage: &Passage) -> Option<SearchHit> {
        let mentions = items_in_passage(&text.mentions, passage, |m| m.line);
        let definitions = items_in_passage(&text.definitions, passage, |d| d.line);
        let mut counts = vec![0.0; self.terms.len()];
        for mention in mentions {
            counts[usize::from(mention.term)] += mention.weighted_count();
        }
        let mut score: f64 = (self.terms.iter().zip(&counts))
            .map(|(idf, count)| weight(K1, *idf, *count, passage.length, self.mean_length))
            .sum();
        let best_name = definitions
            .iter()
            .map(|d| self.name_weight(d))
            .fold(0.0, f64::max);
        let here = !mentions.is_empty() || best_name > 0.0;
        // A file that matches only by its path is represented by its first passage.
        if !here && (text.in_path == 0 || passage.first > 1) {
            return None;
        }
        let has = |term: usize| counts[term] > 0.0 || text.in_path >> term & 1 == 1;
        let covered: f64 = self.sum_weights(has);
        let total: f64 = self.sum_weights(|_| true);
        let (line, together) = self.best_line(text, passage);
        score += best_name + TOGETHER * together;
        score += IN_PATH * self.sum_weights(|term| text.in_path >> term & 1 == 1);
        // A passage that covers half of the query scores less than half.
        score *= covered / total.max(f64::MIN_POSITIVE);
        if text.aside || line >= text.tests_from {
            score *= ASIDE;
        }
        Some(SearchHit {
            path: text.path.clone(),
            first: passage.first,
            last: passage.last,
            line,
            text: String::new(),
            score,
        })
    }

    fn sum_weights(&self, chosen: impl Fn(usize) -> bool) -> f64 {
        let chosen = self
            .terms
            .iter()
            .enumerate()
            .filter(|(term, _)| chosen(*term));
        chosen.map(|(_, idf)| idf).sum()
    }

    fn name_weight(&self, definition: &NameDefinition) -> f64 {
        let factor = if definition.meant {
            MEANT_NAME
        } else {
            PLAIN_NAME
        };
        self.names[definition.name] * factor
    }

    /// Returns the line with the highest score, the first of equals, and its score.
    fn best_line(&self, text: &CorpusText, passage: &Passage) -> (u32, f64) {
        let definitions = items_in_passage(&text.definitions, passage, |d| d.line);
        let mut best = (passage.first, 0.0);
        let mentions = items_in_passage(&text.mentions, passage, |m| m.line);
        for on_line in mentions.chunk_by(|a, b| a.line == b.line) {
            let line = on_line[0].line;
            let said: f64 = on_line
                .iter()
                .map(|m| self.score_mention(m, text.in_path))
                .sum();
            let kind = on_line[0].line_kind.weight();
            let defined = definitions.iter().filter(|d| d.line == line);
            let named = defined.map(|d| self.name_weight(d)).fold(0.0, f64::max);
            let value = said * kind + named;
            if value > best.1 {
                best = (line, value);
            }
        }
        best
    }

    /// Returns the score of a mention on its line. A term that is also in the path counts half.
    fn score_mention(&self, mention: &TermMention, in_path: u32) -> f64 {
        let whole = if mention.whole > 0 { 1.0 } else { IN_NAME };
        let known = if in_path >> mention.term & 1 == 1 {
            0.5
        } else {
            1.0
        };
        self.terms[usize::from(mention.term)] * whole * known
    }
}

impl TermMention {
    fn weighted_count(&self) -> f64 {
        let count = f64::from(self.whole) + f64::from(self.part) * IN_NAME;
        count * self.line_kind.weight().min(1.0)
    }
}
