//! Properties that are true for any tools and any query.

use std::{collections::BTreeSet, ops::Range};

use harn_model::ToolSource;
use proptest::{collection::vec, prelude::*};

use super::tool;
use crate::tool_search::{ToolIndex, ToolRanking, rank::count_words};

const WORDS: [&str; 6] = ["read", "file", "issue", "a", "Ünder", "42"];

fn words(count: Range<usize>) -> impl Strategy<Value = Vec<&'static str>> {
    vec(prop::sample::select(&WORDS[..]), count)
}

fn tools() -> impl Strategy<Value = Vec<harn_model::ToolSpec>> {
    let one = (words(1..4), words(0..8), words(0..3), any::<bool>()).prop_map(
        |(name, about, params, mcp)| {
            let params: Vec<_> = params.into_iter().map(|word| (word, word)).collect();
            let mut tool = tool(&name.join("_"), &about.join(" "), &params);
            if mcp {
                tool.source = ToolSource::Mcp("files".to_owned());
            }
            tool
        },
    );
    vec(one, 0..60)
}

fn queries() -> impl Strategy<Value = String> {
    prop_oneof![words(0..5).prop_map(|words| words.join(" ")), ".{0,12}"]
}

proptest! {
    #[test]
    fn a_result_has_at_most_twenty_existing_names(tools in tools(), query in queries()) {
        let index = ToolIndex::new(&tools);
        for ranking in ToolRanking::ALL {
            let names = index.rank(ranking, &query).tool_names;
            prop_assert!(names.len() <= 20);
            let once: BTreeSet<_> = names.iter().collect();
            prop_assert_eq!(once.len(), names.len());
            prop_assert!(names.iter().all(|name| tools.iter().any(|tool| tool.name == *name)));
        }
    }

    #[test]
    fn the_result_does_not_depend_on_the_order_of_the_tools(tools in tools(), query in queries()) {
        let mut once: Vec<_> = tools;
        once.sort_by(|a, b| a.name.cmp(&b.name));
        once.dedup_by(|a, b| a.name == b.name);
        let index = ToolIndex::new(&once);
        once.reverse();
        let reversed = ToolIndex::new(&once);
        for ranking in ToolRanking::ALL {
            let found = index.rank(ranking, &query);
            prop_assert_eq!(&found, &reversed.rank(ranking, &query));
            prop_assert_eq!(&found, &index.rank(ranking, &query));
        }
    }

    #[test]
    fn the_order_is_total(tools in tools(), query in queries()) {
        let index = ToolIndex::new(&tools);
        let query = count_words(&query);
        for found in [index.score_by_words(&query), index.score_by_parts(&query), index.score_by_fusion(&query)] {
            prop_assert!(found.iter().all(|(_, score)| score.is_finite() && *score > 0.0));
            let in_order = |pair: &[(usize, f64)]| {
                pair[0].1 > pair[1].1 || (pair[0].1 == pair[1].1 && pair[0].0 < pair[1].0)
            };
            prop_assert!(found.windows(2).all(in_order));
        }
    }

    /// Matching words instead of whole texts gives the same results.
    #[test]
    fn by_parts_finds_the_same_tools_as_a_text_search(tools in tools(), query in "[a-z0-9ü]{1,4}") {
        let index = ToolIndex::new(&tools);
        let found: BTreeSet<_> = index.score_by_parts(&count_words(&query)).iter().map(|it| it.0).collect();
        for (place, name) in index.names().enumerate() {
            let text = index.text(name).unwrap().to_lowercase();
            // The tag names the source of a tool and does not count as a part.
            let text = text.split("\nmcp:").next().unwrap();
            prop_assert_eq!(found.contains(&place), text.contains(&query), "{} in {}", query, text);
        }
    }
}
