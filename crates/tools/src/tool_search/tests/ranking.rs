//! Tests of scores and orders, calculated by hand.

use expect_test::{Expect, expect};
use harn_model::ToolSource;

use super::tool;
use crate::tool_search::{ToolIndex, ToolRanking, rank::count_words};

fn assert_near(got: f64, expected: f64) {
    assert!((got - expected).abs() < 1e-6, "{got} is not {expected}");
}

/// Replaces indexes by names.
fn with_names(index: &ToolIndex, scored: Vec<(usize, f64)>) -> Vec<(&str, f64)> {
    let names: Vec<_> = index.names().collect();
    let named = scored.into_iter().map(|(tool, score)| (names[tool], score));
    named.collect()
}

/// Three tools with 6, 6 and 3 words; the mean is 5.
fn files() -> ToolIndex {
    ToolIndex::new(&[
        // read file, Read a file, path
        tool("read_file", "Read a file", &[("path", "")]),
        // write file, Write text, path where
        tool("write_file", "Write text", &[("path", "where")]),
        // ping, Is up
        tool("ping", "Is up", &[]),
    ])
}

#[test]
fn bm25_agrees_with_a_calculation_by_hand() {
    let index = files();
    // Two of three have it: ln((3 - 2 + 0.5) / (2 + 0.5) + 1) = ln 1.6.
    let idf_of_two = 1.6_f64.ln();
    assert_near(idf_of_two, 0.470_003_629);
    // One of three has it: ln((3 - 1 + 0.5) / (1 + 0.5) + 1) = ln(8 / 3).
    let idf_of_one = (8.0_f64 / 3.0).ln();
    assert_near(idf_of_one, 0.980_829_253);
    // 6 words with a mean of 5: 1.5 * (1 - 0.75 + 0.75 * 6 / 5) = 1.5 * 1.15 = 1.725.
    let (once, twice) = (2.5 / (1.0 + 1.725), 2.0 * 2.5 / (2.0 + 1.725));

    // `file` occurs twice in read_file and once in write_file.
    let found = with_names(&index, index.score_by_words(&count_words("file")));
    let [("read_file", read), ("write_file", write)] = found[..] else {
        panic!("{found:?}");
    };
    assert_near(read, idf_of_two * twice);
    assert_near(read, 0.630_877_354);
    assert_near(write, idf_of_two * once);
    assert_near(write, 0.431_196_907);

    // A word given twice counts twice; `read` occurs twice in read_file.
    let found = with_names(
        &index,
        index.score_by_words(&count_words("File, FILE read!")),
    );
    let [("read_file", read), ("write_file", write)] = found[..] else {
        panic!("{found:?}");
    };
    assert_near(read, 2.0 * idf_of_two * twice + idf_of_one * twice);
    assert_near(write, 2.0 * idf_of_two * once);
}

/// Three tools with `grep` as the whole name, as a part and inside a part.
fn greps() -> ToolIndex {
    ToolIndex::new(&[
        tool("grep", "Find lines", &[("pattern", "what to find")]),
        tool("file-grep", "Grep in files", &[]),
        tool("egrep.all", "", &[]),
    ])
}

#[test]
fn by_parts_agrees_with_a_calculation_by_hand() {
    let index = greps();
    let found = with_names(&index, index.score_by_parts(&count_words("grep")));
    let expected = [
        // The whole name; the name has one part and contains all words.
        ("grep", 10.0 + 1.0 / 1.0),
        // A part of the name, the description; the name has two parts.
        ("file-grep", 7.0 + 2.0 + 1.0 / 2.0),
        // Inside the name, which has two parts.
        ("egrep.all", 5.0 + 1.0 / 2.0),
    ];
    assert_eq!(found, expected);

    let found = with_names(&index, index.score_by_parts(&count_words("find grep fil")));
    let expected = [
        // `fil` is inside the name and the description, and `find` is absent: no bonus.
        ("file-grep", (7.0 + 2.0) + (5.0 + 2.0)),
        // `find` is in the description and a parameter.
        ("grep", 10.0 + (2.0 + 1.0)),
        ("egrep.all", 5.0),
    ];
    assert_eq!(found, expected);
}

#[test]
fn fusion_agrees_with_a_calculation_by_hand() {
    let index = greps();
    let query = count_words("grep");
    // By words: file-grep has it twice in 5 words, grep once in 7; egrep is a different word.
    let words: Vec<_> = with_names(&index, index.score_by_words(&query));
    assert_eq!([words[0].0, words[1].0], ["file-grep", "grep"]);
    assert_eq!(words.len(), 2);
    // By parts, with weight 2: grep, file-grep, egrep.all, as above.
    let found = with_names(&index, index.score_by_fusion(&query));
    let [("grep", first), ("file-grep", second), ("egrep.all", third)] = found[..] else {
        panic!("{found:?}");
    };
    assert_near(first, 1.0 / 62.0 + 2.0 / 61.0);
    assert_near(first, 0.048_915_917);
    assert_near(second, 1.0 / 61.0 + 2.0 / 62.0);
    assert_near(second, 0.048_651_507);
    assert_near(third, 2.0 / 63.0);
    assert_near(third, 0.031_746_032);
}

