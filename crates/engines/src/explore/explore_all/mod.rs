//! `/explore-all WORDS`: one worker per top-level folder searches it, several at a time, and the best hits of all
//! of them make one answer.
//!
//! The workers belong to the turn: the runtime ends them all on a cancel.

mod part;
mod plan;

use std::collections::VecDeque;

use harn_runtime::{AgentError, BoxFuture, TurnContext, WorkerError, WorkerReport};
use harn_tools::{SearchError, SearchQuery, Survey, Workspace};
use tokio::task::{JoinError, JoinSet};

use self::{
    part::{ExplorePart, SurveySlot},
    plan::ExplorePlan,
};
use super::{
    files::separate_tool_failure,
    markdown::{code, join_with_and},
    question::{ExploreAnswer, list_top},
    result_limit,
    search::describe_no_hits,
};

/// The number of folders that are searched at a time.
const AT_ONCE: usize = 8;
/// The maximum number of failed folders that the answer names.
const NAMED: usize = 10;

/// Answers a question with the hits of all folders.
pub(super) fn explore<'a>(
    cx: &'a TurnContext,
    words: &'a str,
) -> BoxFuture<'a, Result<(), AgentError>> {
    Box::pin(async move {
        let query = match SearchQuery::question(words) {
            // The question has only stop words: search for them.
            query if query.is_empty() => SearchQuery::from_text(words),
            query => query,
        };
        if query.is_empty() {
            return cx.say(describe_no_hits(&[words.to_owned()])).await;
        }
        let top = match separate_tool_failure(list_top(cx).await)? {
            Ok(top) => top,
            Err(reason) => return cx.say(format!("Not listed: {reason}.")).await,
        };
        let parts = ExplorePart::list_parts(cx.cwd(), &top, cx.additional_directories());
        if parts.is_empty() {
            return cx
                .say("There is nothing to search in this workspace.")
                .await;
        }
        let mut board = ExplorePlan::new(cx, &parts);
        let gathered = gather(cx, &parts, &query, &mut board).await?;
        let sum = gathered.summarize(&parts);
        if gathered.surveys.is_empty() {
            cx.say(sum).await?;
            return board.finish().await;
        }
        let workspace = Workspace::new(cx.cwd());
        let found = workspace.rank(gathered.surveys, result_limit(cx)).await;
        let found = found.map_err(|error: SearchError| AgentError::failed(error))?;
        let files = found.walked.files;
        let answer = ExploreAnswer::read(cx, &query, found).await?;
        answer.say(cx, &query, true).await?;
        let noun = if files == 1 { "file" } else { "files" };
        cx.say(format!("\n\nSearched {files} {noun} in {sum}"))
            .await?;
        board.finish().await
    })
}

/// The surveys of the finished workers, and the failures.
#[derive(Default)]
struct WorkerSurveys {
    surveys: Vec<Survey>,
    /// The number of surveys that are of folders.
    folders: usize,
    /// Whether a survey is of the top-level files.
    top: bool,
    /// The parts that could not be searched, each with its reason.
    failed: Vec<(usize, String)>,
}

/// A finished worker: the index of its part, its survey and its report.
type FinishedPart = (usize, SurveySlot, WorkerReport);

/// Searches every part with a worker, a few at a time.
async fn gather(
    cx: &TurnContext,
    parts: &[ExplorePart],
    query: &SearchQuery,
    board: &mut ExplorePlan<'_>,
) -> Result<WorkerSurveys, AgentError> {
    let mut gathered = WorkerSurveys::default();
    let mut waiting: VecDeque<usize> = (0..parts.len()).collect();
    let mut running = JoinSet::new();
    let mut at_once = AT_ONCE;
    board.show().await?;
    loop {
        while running.len() < at_once
            && let Some(at) = waiting.pop_front()
        {
            match parts[at].start(cx, query).await {
                Ok((worker, slot)) => {
                    board.mark_begun(at);
                    running.spawn(async move { (at, slot, worker.wait_until_finished().await) });
                }
                Err(WorkerError::TurnOver) => return Err(AgentError::Cancelled),
                // This server allows fewer workers: the remaining parts wait.
                Err(WorkerError::TooMany { .. }) if !running.is_empty() => {
                    waiting.push_front(at);
                    at_once = running.len();
                }
                Err(error) => {
                    board.mark_done(at);
                    gathered.failed.push((at, error.to_string()));
                }
            }
        }
        board.show().await?;
        let ended = tokio::select! {
            biased;
            () = cx.cancelled() => return Err(AgentError::Cancelled),
            ended = running.join_next() => ended,
        };
        let Some(ended) = ended else {
            return Ok(gathered);
        };
        gathered.add(parts, ended, board)?;
        // Show workers that ended together in one update.
        while let Some(ended) = running.try_join_next() {
            gathered.add(parts, ended, board)?;
        }
    }
}

impl WorkerSurveys {
    fn add(
        &mut self,
        parts: &[ExplorePart],
        ended: Result<FinishedPart, JoinError>,
        board: &mut ExplorePlan<'_>,
    ) -> Result<(), AgentError> {
        let (at, slot, report) = ended.map_err(AgentError::failed)?;
        board.mark_done(at);
        match slot.take() {
            Some(survey) if report.is_ok() => {
                self.surveys.push(survey);
                match parts[at] {
                    ExplorePart::Folder(_) | ExplorePart::Directory(_) => self.folders += 1,
                    ExplorePart::Top => self.top = true,
                }
            }
            _ => {
                let reason = report.error;
                let reason = reason.unwrap_or_else(|| "it returned no result".to_owned());
                self.failed.push((at, reason));
            }
        }
        Ok(())
    }

    /// Describes what was searched and what was not, to follow "Searched 3 files in "; a sentence of its own if
    /// every part failed.
    fn summarize(&self, parts: &[ExplorePart]) -> String {
        let folders = match self.folders {
            1 => "1 folder".to_owned(),
            count => format!("{count} folders"),
        };
        let mut out = match (self.folders, self.top) {
            (0, false) => "Nothing could be searched.".to_owned(),
            (0, true) => "the workspace, which has no folders.".to_owned(),
            (_, true) => format!("{folders} and the top level."),
            (_, false) => format!("{folders}."),
        };
        let mut failed = self.failed.clone();
        if failed.is_empty() {
            return out;
        }
        failed.sort();
        let more = failed.len().saturating_sub(NAMED);
        let named = failed.iter().take(NAMED);
        let mut named: Vec<_> = named
            .map(|(at, reason)| format!("{} ({reason})", code(&parts[*at].display_name())))
            .collect();
        if more > 0 {
            named.push(format!("{more} more"));
        }
        out.push_str(&format!(" Not searched: {}.", join_with_and(&named)));
        out
    }
}
