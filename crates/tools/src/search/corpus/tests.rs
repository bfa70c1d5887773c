//! Tests of passages and ranking, on texts small enough to count by hand.

use super::*;
use crate::search::rank::{PER_TEXT, TOGETHER};

fn rank_texts(query: &SearchQuery, texts: &[(&str, &str)]) -> Vec<(String, u32)> {
    let mut corpus = Corpus::new(query);
    for (path, text) in texts {
        corpus.add(path, text);
    }
    let hits = corpus.rank(10);
    hits.into_iter().map(|hit| (hit.path, hit.line)).collect()
}

fn paths(question: &str, texts: &[(&str, &str)]) -> Vec<String> {
    let ranked = rank_texts(&SearchQuery::question(question), texts);
    ranked.into_iter().map(|(path, _)| path).collect()
}

#[test]
fn passages_overlap_and_end_with_the_text() {
    let spans = |lines: usize| -> Vec<(u32, u32)> {
        let passages = split_passages(&vec![1; lines]);
        assert!(passages.iter().all(|p| p.length == p.last - p.first + 1));
        passages.iter().map(|p| (p.first, p.last)).collect()
    };
    assert_eq!(spans(0), []);
    assert_eq!(spans(1), [(1, 1)]);
    assert_eq!(spans(40), [(1, 40)]);
    assert_eq!(spans(41), [(1, 40), (31, 41)]);
    assert_eq!(spans(100), [(1, 40), (31, 70), (61, 100)]);
}

/// One plain word in texts without definitions, comments or matching paths: only BM25 and the best line contribute.
#[test]
fn a_score_is_the_sum_of_bm25_and_the_best_line() {
    let query = SearchQuery::question("apple");
    let mut corpus = Corpus::new(&query);
    corpus.add("a", "apple pear apple plum fig lime");
    corpus.add("b", "pear plum");
    corpus.add("c", "fig lime pear plum");
    let hits = corpus.rank(10);
    assert_eq!(hits.len(), 1);
    // Calculated by hand, see the test of the formula; the best line adds the idf of its word.
    let expected = 1.18237 + TOGETHER * 0.98083;
    assert!((hits[0].score - expected).abs() < 1e-4, "{}", hits[0].score);
}

#[test]
fn a_definition_ranks_first() {
    let texts = [
        (
            "a.rs",
            "let x = session_task; session_task; session_task; session_task;",
        ),
        ("b.rs", "\n\npub struct SessionTask {"),
        ("c.rs", "SessionTask SessionTask SessionTask"),
    ];
    let query = SearchQuery::question("where is the session task?");
    assert_eq!(rank_texts(&query, &texts)[0], ("b.rs".to_owned(), 3));
    let query = SearchQuery::question("SessionTask");
    assert_eq!(rank_texts(&query, &texts)[0], ("b.rs".to_owned(), 3));
}

#[test]
fn a_match_of_all_words_beats_many_matches_of_one() {
    let texts = [
        ("a", "journal journal journal journal journal"),
        ("b", "the journal is written here"),
        ("c", "something else"),
    ];
    assert_eq!(paths("where is the journal written?", &texts)[0], "b");
}

#[test]
fn words_in_a_path_count_and_suffice_alone() {
    let texts = [
        ("src/x.rs", "open a thing"),
        ("src/door.rs", "open a thing"),
        ("src/y.rs", "close"),
    ];
    assert_eq!(paths("door open", &texts)[0], "src/door.rs");
    assert_eq!(paths("door", &texts), ["src/door.rs"]);
}

#[test]
fn tests_and_data_rank_lower_unless_the_query_names_them() {
    let texts = [
        ("a/tests/x.rs", "the lantern is lit"),
        ("b/data.json", "the lantern is lit"),
        ("c/x.rs", "the lantern is lit"),
    ];
    assert_eq!(paths("lantern", &texts)[0], "c/x.rs");
    assert_eq!(paths("tests of the lantern", &texts)[0], "a/tests/x.rs");
}

#[test]
fn equal_scores_keep_the_order_of_paths_and_lines() {
    let texts = [("b", "apple"), ("c", "apple"), ("a", "apple")];
    assert_eq!(paths("apple", &texts), ["a", "b", "c"]);
}

#[test]
fn one_text_has_at_most_two_hits() {
    let long = "apple\n".repeat(400);
    let got = paths("apple", &[("long", &long), ("short", "apple pear fig")]);
    assert_eq!(got.iter().filter(|path| *path == "long").count(), PER_TEXT);
    assert_eq!(got.len(), PER_TEXT + 1);
}

#[test]
fn the_best_line_has_the_most_words() {
    let text = "apple\npear\n// apple and pear\napple and pear\n";
    let query = SearchQuery::question("apple pear");
    assert_eq!(
        rank_texts(&query, &[("a.rs", text)]),
        [("a.rs".to_owned(), 3)]
    );
}

#[test]
fn an_empty_corpus_has_no_hits() {
    assert!(paths("apple", &[]).is_empty());
    assert!(paths("apple", &[("a", ""), ("b", "pear")]).is_empty());
}

#[test]
fn missing_lists_words_that_occur_nowhere() {
    let query = SearchQuery::question("apple unicorn door");
    let mut corpus = Corpus::new(&query);
    corpus.add("door.rs", "apples");
    assert_eq!(corpus.missing_words(), ["unicorn"]);
}

#[test]
fn imports_rank_lower_than_other_lines() {
    let texts = [
        ("a.rs", "pub(crate) use fruit::apple;"),
        ("b.rs", "use fruit::apple;"),
        ("c.rs", "eat(fruit, the, apple)"),
    ];
    assert_eq!(paths("apple", &texts)[0], "c.rs");
    let text = "pub use fruit::apple;\nlet x = apple;\n";
    let query = SearchQuery::question("apple");
    assert_eq!(
        rank_texts(&query, &[("a.rs", text)]),
        [("a.rs".to_owned(), 2)]
    );
}

#[test]
fn tests_benches_and_fuzz_targets_rank_lower() {
    for aside in ["fuzz/a.rs", "tests/a.rs", "benches/a.rs"] {
        let texts = [(aside, "fn apple() {}"), ("src/b.rs", "fn apple() {}")];
        assert_eq!(paths("where is the apple?", &texts)[0], "src/b.rs");
    }
    let texts = [
        ("fuzz/a.rs", "fn apple() {}"),
        ("src/b.rs", "fn apple() {}"),
    ];
    assert_eq!(paths("fuzz the apple", &texts)[0], "fuzz/a.rs");
}

#[test]
fn code_blocks_in_documents_rank_lower() {
    let texts = [
        (
            "a.md",
            "# Use\n\n```console\n$ ask where is the apple\n```\n",
        ),
        ("b.md", "# Store\n\nThere is the apple.\n"),
    ];
    assert_eq!(paths("where is the apple?", &texts)[0], "b.md");
    let after = "```\nx\n```\nthe apple\n```\napple apple\n```\n";
    let query = SearchQuery::question("apple");
    assert_eq!(
        rank_texts(&query, &[("a.md", after)]),
        [("a.md".to_owned(), 4)]
    );
}