#[test]
fn fusion_uses_the_first_eighty_of_each_list() {
    let tools: Vec<_> = (0..100)
        .map(|at| tool(&format!("log_{at:02}"), "", &[]))
        .collect();
    let index = ToolIndex::new(&tools);
    let found = with_names(&index, index.score_by_fusion(&count_words("log")));
    assert_eq!(found.len(), 80);
    // All scores are equal, so the names decide: rank 80 in both lists.
    let (last, score) = found[79];
    assert_eq!(last, "log_79");
    assert_near(score, 3.0 / (60.0 + 80.0));
    let answered = index.rank(ToolRanking::Hybrid, "log").tool_names;
    assert_eq!(answered.len(), 20);
    assert_eq!((&*answered[0], &*answered[19]), ("log_00", "log_19"));
}

#[test]
fn the_text_of_a_tool_has_its_name_parameters_and_server() {
    let mut remote = tool(
        "createIssue",
        "Opens an issue",
        &[("labels", ""), ("title", "what it is about")],
    );
    remote.source = ToolSource::Mcp("git-hub".to_owned());
    let bare = harn_model::ToolSpec {
        schema: None,
        description: String::new(),
        ..tool("bare", "", &[])
    };
    let index = ToolIndex::new(&[remote, bare]);
    expect![[r#"
        createIssue
        Opens an issue
        labels
        title: what it is about
        mcp:git-hub
        git-hub"#]]
    .assert_eq(index.text("createIssue").unwrap());
    assert_eq!(index.text("bare"), Some("bare"));
    assert_eq!(index.text("nobody"), None);

    let finds = |query: &str| index.rank(ToolRanking::Bm25, query).tool_names == ["createIssue"];
    assert!(finds("HUB") && finds("mcp") && finds("createissue") && finds("about?"));
    // Names are not split at capitals, and there are no stop words.
    assert!(!finds("create") && finds("an"));
}

#[test]
fn the_first_of_two_with_the_same_name_counts() {
    let index = ToolIndex::new(&[tool("a", "first", &[]), tool("a", "second", &[])]);
    assert_eq!(index.names().collect::<Vec<_>>(), ["a"]);
    assert!(!index.rank(ToolRanking::Bm25, "first").tool_names.is_empty());
    assert!(
        index
            .rank(ToolRanking::Bm25, "second")
            .tool_names
            .is_empty()
    );
}

fn check(ranking: ToolRanking, query: &str, expected: Expect) {
    let outcome = greps().rank(ranking, query);
    let names = outcome.tool_names.join(" ");
    let diagnostic = outcome.diagnostic.unwrap_or_default();
    expected.assert_eq(format!("{names}\n{diagnostic}").trim());
}

#[test]
fn patterns_rank_by_how_often_they_match() {
    check(
        ToolRanking::Regex,
        "GREP",
        expect!["file-grep egrep.all grep"],
    );
    check(ToolRanking::Regex, "fi(nd|le)", expect!["file-grep grep"]);
    check(
        ToolRanking::Regex,
        "^grep$",
        expect!["no tool fits; try other or broader terms"],
    );
    check(ToolRanking::Regex, "(?m)^grep$", expect!["grep"]);
}

#[test]
fn an_invalid_pattern_becomes_a_diagnostic() {
    check(
        ToolRanking::Regex,
        "gr(ep",
        expect![[r#"
            the query is not a regular expression: regex parse error:
                gr(ep
                  ^
            error: unclosed group"#]],
    );
    check(
        ToolRanking::Regex,
        r"(?=grep)",
        expect![[r#"
            the query is not a regular expression: regex parse error:
                (?=grep)
                ^^^
            error: look-around, including look-ahead and look-behind, is not supported"#]],
    );
    check(
        ToolRanking::Regex,
        r"\w{1000}",
        expect![
            "the query is not a regular expression: Compiled regex exceeds size limit of 1048576 bytes."
        ],
    );
}

#[test]
fn a_blank_or_too_long_query_finds_nothing() {
    for ranking in ToolRanking::ALL {
        let blank = expect!["the query is blank; describe in a few words what the tool should do"];
        check(ranking, " \n", blank);
        let long = expect!["the query is longer than 1024 bytes; use a few words"];
        check(ranking, &"grep ".repeat(300), long);
        check(
            ranking,
            "%%%",
            expect!["no tool fits; try other or broader terms"],
        );
        assert!(
            ToolIndex::new(&[])
                .rank(ranking, "grep")
                .tool_names
                .is_empty()
        );
    }
}
