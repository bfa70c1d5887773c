//! Settles everything that a turn leaves open, so that no host waits for an event that never arrives.

use harn_model::{
    AgentEvent, AskId, CompositionRun, ContentBlock, Decision, ErrorCategory, FailureCategory,
    HitlOutcome, PermissionResolved, SessionInfo, SessionView, ToolCallUpdate, TurnId,
    TurnRecovered, WorkerCall, WorkerEvent, plain_text,
};

/// The reason why a turn leaves things open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LeftoverCause {
    Cancelled,
    /// The agent returned without ending them.
    Abandoned,
    Crashed,
}

impl LeftoverCause {
    /// Returns why an open tool call failed; `abandoned` is the text for an abandoned one.
    fn call_failure(self, abandoned: &'static str) -> (&'static str, ErrorCategory) {
        match self {
            Self::Cancelled => ("the turn was cancelled", ErrorCategory::Cancelled),
            Self::Abandoned => (abandoned, ErrorCategory::AbandonedAtLoopExit),
            Self::Crashed => (
                "interrupted: the agent stopped before this tool ended; it may have had effects",
                ErrorCategory::Cancelled,
            ),
        }
    }
}

/// Returns the end of a question about a tool call that is not answered.
pub(crate) fn cancelled_ask(ask_id: AskId) -> AgentEvent {
    AgentEvent::PermissionResolved(Box::new(PermissionResolved {
        ask_id,
        decision: Decision::Cancelled,
        remembered: None,
    }))
}

/// Returns the events that close everything the running turn leaves open: permission questions, calls,
/// compositions, requests to people and running workers.
pub(crate) fn settle(view: &SessionView, how: LeftoverCause) -> Vec<AgentEvent> {
    let Some(turn) = &view.open_turn else {
        return Vec::new();
    };
    let asks = turn.asks.keys().cloned().map(cancelled_ask);
    let questions = turn.questions.iter().map(|(request_id, question)| {
        let (request_id, kind) = (request_id.clone(), question.kind.clone());
        let outcome = HitlOutcome::Cancelled;
        AgentEvent::HitlResolved {
            request_id,
            kind,
            outcome,
        }
    });
    let calls = turn.calls.iter().map(|(id, call)| {
        let (error, category) = match call.parsing {
            true => ("its arguments did not arrive", ErrorCategory::ParseAborted),
            false => how.call_failure("the turn ended before this tool did"),
        };
        let update = ToolCallUpdate::failed(id.clone(), call.tool_name.clone(), error, category);
        AgentEvent::ToolCallUpdate(Box::new(update))
    });
    let worker_calls = turn.worker_calls.iter().map(|(id, call)| {
        let (error, category) = how.call_failure("the turn ended before this worker's tool did");
        let named = (id.clone(), call.tool_name.clone(), call.title.clone());
        let failed = WorkerCall::failed(call.lineage.clone(), named, error, category);
        AgentEvent::WorkerCall(Box::new(failed))
    });
    let runs = turn.runs.keys().map(|run_id| {
        let (error, category) = match how {
            LeftoverCause::Cancelled => ("the turn was cancelled", FailureCategory::Cancelled),
            LeftoverCause::Abandoned => ("the turn ended before it did", FailureCategory::Unknown),
            LeftoverCause::Crashed => {
                ("interrupted: the agent stopped", FailureCategory::Cancelled)
            }
        };
        AgentEvent::CompositionError(Box::new(CompositionRun {
            run_id: run_id.clone(),
            failure_category: Some(category),
            error: Some(error.to_owned()),
            ..CompositionRun::default()
        }))
    });
    let running = view
        .workers
        .values()
        .filter(|worker| worker.event.is_running());
    let workers = running.map(|worker| {
        let (event, error) = match how {
            LeftoverCause::Cancelled => (WorkerEvent::WorkerCancelled, "the turn was cancelled"),
            LeftoverCause::Abandoned => (
                WorkerEvent::WorkerCancelled,
                "the turn ended before this worker did",
            ),
            LeftoverCause::Crashed => (
                WorkerEvent::WorkerFailed,
                "interrupted: the agent stopped before this worker ended; it may have had effects",
            ),
        };
        let mut update = worker.with_event(event);
        update.metadata.error = Some(error.to_owned());
        AgentEvent::WorkerUpdate(Box::new(update))
    });
    let before = asks.chain(questions).chain(calls).chain(worker_calls);
    before.chain(runs).chain(workers).collect()
}

/// Returns the events that close a turn that a crash interrupted. `torn_bytes` were lost from the end of the log.
pub(crate) fn recovery_events(view: &SessionView, torn_bytes: u64) -> Vec<AgentEvent> {
    let open = view.open_turn.as_ref();
    if open.is_none() && torn_bytes == 0 {
        return Vec::new();
    }
    let mut events = settle(view, LeftoverCause::Crashed);
    if open.is_some() {
        let aged = view
            .reminders
            .changes_after_turn()
            .into_iter()
            .map(Box::new);
        events.extend(aged.map(AgentEvent::ReminderLifecycle));
    }
    events.push(AgentEvent::Recovered(Box::new(TurnRecovered {
        interrupted_calls: open.map_or_else(Vec::new, |t| t.calls.keys().cloned().collect()),
        withdrawn_asks: open.map_or_else(Vec::new, |t| t.asks.keys().cloned().collect()),
        torn_bytes,
    })));
    events
}

/// Returns the ends of prompts that waited at a crash, each in its own turn: nothing starts by itself when a
/// session is reopened, and the senders see the result.
pub(crate) fn withdrawn_prompts(view: &SessionView) -> Vec<(TurnId, AgentEvent)> {
    let waited = view.queued.iter().map(|queued| {
        let prompt = Box::new((*queued.prompt).clone());
        (queued.id.clone(), AgentEvent::PromptWithdrawn(prompt))
    });
    waited.collect()
}

/// Returns a title from the first line that a person typed. Editors put linked files in front of a prompt; they name
/// the session only if there is no text.
pub(crate) fn title_event(prompt: &[ContentBlock]) -> Option<AgentEvent> {
    const MAX: usize = 60;
    let typed = prompt.iter().find_map(|block| match block {
        ContentBlock::Text { text } => first_line(text).map(str::to_owned),
        ContentBlock::Resource(_)
        | ContentBlock::ResourceLink(_)
        | ContentBlock::Image { .. }
        | ContentBlock::Audio { .. } => None,
    });
    let attached = || first_line(&plain_text(prompt)).map(str::to_owned);
    let line = typed.or_else(attached)?;
    let title = match line.char_indices().nth(MAX) {
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
        None => line,
    };
    Some(AgentEvent::SessionInfo(SessionInfo {
        title: Some(title),
        chosen: false,
    }))
}

fn first_line(text: &str) -> Option<&str> {
    text.lines().map(str::trim).find(|line| !line.is_empty())
}
