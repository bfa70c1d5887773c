//! A search query, prepared for matching.

use std::collections::HashMap;

use super::words::{is_compound, is_stop_word, parts, stem, to_stem, words};

/// The most terms in a query: a question has a handful, a pasted page has thousands.
const MAX_TERMS: usize = 24;
/// The longest word in a query, in bytes: longer ones are data, not language.
const MAX_WORD: usize = 80;

/// The words, terms and names to search for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SearchQuery {
    /// The significant words, as written.
    words: Vec<String>,
    /// The terms of the words, each with its number.
    pub(super) terms: HashMap<String, usize>,
    /// Names that count where they are defined.
    pub(super) names: HashMap<String, QueryName>,
    /// The first letters of the terms.
    first: Vec<char>,
}

/// A name that may be defined somewhere.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct QueryName {
    pub(super) number: usize,
    /// The name as written.
    written: String,
    /// Whether it is clearly a name rather than a word.
    meant: bool,
}

impl QueryName {
    /// Returns whether an item called `name` is what the query means: `Envelope` means the type, not the function
    /// `envelope`; "envelope" may mean either.
    pub(super) fn means(&self, name: &str) -> bool {
        self.meant || (self.written == name && name.contains(char::is_uppercase))
    }
}

impl SearchQuery {
    /// Parses a question; ignores its stop words.
    pub fn question(text: &str) -> Self {
        Self::from_words(words(text).filter(|word| !is_stop_word(&word.to_lowercase())))
    }

    /// Creates a query for every word of `text`.
    pub fn from_text(text: &str) -> Self {
        Self::from_words(words(text))
    }

    fn from_words<'a>(words: impl Iterator<Item = &'a str>) -> Self {
        let mut query = Self::default();
        for word in words {
            if query.words.len() == MAX_TERMS {
                break;
            }
            if word.len() <= MAX_WORD && !query.words.iter().any(|known| known == word) {
                query.words.push(word.to_owned());
            }
        }
        for word in query.words.clone() {
            query.add_terms(&word);
        }
        query.add_names();
        query.first = query
            .terms
            .keys()
            .filter_map(|t| t.chars().next())
            .collect();
        query
    }

    /// Returns whether there is nothing to search for.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Returns the words of the query, as written.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// Returns whether the query clearly means an item called `name`.
    pub fn asks_for(&self, name: &str) -> bool {
        let known = self.names.get(&name_key(name));
        known.is_some_and(|known| known.means(name))
    }

    /// Returns the words with no term in `seen`, a set of term numbers.
    pub(super) fn words_without(&self, seen: u32) -> Vec<String> {
        let words = self.words.iter();
        let unseen = words.filter(|word| self.terms_in(word) & seen == 0);
        unseen.cloned().collect()
    }

    /// Returns how many terms of the query `line` contains, each counted once.
    pub fn matches(&self, line: &str) -> usize {
        self.terms_in(line).count_ones() as usize
    }

    /// Returns the query's terms in a text, as a set of their numbers.
    pub(super) fn terms_in(&self, text: &str) -> u32 {
        let mut seen = 0;
        self.scan(text, |term, _| seen |= 1 << term);
        seen
    }

    /// Calls `each` with the number of every term in `line`, and whether it is a whole word there rather than part
    /// of a name. Returns how many terms the line has, including those not in the query.
    pub(super) fn scan(&self, line: &str, mut each: impl FnMut(usize, bool)) -> u32 {
        let mut count = 0;
        let mut buffer = String::new();
        let mut found = |term: &str, whole| {
            if let Some(term) = self.terms.get(term) {
                each(*term, whole);
            }
        };
        for word in words(line) {
            let mut pieces = 0;
            parts(word, |part| {
                pieces += 1;
                if self.may_have(part) {
                    lowercase_into(part, &mut buffer);
                    stem(&mut buffer);
                    found(&buffer, part.len() == word.len());
                }
            });
            count += pieces;
            if pieces > 1 {
                count += 1;
                if self.may_have(word) {
                    lowercase_into(word, &mut buffer);
                    found(&buffer, true);
                }
            }
        }
        count
    }

    /// A cheap check that excludes most words.
    fn may_have(&self, word: &str) -> bool {
        let first = word.chars().next().and_then(|c| c.to_lowercase().next());
        first.is_some_and(|c| self.first.contains(&c))
    }

    fn add_terms(&mut self, word: &str) {
        let mut found = Vec::new();
        if is_compound(word) {
            found.push(word.to_lowercase());
        }
        // Stop words of a question were dropped; parts of a name count, as they do in the text.
        parts(word, |part| found.push(to_stem(part)));
        for term in found {
            let number = self.terms.len();
            if number < MAX_TERMS {
                self.terms.entry(term).or_insert(number);
            }
        }
    }

    /// Adds each word as a name, and adjacent words joined: "session task" is `SessionTask` and `session_task`.
    fn add_names(&mut self) {
        for length in 1..=3 {
            for run in self.words.windows(length) {
                let written = run.concat();
                let name: String = run.iter().map(|word| name_key(word)).collect();
                if name.len() < 3 {
                    continue;
                }
                let meant = length > 1 || is_compound(&written);
                let number = self.names.len();
                let name = self.names.entry(name);
                name.or_insert(QueryName {
                    number,
                    written,
                    meant,
                });
            }
        }
    }
}

