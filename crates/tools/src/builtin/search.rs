//! `search` and `grep`: search the workspace as visible calls. They skip files that may not be read.

use std::path::{Path, PathBuf};

use harn_model::{Location, ToolContent, ToolExecutor};
use harn_runtime::{AgentError, BoxFuture, ToolError, ToolOutput, TurnContext};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    BuiltinTool, builtin_call,
    execution::{parse, run_by, to_json},
};
use crate::{
    GrepResult, SearchQuery, SearchResults, Survey, Toolbox, WalkSummary, Workspace,
    markdown::{code, shorten},
};

/// The default number of hits for a model; the constant below is the maximum.
const PLACES: usize = 10;
const MAX_PLACES: usize = 50;

/// The result of a search and the output of its call.
#[derive(Clone)]
pub(super) struct SearchCallOutput<T> {
    found: T,
    output: ToolOutput,
}

impl<T> From<SearchCallOutput<T>> for ToolOutput {
    fn from(searched: SearchCallOutput<T>) -> Self {
        searched.output
    }
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct SearchInput {
    query: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    limit: Option<usize>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct GrepInput {
    pattern: String,
}

/// The part of a search result that the journal stores.
#[derive(Serialize)]
struct SearchOutput<'a> {
    files_searched: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'a str>,
    hits: Vec<HitOutput<'a>>,
}

#[derive(Serialize)]
struct HitOutput<'a> {
    path: &'a str,
    line: u32,
    text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    passage: Option<[u32; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<f64>,
}

/// The scope of a search: a workspace or a part of it, and the folder its paths are relative to.
#[derive(Clone, Debug)]
pub struct SearchScope {
    root: PathBuf,
    files: Workspace,
}

impl SearchScope {
    /// Covers all directories of a session.
    pub fn for_session(cx: &TurnContext) -> Self {
        Self::new(cx.cwd(), session_workspace(cx))
    }

    /// Covers a part of the workspace at `root`.
    pub fn new(root: impl AsRef<Path>, files: Workspace) -> Self {
        let root = root.as_ref().to_owned();
        Self { root, files }
    }
}

/// Returns the directories of a session as a workspace.
fn session_workspace(cx: &TurnContext) -> Workspace {
    Workspace::new(cx.cwd()).with_directories(cx.additional_directories())
}

/// The errors for arguments without a query or a pattern.
const NO_WORDS: &str = "the arguments have no words to search for";
const NO_PATTERN: &str = "the arguments have no pattern";

/// Calls `search` for a model.
pub(super) async fn call_search(cx: &TurnContext, input: Value) -> Result<ToolOutput, AgentError> {
    let SearchInput { query, .. } = parse(&input, NO_WORDS)?;
    let (searched, _) =
        survey(cx, SearchScope::for_session(cx), parse_query(&query), input).await?;
    Ok(searched.output)
}

impl Toolbox {
    /// Calls `search`; also returns the data to rank the hits together with those of other parts.
    pub async fn search(
        &self,
        cx: &TurnContext,
        part: SearchScope,
        query: SearchQuery,
        limit: usize,
    ) -> Result<(SearchResults, Option<Survey>), AgentError> {
        let input = to_json(SearchInput {
            query: query.words().join(" "),
            limit: Some(limit),
        });
        let (searched, kept) = survey(cx, part, query, input).await?;
        Ok((searched.found, kept))
    }

