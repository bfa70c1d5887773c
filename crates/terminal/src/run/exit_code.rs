//! The exit code of `run`, and the note about a turn that stopped early.

use std::process::ExitCode;

use agent_client_protocol::v1::schema::StopReason;

use crate::console::print_note;

/// The exit code of an interrupted program, as shells report it.
pub(super) const INTERRUPTED: u8 = 130;

pub(super) fn exit_code(end: StopReason, problem: Option<&str>) -> ExitCode {
    let words = match (end, problem) {
        (StopReason::EndTurn, None) => return ExitCode::SUCCESS,
        (StopReason::EndTurn, Some(problem)) => problem,
        (end, _) => match stop_message(end) {
            Some(words) => words,
            None => return ExitCode::from(INTERRUPTED),
        },
    };
    print_note(words);
    ExitCode::FAILURE
}

/// Returns why the agent stopped early; none if it was cancelled.
fn stop_message(end: StopReason) -> Option<&'static str> {
    Some(match end {
        StopReason::Cancelled => return None,
        StopReason::MaxTokens => "the agent reached its token limit",
        StopReason::MaxTurnRequests => "the agent reached its request limit",
        StopReason::Refusal => "the agent refused to continue",
        _ => "the agent stopped for an unknown reason",
    })
}
