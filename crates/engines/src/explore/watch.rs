//! `/watch GLOB`: stays in the turn, reports changed files and answers messages meanwhile.
//!
//! There is one watch at a time: a new one replaces it. Like searching, it reads the disk itself, and reports only
//! files that the agent may read.

mod change;

use std::pin::Pin;

use harn_model::{
    AgentEvent, ContentBlock, FsWatchEvent, ReminderSource, SystemReminder, ToolContent,
    ToolExecutor, WakeReason,
};
use harn_runtime::{AgentError, Steering, ToolError, ToolOutput, TurnContext};
use harn_tools::{BuiltinTool, FileWatch, fail_by, run_unless_cancelled};
use serde::{Deserialize, Serialize};

use super::{
    files::{separate_tool_failure, to_json},
    markdown::code,
    prompt::{ExploreRequest, Prompt},
};

/// The reply to `/unwatch` if there is no watch.
pub(super) const NOTHING: &str = "Nothing is watched. `/watch GLOB` watches files.";

/// The number of turns for which the reminder of a change stays valid.
const REMEMBERED: u64 = 2;

type WatchFuture<'a> = Pin<Box<dyn Future<Output = Result<(), AgentError>> + Send + 'a>>;

/// Watches until the turn is cancelled or a user sends `/unwatch`. Boxed because it is recursive: it answers
/// messages like prompts, and a message may be `/watch`.
pub(super) fn watch<'a>(cx: &'a TurnContext, glob: &'a str) -> WatchFuture<'a> {
    Box::pin(async move {
        let mut watcher = WatchTurn {
            cx,
            begun: 0,
            files: None,
        };
        watcher.begin(glob).await?;
        watcher.wait_for_changes().await
    })
}

struct WatchTurn<'a> {
    cx: &'a TurnContext,
    /// The number of watches that were started.
    begun: usize,
    files: Option<WatchedFiles>,
}

impl WatchTurn<'_> {
    /// Starts a watch and replaces the current one. A glob that cannot be watched leaves the current one as it is.
    async fn begin(&mut self, glob: &str) -> Result<(), AgentError> {
        let id = format!("watch-{}-{}", self.cx.turn_id(), self.begun + 1);
        match separate_tool_failure(WatchedFiles::start(self.cx, id, glob).await)? {
            Ok(files) => {
                self.begun += 1;
                let how = "Each change is reported here; `/unwatch` or a cancel ends the watch.";
                let sum = files.describe(files.count(self.cx).await);
                let opening = format!("Watching {sum}. {how}\n\n");
                self.files = Some(files);
                self.cx.say(opening).await
            }
            Err(reason) => {
                let still = match &self.files {
                    Some(files) => format!(" Still watching {}.", code(&files.glob)),
                    None => String::new(),
                };
                self.cx
                    .say(format!("Not watched: {reason}.{still}\n\n"))
                    .await
            }
        }
    }

    /// Waits for changes and messages until there is no watch.
    async fn wait_for_changes(&mut self) -> Result<(), AgentError> {
        let cx = self.cx;
        while let Some(files) = &mut self.files {
            let mut events = Vec::new();
            let woke = cx
                .idle()
                .wake_when(async { events = files.next_changes(cx).await })
                .await?;
            // Check for changes whatever the reason: both may have arrived at once.
            if !events.is_empty() {
                files.report(cx, events).await?;
            } else if woke.reason == WakeReason::Resume {
                let sum = files.describe(files.count(cx).await);
                cx.say(format!("Still watching {sum}.\n\n")).await?;
            }
            for came in woke.delivered {
                match came {
                    Steering::Message { content, .. } => self.answer(&content).await?,
                    // The changes of its own reminders were already reported.
                    Steering::Reminder(own) if own.source == ReminderSource::InPipeline => {}
                    Steering::Reminder(reminder) => {
                        cx.say(format!("Reminded: {}\n\n", reminder.body)).await?;
                    }
                }
            }
        }
        Ok(())
    }

    async fn answer(&mut self, content: &[ContentBlock]) -> Result<(), AgentError> {
        let prompt = Prompt::new(content);
        match (prompt.request(), self.files.take()) {
            (ExploreRequest::Watch(glob), files) => {
                self.files = files;
                self.begin(glob).await
            }
            (ExploreRequest::Unwatch, Some(files)) => {
                let glob = code(&files.glob);
                self.cx.say(format!("No longer watching {glob}.\n\n")).await
            }
            (request, files) => {
                self.files = files;
                super::respond(self.cx, request, &prompt.attached).await?;
                // A blank line separates the next change.
                self.cx.say("\n\n").await
            }
        }
    }
}

