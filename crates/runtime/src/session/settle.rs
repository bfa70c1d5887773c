//! Settling: what a turn leaves open is closed, so that no host waits for something that never comes.

use harn_model::{
    AgentEvent, Decision, ErrorCategory, OpenTurn, PermissionResolved, Recovered, SessionInfo,
    ToolCallUpdate, plain_text,
};

/// How a turn came to leave things open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leftover {
    /// It was cancelled.
    Cancelled,
    /// The agent returned without ending them.
    Abandoned,
    /// The process died.
    Crashed,
}

/// Events that close every ask and every call of `turn` that is still open.
pub(crate) fn settle(turn: &OpenTurn, how: Leftover) -> Vec<AgentEvent> {
    let asks = turn.asks.keys().map(|ask_id| {
        AgentEvent::PermissionResolved(Box::new(PermissionResolved {
            ask_id: ask_id.clone(),
            decision: Decision::Cancelled,
        }))
    });
    let (error, category) = match how {
        Leftover::Cancelled => ("the turn was cancelled", ErrorCategory::Cancelled),
        Leftover::Abandoned => (
            "the turn ended before this tool did",
            ErrorCategory::AbandonedAtLoopExit,
        ),
        Leftover::Crashed => (
            "interrupted: the agent stopped before this tool ended; it may have had effects",
            ErrorCategory::Cancelled,
        ),
    };
    let calls = turn.calls.iter().map(|(id, call)| {
        let update = ToolCallUpdate::failed(id.clone(), call.tool_name.clone(), error, category);
        AgentEvent::ToolCallUpdate(Box::new(update))
    });
    asks.chain(calls).collect()
}

/// Events that close a turn which a crash cut short. `torn_bytes` were lost from the end of the log.
pub(crate) fn recovery_events(open: Option<&OpenTurn>, torn_bytes: u64) -> Vec<AgentEvent> {
    if open.is_none() && torn_bytes == 0 {
        return Vec::new();
    }
    let mut events = open.map_or_else(Vec::new, |turn| settle(turn, Leftover::Crashed));
    events.push(AgentEvent::Recovered(Box::new(Recovered {
        interrupted_calls: open.map_or_else(Vec::new, |t| t.calls.keys().cloned().collect()),
        withdrawn_asks: open.map_or_else(Vec::new, |t| t.asks.keys().cloned().collect()),
        torn_bytes,
    })));
    events
}

/// A title from the first line of a prompt.
pub(crate) fn title(prompt: &[harn_model::ContentBlock]) -> Option<AgentEvent> {
    const MAX: usize = 60;
    let text = plain_text(prompt);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    let title = match line.char_indices().nth(MAX) {
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
        None => line.to_owned(),
    };
    Some(AgentEvent::SessionInfo(SessionInfo { title: Some(title) }))
}
