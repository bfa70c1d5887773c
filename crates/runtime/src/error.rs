//! Errors, grouped by recipient: the front-end, the agent, or a tool.

use std::path::PathBuf;

use harn_journal::JournalError;
use harn_model::{Actor, ControlResult, ErrorCategory, SessionId, WorkerId, WorkerStatus};

/// A session could not be created, opened, forked, closed or deleted.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The session does not exist.
    #[error("unknown session {0}")]
    NotFound(SessionId),
    /// The session belongs to another directory.
    #[error("session {id} belongs to {}; open it from there", expected.display())]
    WrongCwd {
        /// The session.
        id: SessionId,
        /// Its directory.
        expected: PathBuf,
    },
    /// The directory cannot be a session's working directory.
    #[error("the working directory must be an absolute path to an existing directory")]
    BadCwd,
    /// The cursor is not one that a listing returned.
    #[error("the cursor does not belong to this listing; start again without a cursor")]
    BadCursor,
    /// The runtime is shutting down.
    #[error("the agent is shutting down")]
    ShuttingDown,
    /// The journal returned an error.
    #[error(transparent)]
    Journal(JournalError),
}

impl From<JournalError> for SessionError {
    fn from(error: JournalError) -> Self {
        match error {
            JournalError::NotFound(id) => Self::NotFound(id),
            other => Self::Journal(other),
        }
    }
}

/// A prompt was not accepted.
#[derive(Debug, thiserror::Error)]
pub enum PromptError {
    /// The prompt has no content.
    #[error("the prompt is empty; send at least one content block")]
    Empty,
    /// The agent cannot take a block of this kind.
    #[error("this agent does not accept {kind} blocks in a prompt")]
    Unsupported {
        /// The kind of the block.
        kind: &'static str,
    },
    /// Too many prompts are waiting.
    #[error("{waiting} prompts are waiting already; wait for one to end")]
    QueueFull {
        /// The number of waiting prompts.
        waiting: usize,
    },
    /// The session is closed.
    #[error("the session is closed")]
    Closed,
}

/// A mode or an option was not set.
#[derive(Debug, thiserror::Error)]
pub enum SettingError {
    /// No mode has this id.
    #[error("unknown mode {given:?}; known modes: {known}")]
    UnknownMode {
        /// The requested mode.
        given: String,
        /// The known modes.
        known: String,
    },
    /// No option has this id.
    #[error("unknown option {given:?}; known options: {known}")]
    UnknownOption {
        /// The requested option.
        given: String,
        /// The known options.
        known: String,
    },
    /// The option has no such value.
    #[error("{given:?} is not a value of {option}; its values are {known}")]
    UnknownValue {
        /// The option.
        option: String,
        /// The requested value.
        given: String,
        /// The known values.
        known: String,
    },
    /// The session is closed.
    #[error("the session is closed")]
    Closed,
}

/// A request to a running session was not carried out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ControlError {
    /// The request was refused; the journal has a record of it.
    #[error("{}", refusal_message(*.result, .owner.as_ref()))]
    Refused {
        /// The reason.
        result: ControlResult,
        /// The client that sent the request.
        actor: Actor,
        /// The client that may do this, if it is another one.
        owner: Option<Actor>,
    },
    /// The content of the request is not acceptable.
    #[error("{0}")]
    Unfit(String),
    /// The session is closed.
    #[error("the session is closed")]
    Closed,
}

fn refusal_message(result: ControlResult, owner: Option<&Actor>) -> String {
    let text = match result {
        ControlResult::AlreadyDelivered => "it was delivered already",
        ControlResult::AlreadyRevoked => "it was revoked already; inject it again",
        ControlResult::UnknownMessageId => "no pending message has this id",
        ControlResult::UnknownReminderId => "no pending reminder has this id",
        ControlResult::NotOwnerOrNotAuthorized => {
            let client = owner.map_or("the client that sent it", |owner| &owner.client_id);
            return format!("only {client} or a host owner may do this");
        }
        ControlResult::NoActivePrompt => "no turn is running; send a prompt instead",
        ControlResult::QueueFull => "the queue is full; wait until some entries are delivered",
        ControlResult::IdInUse => "a reminder with this id exists already; use another id",
        ControlResult::Accepted
        | ControlResult::Revoked
        | ControlResult::Replaced
        | ControlResult::Cancelled
        | ControlResult::AlreadyCancelled => "it was done",
    };
    text.to_owned()
}

