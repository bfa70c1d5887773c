//! Searching the workspace, as calls that can be seen, and the commands that only search.

use std::path::Path;

use harn_model::{Location, ToolContent, ToolExecutor};
use harn_runtime::{AgentError, ToolOutput, TurnContext};
use harn_tools::{Builtin, Found, Grepped, Query, SearchError, Survey, Walked, Workspace};
use serde::Serialize;

use super::{
    call::{built_in, run_by},
    files::{told, value},
    markdown::{code, list},
    place::short_item,
    results,
};

/// The most lines of a `/grep` that are said; the call has the rest.
const SAID: usize = 30;

/// What a search found, and how its call shows it.
#[derive(Clone)]
struct Searched<T> {
    found: T,
    output: ToolOutput,
}

impl<T> From<Searched<T>> for ToolOutput {
    fn from(searched: Searched<T>) -> Self {
        searched.output
    }
}

#[derive(Serialize)]
struct SearchInput<'a> {
    query: &'a str,
    limit: usize,
}

#[derive(Serialize)]
struct GrepInput<'a> {
    pattern: &'a str,
}

/// What a log keeps of a search.
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

/// Searches for the best places.
pub(super) async fn search(
    cx: &TurnContext,
    query: Query,
    limit: usize,
) -> Result<Found, AgentError> {
    let everything = Workspace::new(cx.cwd());
    survey(cx, cx.cwd(), everything, query, limit, drop).await
}

/// Searches a part of the workspace at `root`, which paths start from. `keep` takes what is needed to
/// rank its places together with those of other parts.
pub(super) async fn survey(
    cx: &TurnContext,
    root: &Path,
    part: Workspace,
    query: Query,
    limit: usize,
    keep: impl FnOnce(Survey) + Send,
) -> Result<Found, AgentError> {
    let words = query.words().join(" ");
    let input = value(SearchInput {
        query: &words,
        limit,
    });
    let filter = cx.host().read_filter().await;
    let part = part.only(move |path| filter.allows(path));
    let tool = built_in(cx, Builtin::Search).input(input);
    let call = tool
        .title(format!("Search for \"{words}\""))
        .start()
        .await?;
    let work = async {
        let (found, survey) = part.survey(query, limit).await?;
        keep(survey);
        let hits = found.hits.iter().map(|hit| HitOutput {
            path: &hit.path,
            line: hit.line,
            text: &hit.text,
            passage: Some([hit.first, hit.last]),
            // Scores differ in digits that mean nothing.
            score: Some((hit.score * 100.0).round() / 100.0),
        });
        let output = output(root, &found.walked, hits.collect());
        Ok::<_, SearchError>(Searched { found, output })
    };
    Ok(run_by(cx, call, ToolExecutor::HarnBuiltin, work)
        .await?
        .found)
}

/// `/find WORDS`.
pub(super) async fn find(cx: &TurnContext, words: &str) -> Result<(), AgentError> {
    let query = Query::words_of(words);
    if query.is_empty() {
        return cx.say(nothing(&[words.to_owned()])).await;
    }
    let found = match told(search(cx, query.clone(), results(cx)).await)? {
        Ok(found) => found,
        Err(reason) => return cx.say(format!("Not searched: {reason}.")).await,
    };
    if found.hits.is_empty() {
        return cx.say(nothing(query.words())).await;
    }
    for hit in &found.hits {
        cx.say(short_item(&hit.path, hit.line, &hit.text)).await?;
    }
    say_note(cx, &found.walked).await
}

/// `/grep REGEX`.
pub(super) async fn grep(cx: &TurnContext, pattern: &str) -> Result<(), AgentError> {
    let input = value(GrepInput { pattern });
    let filter = cx.host().read_filter().await;
    let workspace = Workspace::new(cx.cwd()).only(move |path| filter.allows(path));
    let tool = built_in(cx, Builtin::Grep).input(input);
    let call = tool
        .title(format!("Lines that match {pattern}"))
        .start()
        .await?;
    let pattern = pattern.to_owned();
    let shown_pattern = code(&pattern);
    let work = async {
        let found = workspace.grep(&pattern).await?;
        let hits = found.lines.iter().map(|line| HitOutput {
            path: &line.path,
            line: line.line,
            text: &line.text,
            passage: None,
            score: None,
        });
        let output = output(cx.cwd(), &found.walked, hits.collect());
        Ok::<_, SearchError>(Searched { found, output })
    };
    let done = run_by(cx, call, ToolExecutor::HarnBuiltin, work).await;
    let found: Grepped = match told(done)? {
        Ok(searched) => searched.found,
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

/// What to say when nothing fits.
pub(super) fn nothing(words: &[String]) -> String {
    let words: Vec<_> = words.iter().map(|word| code(word)).collect();
    format!(
        "Nothing in this workspace mentions {}. Try other words, `/find WORDS` to search for each word \
         as it is, or `/grep REGEX` for an exact text. Hidden, ignored, binary and very large files are \
         not searched.",
        list(&words)
    )
}

/// Says what a search left out.
pub(super) async fn say_note(cx: &TurnContext, walked: &Walked) -> Result<(), AgentError> {
    match &walked.note {
        Some(note) => cx.say(format!("\nNote: {note}.\n")).await,
        None => Ok(()),
    }
}

fn output(root: &Path, walked: &Walked, hits: Vec<HitOutput<'_>>) -> ToolOutput {
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
        raw: Some(value(SearchOutput {
            files_searched: walked.files,
            note: walked.note.as_deref(),
            hits,
        })),
        ..ToolOutput::default()
    }
}