    /// Calls `grep`.
    pub async fn grep(&self, cx: &TurnContext, pattern: &str) -> Result<GrepResult, AgentError> {
        let input = to_json(GrepInput {
            pattern: pattern.to_owned(),
        });
        Ok(call_grep(cx, input).await?.found)
    }
}

/// The result of a search, and the data to rank it together with other parts.
type SurveyedSearch = (SearchCallOutput<SearchResults>, Option<Survey>);

fn survey<'a>(
    cx: &'a TurnContext,
    part: SearchScope,
    query: SearchQuery,
    input: Value,
) -> BoxFuture<'a, Result<SurveyedSearch, AgentError>> {
    Box::pin(async move {
        let filter = cx.host().read_filter().await;
        let files = part.files.with_filter(move |path| filter.allows(path));
        let words = query.words().join(" ");
        let tool = builtin_call(cx, BuiltinTool::Search).input(input.clone());
        let call = tool
            .title(format!("Search for \"{words}\""))
            .start()
            .await?;
        let decided = call.input().clone();
        let mut kept = None;
        let work = async {
            let SearchInput { query: text, limit } = parse(&decided, NO_WORDS)?;
            // The permission answer may have replaced the words.
            let query = match decided == input {
                true => query,
                false => parse_query(&text),
            };
            let limit = limit.unwrap_or(PLACES).min(MAX_PLACES);
            let (found, survey) = files.survey(query, limit).await?;
            kept = Some(survey);
            let hits = found.hits.iter().map(|hit| HitOutput {
                path: &hit.path,
                line: hit.line,
                text: &hit.text,
                passage: Some([hit.first, hit.last]),
                // Further digits of a score mean nothing.
                score: Some((hit.score * 100.0).round() / 100.0),
            });
            let output = build_output(&part.root, &found.walked, hits.collect());
            Ok::<_, ToolError>(SearchCallOutput { found, output })
        };
        let searched = run_by(cx, call, ToolExecutor::HarnBuiltin, work).await?;
        Ok((searched, kept))
    })
}

/// Parses a text into a query. If it has only stop words, the query uses all of them.
fn parse_query(text: &str) -> SearchQuery {
    let question = SearchQuery::question(text);
    if question.is_empty() {
        SearchQuery::from_text(text)
    } else {
        question
    }
}

/// Calls `grep` and returns the matching lines.
pub(super) fn call_grep<'a>(
    cx: &'a TurnContext,
    input: Value,
) -> BoxFuture<'a, Result<SearchCallOutput<GrepResult>, AgentError>> {
    Box::pin(async move {
        let GrepInput { pattern } = parse(&input, NO_PATTERN)?;
        let filter = cx.host().read_filter().await;
        let workspace = session_workspace(cx).with_filter(move |path| filter.allows(path));
        let tool = builtin_call(cx, BuiltinTool::Grep).input(input);
        let call = tool
            .title(format!("Lines that match {pattern}"))
            .start()
            .await?;
        let input = call.input().clone();
        let work = async {
            // The permission answer may have replaced the pattern.
            let GrepInput { pattern } = parse(&input, NO_PATTERN)?;
            let found = workspace.grep(&pattern).await?;
            let hits = found.lines.iter().map(|line| HitOutput {
                path: &line.path,
                line: line.line,
                text: &line.text,
                passage: None,
                score: None,
            });
            let output = build_output(cx.cwd(), &found.walked, hits.collect());
            Ok::<_, ToolError>(SearchCallOutput { found, output })
        };
        run_by(cx, call, ToolExecutor::HarnBuiltin, work).await
    })
}

fn build_output(root: &Path, walked: &WalkSummary, hits: Vec<HitOutput<'_>>) -> ToolOutput {
    let mut shown: String = hits
        .iter()
        .map(|h| short_item(h.path, h.line, h.text))
        .collect();
    if hits.is_empty() {
        shown = format!("Nothing found in {} files.", walked.files);
    }
    if let Some(note) = &walked.note {
        shown.push_str(&format!("\nNote: {note}."));
    }
    let location = |hit: &HitOutput<'_>| Location {
        path: root.join(hit.path).display().to_string(),
        line: Some(hit.line),
    };
    ToolOutput {
        locations: Some(hits.iter().map(location).collect()),
        content: Some(vec![ToolContent::text(shown)]),
        raw: Some(to_json(SearchOutput {
            files_searched: walked.files,
            note: walked.note.as_deref(),
            hits,
        })),
        ..ToolOutput::default()
    }
}

/// Formats a position and its text as an item of a list.
pub fn short_item(path: &str, line: u32, text: &str) -> String {
    const MAX: usize = 120;
    let text = shorten(text, MAX);
    let text = if text.is_empty() {
        text
    } else {
        format!(" — {}", code(&text))
    };
    format!("- {}{text}\n", code(&format!("{path}:{line}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_item_formats_a_list_item() {
        assert_eq!(short_item("a", 3, "x `y`"), "- `a:3` — `` x `y` ``\n");
        assert_eq!(short_item("a", 3, ""), "- `a:3`\n");
    }
}