/// A client was not attached, detached or kept alive. The journal has no record of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LiveClientError {
    /// Another client controls the session.
    #[error("{controller} controls the session")]
    ControllerExists {
        /// The client in control.
        controller: String,
    },
    /// No client of this name is attached through this connection.
    #[error("no client {client_id:?} is attached through this connection; attach it first")]
    NotAttached {
        /// The name of the client.
        client_id: String,
    },
    /// The session has reached its limit of clients.
    #[error("{limit} clients are attached to the session already, which is the limit")]
    TooMany {
        /// The maximum number of clients.
        limit: usize,
    },
    /// The clients' metadata is too large to be sent for all of them together.
    #[error("the metadata of all clients of the session together would be more than {limit} bytes")]
    TooMuchMetadata {
        /// The maximum number of bytes.
        limit: usize,
    },
    /// The session is closed.
    #[error("the session is closed")]
    Closed,
}

/// A client that is not the controller tried to drive the session. Nothing was done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotInControl {
    /// Another client controls the session, or no client does.
    #[error("{}", not_in_control_message(.controller.as_deref()))]
    NotController {
        /// The controller, if there is one.
        controller: Option<String>,
    },
    /// The client is the controller, but gave up sending messages to the agent.
    #[error("{controller} controls the session but gave up sending messages to the agent")]
    PromptInjectionOff {
        /// The client in control.
        controller: String,
    },
    /// The client is the controller, but gave up answering questions.
    #[error("{controller} controls the session but gave up answering questions")]
    PermissionRoutingOff {
        /// The client in control.
        controller: String,
    },
}

fn not_in_control_message(controller: Option<&str>) -> String {
    match controller {
        Some(controller) => format!("only {controller}, which controls the session, may do this"),
        None => "no client controls the session; only a controller may do this".to_owned(),
    }
}

/// An error that ends an agent's turn early.
///
/// ```
/// # mod harn_serve {
/// #     pub use harn_runtime::*;
/// #     pub use harn_runtime::model::*;
/// # }
/// use harn_serve::AgentError;
///
/// fn parse_port(text: &str) -> Result<u16, AgentError> {
///     let wrong = |_| AgentError::failed(format!("`{text}` is not a port; use 1 to 65535"));
///     text.parse().map_err(wrong)
/// }
/// assert!(parse_port("80").is_ok());
/// assert!(parse_port("x").is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AgentError {
    /// The turn was cancelled; stop as soon as possible.
    #[error("the turn was cancelled")]
    Cancelled,
    /// A tool was refused. Passed on with `?`, it ends the turn without failing it.
    #[error("{reason}")]
    Denied {
        /// The reason.
        reason: String,
    },
    /// A person did not answer, or there was no person to ask. Passed on with `?`, it ends the turn without failing it.
    #[error("{reason}")]
    Unanswered {
        /// The reason.
        reason: String,
    },
    /// A tool failed.
    #[error("{0}")]
    Tool(String),
    /// Any other failure.
    #[error("{0}")]
    Failed(String),
}

impl AgentError {
    /// Returns an error with a message of the agent's own.
    pub fn failed(message: impl std::fmt::Display) -> Self {
        Self::Failed(message.to_string())
    }
}

impl From<ToolError> for AgentError {
    fn from(error: ToolError) -> Self {
        Self::Tool(error.message)
    }
}

impl From<HostError> for AgentError {
    fn from(error: HostError) -> Self {
        Self::Tool(error.to_string())
    }
}

