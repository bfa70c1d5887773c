//! Writes responses: the report of a run, or an error. Pure.
//!
//! Tools that the engine runs itself are never directives: a Shell would run them again.

mod approval;
mod card;
mod message;
#[cfg(test)]
mod tests;

use harn_model::{StopReason, Timestamp};
use serde::Serialize;

use crate::{
    error::OpenHarnessError,
    ext,
    report::{RunPhase, RunReport},
    request::{EchoedIds, ShellRequest},
    wire::{
        Continuation, OpenHarnessResponse, ResponseError, ResponsePayload, ResponseStatus,
        directive::{
            Directive, DirectiveAction, DirectiveExecution, DirectivePriority, NoopPayload,
        },
    },
};

/// Returns the envelope that reports a run.
pub(crate) fn run_response(asked: &ShellRequest, told: &RunReport, now: Timestamp) -> Vec<u8> {
    let fault = run_error(&told.state);
    let response = ResponsePayload {
        status: fault
            .as_ref()
            .map_or(ResponseStatus::Success, |_| ResponseStatus::Error),
        engine_latency_ms: Some(told.until.saturating_sub(told.began_at)),
        action_directives: Some(directives(asked, told, now)),
        error: fault.as_ref().map(response_error),
        continuation: Some(continuation(told)),
        extensions: Some(ext::run_extension(told)),
    };
    encode(&OpenHarnessResponse::new(
        &asked.echo,
        &asked.shell.denied,
        response,
    ))
}

/// Returns the envelope for an error.
pub(crate) fn error_response(echo: &EchoedIds, fault: &OpenHarnessError) -> Vec<u8> {
    let response = ResponsePayload {
        status: ResponseStatus::Error,
        engine_latency_ms: None,
        action_directives: Some(Vec::new()),
        error: Some(response_error(fault)),
        continuation: None,
        extensions: None,
    };
    encode(&OpenHarnessResponse::new(echo, &[], response))
}

fn encode(answer: &impl Serialize) -> Vec<u8> {
    // Every value in it has a form in JSON.
    serde_json::to_vec(answer).unwrap_or_default()
}

/// Returns the error for a run that failed. A stop that the agent decided on is no failure.
fn run_error(state: &RunPhase) -> Option<OpenHarnessError> {
    match state {
        RunPhase::Running | RunPhase::Parked => None,
        RunPhase::Ended(StopReason::Cancelled) => Some(OpenHarnessError::Cancelled),
        RunPhase::Ended(
            StopReason::EndTurn
            | StopReason::MaxTokens
            | StopReason::MaxTurnRequests
            | StopReason::Refusal,
        ) => None,
        RunPhase::Failed(message) => Some(OpenHarnessError::Failed {
            message: message.clone(),
        }),
        RunPhase::Interrupted => Some(OpenHarnessError::Interrupted),
    }
}

fn response_error(fault: &OpenHarnessError) -> ResponseError {
    ResponseError {
        code: fault.code(),
        message: message::to_short_line(&fault.to_string()),
        retryable: fault.is_retryable(),
        details: fault.details(),
    }
}

fn continuation(told: &RunReport) -> Continuation {
    Continuation {
        run_id: told.place.run_id(),
        continuation_token: told.place.token(),
    }
}

/// Returns the directives: messages, card, questions, and a no-op if the run continues, in this order.
fn directives<'a>(asked: &ShellRequest, told: &'a RunReport, now: Timestamp) -> Vec<Directive<'a>> {
    let shell = &asked.shell;
    let mut directives = Vec::new();
    directives.extend(
        message::message_payload(shell, told)
            .map(DirectiveAction::RenderMessage)
            .map(Directive::for_display),
    );
    if shell.cards {
        directives.extend(
            card::run_card(told)
                .map(DirectiveAction::RenderUi)
                .map(Directive::for_display),
        );
    }
    let asks = told
        .asks
        .iter()
        .map(|ask| approval::tool_directive(told, ask, now));
    let questions = told.questions.iter();
    let questions = questions.map(|question| approval::question_directive(told, question, now));
    let several = told.asks.len() + told.questions.len() > 1;
    let execution = (shell.parallel && several).then_some(DirectiveExecution::Parallel);
    directives.extend(asks.chain(questions).map(|directive| Directive {
        execution,
        ..directive
    }));
    if told.state == RunPhase::Running {
        directives.push(Directive {
            priority: DirectivePriority::Low,
            ..Directive::for_display(DirectiveAction::Noop(NoopPayload {
                message: "Still running. Send this continuation to see the progress.",
                continuation: continuation(told),
            }))
        });
    }
    directives
}
