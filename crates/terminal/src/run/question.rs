//! A question of the agent that waits for an answer: whether a tool may run, or what a person knows.

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

use super::{ask, form, show::TurnPrinter};
use crate::reading::{activity::deadline, form::understand};

pub(super) enum RunQuestion {
    /// Whether a tool may run.
    Permission(
        RequestPermissionRequest,
        Responder<RequestPermissionResponse>,
    ),
    /// What the agent wants to know of a person.
    Form(
        CreateElicitationRequest,
        Responder<CreateElicitationResponse>,
    ),
}

impl RunQuestion {
    /// Puts it on the screen; false where it cannot be answered by a line.
    pub(super) fn put(&self, show: &mut TurnPrinter) -> bool {
        match self {
            Self::Permission(request, _) => {
                ask::put(show, request);
                true
            }
            Self::Form(request, _) => form::put(show, request),
        }
    }

    pub(super) fn put_answers(&self, show: &mut TurnPrinter) {
        match self {
            Self::Permission(request, _) => ask::put_options(show, request),
            Self::Form(request, _) => form::put_field(show, request),
        }
    }

    /// Answers with a line, none being the end of input. Gives it back with the reason where the line is no answer.
    pub(super) fn answer(self: Box<Self>, line: Option<&str>) -> Result<(), (Box<Self>, String)> {
        match *self {
            Self::Permission(request, to) => match ask::understand(line, &request.options) {
                Ok(outcome) => permit(to, outcome),
                Err(why) => return Err((Box::new(Self::Permission(request, to)), why)),
            },
            Self::Form(request, to) => match understand(line, &request) {
                Some(action) => fill_in(to, action),
                None => {
                    let why = form::not_understood(&request, line.unwrap_or_default());
                    return Err((Box::new(Self::Form(request, to)), why));
                }
            },
        }
        Ok(())
    }

    pub(super) fn cancel(self) {
        match self {
            Self::Permission(_, to) => permit(to, RequestPermissionOutcome::Cancelled),
            Self::Form(_, to) => fill_in(to, ElicitationAction::Cancel),
        }
    }

    /// Tells when whoever asks no longer wants to know.
    pub(super) fn withdrawal(&self) -> RequestCancellation {
        match self {
            Self::Permission(_, to) => to.cancellation(),
            Self::Form(_, to) => to.cancellation(),
        }
    }

    /// What is asked, in a line.
    pub(super) fn title(&self) -> &str {
        match self {
            Self::Permission(request, _) => {
                let title = request.tool_call.fields.title.as_deref();
                title.unwrap_or("a tool call")
            }
            Self::Form(request, _) => request.message.lines().next().unwrap_or_default(),
        }
    }

    /// Until when an answer counts, where that is known.
    pub(super) fn deadline(&self) -> Option<Timestamp> {
        match self {
            Self::Permission(request, _) => deadline(request.meta.as_ref()),
            Self::Form(..) => None,
        }
    }

    /// Agrees that there is no answer any more. Nobody waits for this.
    pub(super) fn let_go(self) {
        let gone = Error::request_cancelled();
        let _ = match self {
            Self::Permission(_, to) => to.respond_with_error(gone),
            Self::Form(_, to) => to.respond_with_error(gone),
        };
    }
}

pub(super) async fn withdrawn(question: Option<&RunQuestion>) {
    match question {
        Some(question) => question.withdrawal().cancelled().await,
        None => std::future::pending().await,
    }
}

fn permit(to: Responder<RequestPermissionResponse>, outcome: RequestPermissionOutcome) {
    // The agent may have gone on without us.
    let _ = to.respond(RequestPermissionResponse::new(outcome));
}

pub(super) fn fill_in(to: Responder<CreateElicitationResponse>, action: ElicitationAction) {
    // As above.
    let _ = to.respond(CreateElicitationResponse::new(action));
}