/// An answer to a person's question was rejected. The journal has no record of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HitlError {
    /// No such request is open: it never existed, or it is settled.
    #[error("no question with the id {0:?} is waiting for an answer")]
    Unknown(String),
    /// The answer does not fit the question.
    #[error("{0}")]
    Unfit(String),
    /// The person is not a reviewer of the request.
    #[error("{given:?} is not a reviewer; the reviewers are {reviewers}")]
    NotAReviewer {
        /// The person who answered.
        given: String,
        /// The people who may answer.
        reviewers: String,
    },
    /// The person has decided already, and counts once.
    #[error("{0:?} has decided already; another reviewer must decide")]
    Twice(String),
    /// The session is closed.
    #[error("the session is closed")]
    Closed,
}

/// A worker was not started, triggered or ended. The journal has no record of it.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// The session has no worker of this id.
    #[error("this session has no worker {0}")]
    Unknown(WorkerId),
    /// The worker ends with its first cycle.
    #[error("worker {0} was not started as retriggerable; start another one")]
    NotRetriggerable(WorkerId),
    /// The worker is running.
    #[error("worker {0} is running; wait until it has finished")]
    Running(WorkerId),
    /// The worker has ended.
    #[error("worker {worker} has ended: {}", status.as_str())]
    Ended {
        /// The worker.
        worker: WorkerId,
        /// The status it ended with.
        status: WorkerStatus,
    },
    /// A required text is blank.
    #[error("the worker's {0} is blank")]
    Blank(&'static str),
    /// The session, or all sessions below the root session together, have reached the limit of running workers.
    #[error("{limit} workers are running already, which is the limit; wait for one to finish")]
    TooMany {
        /// The maximum number of running workers.
        limit: usize,
    },
    /// Workers are nested too deep.
    #[error("workers are nested {limit} deep already, which is the limit")]
    TooDeep {
        /// The maximum depth.
        limit: usize,
    },
    /// The worker's directory is outside those of the session it works for.
    #[error("{} is outside the directories of the session; a worker's directory must be inside them", .0.display())]
    Outside(PathBuf),
    /// A turn of another client runs in the worker's session.
    #[error("session {0} of the worker is in use; wait until its turn has ended")]
    SessionInUse(SessionId),
    /// The turn was cancelled or has ended; workers run only within a turn.
    #[error("the turn is over")]
    TurnOver,
    /// The worker's session could not be created or opened.
    #[error(transparent)]
    Session(#[from] SessionError),
}

impl From<WorkerError> for AgentError {
    fn from(error: WorkerError) -> Self {
        match error {
            WorkerError::TurnOver => Self::Cancelled,
            other => Self::Failed(other.to_string()),
        }
    }
}

/// An error that fails a tool call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ToolError {
    /// The message for the agent and the person.
    pub message: String,
    /// The kind of failure.
    pub category: ErrorCategory,
}

impl ToolError {
    /// Returns a failure of the tool itself.
    pub fn new(message: impl std::fmt::Display) -> Self {
        Self::with_category(ErrorCategory::ToolError, message)
    }

    /// Returns a failure of this category.
    pub fn with_category(category: ErrorCategory, message: impl std::fmt::Display) -> Self {
        Self {
            message: message.to_string(),
            category,
        }
    }
}

impl From<HostError> for ToolError {
    fn from(error: HostError) -> Self {
        let category = match &error {
            HostError::Denied(_) => ErrorCategory::PermissionDenied,
            HostError::TimedOut(_) => ErrorCategory::Timeout,
            HostError::Host(_) | HostError::Unsupported(_) => ErrorCategory::HostBridgeError,
            HostError::Failed(_) => ErrorCategory::ToolError,
        };
        Self::with_category(category, error)
    }
}

/// A file, a command or a tool of the host was not available.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    /// The host does not offer it.
    #[error("the host does not offer {0}")]
    Unsupported(&'static str),
    /// The host or the policy denied it.
    #[error("{0}")]
    Denied(String),
    /// The host did not answer in time.
    #[error("the host did not answer {0} in time")]
    TimedOut(&'static str),
    /// The host answered with an error.
    #[error("the host answered: {0}")]
    Host(String),
    /// The operation failed on this machine.
    #[error("{0}")]
    Failed(String),
}
