//! Searches the workspace, and implements the commands that only search.

use harn_runtime::{AgentError, TurnContext};
use harn_tools::{GrepResult, SearchQuery, SearchResults, SearchScope, WalkSummary, short_item};

use super::{
    files::separate_tool_failure,
    markdown::{code, join_with_and},
    result_limit, toolbox,
};

/// The maximum number of `/grep` lines in the reply; the call's result has the rest.
const SAID: usize = 30;

pub(super) async fn search(
    cx: &TurnContext,
    query: SearchQuery,
    limit: usize,
) -> Result<SearchResults, AgentError> {
    let everything = SearchScope::for_session(cx);
    let (found, _) = toolbox(cx).search(cx, everything, query, limit).await?;
    Ok(found)
}

pub(super) async fn find(cx: &TurnContext, words: &str) -> Result<(), AgentError> {
    let query = SearchQuery::from_text(words);
    if query.is_empty() {
        return cx.say(describe_no_hits(&[words.to_owned()])).await;
    }
    let found = match separate_tool_failure(search(cx, query.clone(), result_limit(cx)).await)? {
        Ok(found) => found,
        Err(reason) => return cx.say(format!("Not searched: {reason}.")).await,
    };
    if found.hits.is_empty() {
        return cx.say(describe_no_hits(query.words())).await;
    }
    for hit in &found.hits {
        cx.say(short_item(&hit.path, hit.line, &hit.text)).await?;
    }
    say_note(cx, &found.walked).await
}

pub(super) async fn grep(cx: &TurnContext, pattern: &str) -> Result<(), AgentError> {
    let shown_pattern = code(pattern);
    let found: GrepResult = match separate_tool_failure(toolbox(cx).grep(cx, pattern).await)? {
        Ok(found) => found,
        Err(reason) => return cx.say(format!("Not searched: {reason}.")).await,
    };
    let count = found.lines.len();
    if count == 0 {
        return cx.say(format!("No line matches {shown_pattern}.")).await;
    }
    let more = if found.more { "More than " } else { "" };
    let lines = if count == 1 {
        "line matches"
    } else {
        "lines match"
    };
    cx.say(format!("{more}{count} {lines} {shown_pattern}:\n\n"))
        .await?;
    for line in found.lines.iter().take(SAID) {
        cx.say(short_item(&line.path, line.line, &line.text))
            .await?;
    }
    if count > SAID {
        let rest = count - SAID;
        cx.say(format!("\n{rest} more are in the call's result.\n"))
            .await?;
    }
    say_note(cx, &found.walked).await
}

/// Returns the reply for a search without hits.
pub(super) fn describe_no_hits(words: &[String]) -> String {
    let words: Vec<_> = words.iter().map(|word| code(word)).collect();
    format!(
        "Nothing in this workspace mentions {}. Try other words, `/find WORDS` to search for each word \
         as it is, or `/grep REGEX` for an exact text. Hidden, ignored, binary and very large files are \
         not searched.",
        join_with_and(&words)
    )
}

/// Sends a note about files that a search left out.
pub(super) async fn say_note(cx: &TurnContext, walked: &WalkSummary) -> Result<(), AgentError> {
    match &walked.note {
        Some(note) => cx.say(format!("\nNote: {note}.\n")).await,
        None => Ok(()),
    }
}