#[derive(Deserialize, Serialize)]
struct WatchInput {
    glob: String,
}

#[derive(Serialize)]
struct WatchOutput {
    files: usize,
}

struct WatchedFiles {
    /// The subscription id that hosts receive.
    id: String,
    glob: String,
    watch: FileWatch,
    /// Changes that were received and not yet reported.
    heard: Vec<FsWatchEvent>,
}

impl WatchedFiles {
    /// Starts a watch, as a visible call.
    async fn start(cx: &TurnContext, id: String, glob: &str) -> Result<Self, AgentError> {
        let input = to_json(WatchInput {
            glob: glob.to_owned(),
        });
        // For the rules, a watch lists files, repeatedly.
        let tool = cx.tool("watch_files");
        let tool = tool.annotations(BuiltinTool::ListFiles.annotations());
        let call = tool.input(input).title(format!("Watch {glob}"));
        let call = call.start().await?;
        let (root, input) = (cx.cwd().to_owned(), call.input().clone());
        let start = tokio::task::spawn_blocking(move || {
            let unclear = |error| ToolError::new(format!("the arguments name no files: {error}"));
            // The user who was asked may have named other files.
            let WatchInput { glob } = serde_json::from_value(input).map_err(unclear)?;
            match FileWatch::start(&root, &glob) {
                Ok(watch) => Ok((glob, watch)),
                Err(error) => Err(ToolError::new(error.to_string())),
            }
        });
        let by = ToolExecutor::HarnBuiltin;
        let lost = |_| Err(ToolError::new("the watch could not be started"));
        let started = run_unless_cancelled(cx, start).await?.unwrap_or_else(lost);
        let (glob, watch) = match started {
            Ok(started) => started,
            Err(error) => return Err(fail_by(call, by, error).await?),
        };
        let files = Self {
            id,
            glob,
            watch,
            heard: Vec::new(),
        };
        let count = files.count(cx).await;
        let output = ToolOutput {
            content: Some(vec![ToolContent::text(files.describe(count))]),
            raw: Some(to_json(WatchOutput { files: count })),
            executor: Some(by),
            ..ToolOutput::default()
        };
        call.complete(output).await?;
        Ok(files)
    }

    /// Returns the number of matching files that the agent may read. The others are not counted: a glob can name a
    /// single file.
    async fn count(&self, cx: &TurnContext) -> usize {
        let (filter, files) = (cx.host().read_filter().await, self.watch.files());
        let count = tokio::task::spawn_blocking(move || {
            files.iter().filter(|path| filter.allows(path)).count()
        });
        // If the files cannot be checked, none is reported.
        count.await.unwrap_or_default()
    }

    /// Describes the watch and the number of matching files.
    fn describe(&self, count: usize) -> String {
        let match_now = match count {
            0 => "no file matches yet".to_owned(),
            1 => "1 file matches".to_owned(),
            n => format!("{n} files match"),
        };
        format!("{}: {match_now}", code(&self.glob))
    }

    /// Returns the next changes of files that the agent may read. Cancel safe.
    async fn next_changes(&mut self, cx: &TurnContext) -> Vec<FsWatchEvent> {
        loop {
            if self.heard.is_empty() {
                self.heard = self.watch.changed().await;
            }
            // Rules may have changed since the last time.
            let (filter, heard) = (cx.host().read_filter().await, self.heard.clone());
            let readable = tokio::task::spawn_blocking(move || {
                change::retain_readable(heard, |path| filter.allows(path))
            });
            // If the files cannot be checked, none is reported.
            let readable = readable.await.unwrap_or_default();
            self.heard.clear();
            if !readable.is_empty() {
                return readable;
            }
        }
    }

    /// Reports changes to the client and adds a reminder for the agent.
    async fn report(&self, cx: &TurnContext, events: Vec<FsWatchEvent>) -> Result<(), AgentError> {
        let line = change::describe_changes(&events);
        let body = change::reminder(&events);
        let subscription_id = self.id.clone();
        cx.emit(AgentEvent::FsWatch {
            subscription_id,
            events,
        })
        .await?;
        if let Some(body) = body {
            cx.remind(SystemReminder {
                tags: vec!["workspace".to_owned()],
                dedupe_key: Some(self.id.clone()),
                ttl_turns: Some(REMEMBERED),
                ..SystemReminder::new("", body)
            })
            .await?;
            // Without a model, the agent reads its reminders here.
            cx.reminders().await?;
        }
        cx.say(format!("{line}\n\n")).await
    }
}
