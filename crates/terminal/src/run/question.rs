//! An open question of the agent: a permission request or a form.

use agent_client_protocol::{
    Error, RequestCancellation,
    v1::{
        Responder,
        schema::{
            CreateElicitationRequest, CreateElicitationResponse, ElicitationAction,
            RequestPermissionOutcome, RequestPermissionRequest, RequestPermissionResponse,
        },
    },
};
use harn_model::Timestamp;

use super::{form, permission, turn_printer::TurnPrinter};
use crate::agent_messages::{activity::deadline, form::parse_answer};

pub(super) enum RunQuestion {
    Permission(
        RequestPermissionRequest,
        Responder<RequestPermissionResponse>,
    ),
    /// A question that only a person can answer.
    Form(
        CreateElicitationRequest,
        Responder<CreateElicitationResponse>,
    ),
}

impl RunQuestion {
    /// Shows the question; returns false if a line cannot answer it.
    pub(super) fn show(&self, show: &mut TurnPrinter) -> bool {
        match self {
            Self::Permission(request, _) => {
                permission::show_question(show, request);
                true
            }
            Self::Form(request, _) => form::show_question(show, request),
        }
    }

    pub(super) fn show_answers(&self, show: &mut TurnPrinter) {
        match self {
            Self::Permission(request, _) => permission::show_options(show, request),
            Self::Form(request, _) => form::show_field(show, request),
        }
    }

    /// Answers with a line, or the end of input if `line` is none. Returns the question and the reason if the line
    /// is no answer.
    pub(super) fn answer(self: Box<Self>, line: Option<&str>) -> Result<(), (Box<Self>, String)> {
        match *self {
            Self::Permission(request, to) => match permission::parse_answer(line, &request.options)
            {
                Ok(outcome) => send_outcome(to, outcome),
                Err(why) => return Err((Box::new(Self::Permission(request, to)), why)),
            },
            Self::Form(request, to) => match parse_answer(line, &request) {
                Some(action) => send_form_action(to, action),
                None => {
                    let why = form::invalid_answer_message(&request, line.unwrap_or_default());
                    return Err((Box::new(Self::Form(request, to)), why));
                }
            },
        }
        Ok(())
    }

    pub(super) fn cancel(self) {
        match self {
            Self::Permission(_, to) => send_outcome(to, RequestPermissionOutcome::Cancelled),
            Self::Form(_, to) => send_form_action(to, ElicitationAction::Cancel),
        }
    }

    /// Completes when the agent withdraws the question.
    pub(super) fn withdrawal(&self) -> RequestCancellation {
        match self {
            Self::Permission(_, to) => to.cancellation(),
            Self::Form(_, to) => to.cancellation(),
        }
    }

    /// Returns the subject of the question as one line.
    pub(super) fn title(&self) -> &str {
        match self {
            Self::Permission(request, _) => {
                let title = request.tool_call.fields.title.as_deref();
                title.unwrap_or("a tool call")
            }
            Self::Form(request, _) => request.message.lines().next().unwrap_or_default(),
        }
    }

    /// Returns the time until which an answer counts, if it is known.
    pub(super) fn deadline(&self) -> Option<Timestamp> {
        match self {
            Self::Permission(request, _) => deadline(request.meta.as_ref()),
            Self::Form(..) => None,
        }
    }

    /// Confirms the withdrawal to the agent, which does not wait for this.
    pub(super) fn confirm_withdrawal(self) {
        let gone = Error::request_cancelled();
        let _ = match self {
            Self::Permission(_, to) => to.respond_with_error(gone),
            Self::Form(_, to) => to.respond_with_error(gone),
        };
    }
}

pub(super) async fn wait_for_withdrawal(question: Option<&RunQuestion>) {
    match question {
        Some(question) => question.withdrawal().cancelled().await,
        None => std::future::pending().await,
    }
}

fn send_outcome(to: Responder<RequestPermissionResponse>, outcome: RequestPermissionOutcome) {
    // The agent may have continued without the answer.
    let _ = to.respond(RequestPermissionResponse::new(outcome));
}

pub(super) fn send_form_action(
    to: Responder<CreateElicitationResponse>,
    action: ElicitationAction,
) {
    // The same applies here.
    let _ = to.respond(CreateElicitationResponse::new(action));
}