/// Normalizes a name across languages and word forms: `SessionTask`, `session_tasks` and the words "session task"
/// have one key.
pub(super) fn name_key(name: &str) -> String {
    let mut key = String::new();
    parts(name, |part| key.push_str(&to_stem(part)));
    key
}

fn lowercase_into(word: &str, into: &mut String) {
    into.clear();
    if word.is_ascii() {
        into.push_str(word);
        into.make_ascii_lowercase();
    } else {
        into.extend(word.chars().flat_map(char::to_lowercase));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(text: &str) -> Vec<String> {
        let query = SearchQuery::question(text);
        let mut terms: Vec<_> = query.terms.into_iter().collect();
        terms.sort_by_key(|(_, number)| *number);
        terms.into_iter().map(|(term, _)| term).collect()
    }

    #[test]
    fn a_question_drops_its_stop_words() {
        assert_eq!(terms("Where is the journal written?"), ["journal", "writ"]);
        let query = SearchQuery::question("Where is the journal written?");
        assert_eq!(query.words(), ["journal", "written"]);
        assert_eq!(
            terms("How does SessionTask work?"),
            ["sessiontask", "session", "task"]
        );
        assert_eq!(terms("read_text"), ["read_text", "read", "text"]);
        assert!(SearchQuery::question("what is this?").is_empty());
        assert!(SearchQuery::question("").is_empty());
    }

    #[test]
    fn names_are_words_and_adjacent_words() {
        let query = SearchQuery::question("where is the session task run");
        let meant = |name: &str| query.names.get(name).map(|name| name.meant);
        assert_eq!(meant("session"), Some(false));
        assert_eq!(meant("sessiontask"), Some(true));
        assert_eq!(meant("sessiontaskrun"), Some(true));
        assert_eq!(meant("sessionrun"), None);
        assert_eq!(name_key("Session_Tasks"), "sessiontask");
        assert_eq!(name_key("PermissionAsked"), "permissionask");
        assert!(SearchQuery::question("read_text").names["readtext"].meant);
        let query = SearchQuery::question("what is an Envelope");
        let name = &query.names["envelop"];
        assert!(name.means("Envelope") && !name.means("envelope"));
        let query = SearchQuery::question("what is an envelope");
        assert!(!query.names["envelop"].means("envelope"));
    }

    #[test]
    fn words_without_returns_unseen_words() {
        let query = SearchQuery::question("SessionTask writes journals");
        let seen = 1 << query.terms["task"] | 1 << query.terms["journal"];
        assert_eq!(query.words_without(seen), ["writes"]);
        assert!(query.asks_for("session_task") && !query.asks_for("journal"));
    }

    #[test]
    fn scan_counts_whole_words_and_parts() {
        let query = SearchQuery::question("SessionTask writes");
        let mut found = Vec::new();
        let line = "fn run(SessionTask, session_task, written)";
        let count = query.scan(line, |term, whole| found.push((term, whole)));
        // fn, run, Session, Task, SessionTask, session, task, session_task, written
        assert_eq!(count, 9);
        let of = |term: &str, whole| {
            let looked_for = (query.terms[term], whole);
            found.iter().filter(|found| **found == looked_for).count()
        };
        assert_eq!((of("sessiontask", true), of("writ", true)), (1, 1));
        assert_eq!((of("session", false), of("task", false)), (2, 2));
        assert_eq!((of("session", true), of("sessiontask", false)), (0, 0));
        assert_eq!(query.matches("session, Session and write"), 2);
    }

    #[test]
    fn a_pasted_page_is_truncated() {
        let page: String = (0..500).map(|n| format!("word{n}_x ")).collect();
        assert!(SearchQuery::question(&page).terms.len() <= MAX_TERMS);
        assert!(SearchQuery::question(&"x".repeat(MAX_WORD + 1)).is_empty());
    }
}
