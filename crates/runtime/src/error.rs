//! What can go wrong, by who hears of it: the front-end, the agent, or a tool.

use std::path::PathBuf;

use harn_journal::JournalError;
use harn_model::{Actor, ControlResult, ErrorCategory, SessionId, WorkerId, WorkerStatus};

/// A session could not be created, opened, forked, closed or deleted.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// It is not there.
    #[error("there is no session {0}")]
    NotFound(SessionId),
    /// It belongs to another directory.
    #[error("session {id} belongs to {}; open it from there", expected.display())]
    WrongCwd {
        /// The session.
        id: SessionId,
        /// Its directory.
        expected: PathBuf,
    },
    /// The directory cannot be a session's.
    #[error("the working directory must be an absolute path to an existing directory")]
    BadCwd,
    /// The place in a listing is none that was handed out.
    #[error("the cursor is not one of this listing; begin again without one")]
    BadCursor,
    /// The runtime is going down.
    #[error("the agent is shutting down")]
    ShuttingDown,
    /// The journal refused.
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
    /// There is nothing in it.
    #[error("the prompt is empty; send at least one content block")]
    Empty,
    /// The agent cannot take a block of this kind.
    #[error("this agent does not take {kind} blocks in a prompt")]
    Unsupported {
        /// Which kind.
        kind: &'static str,
    },
    /// Too many are waiting.
    #[error("{waiting} prompts are waiting already; wait for one to end")]
    QueueFull {
        /// How many.
        waiting: usize,
    },
    /// The session is gone.
    #[error("the session is closed")]
    Closed,
}

/// A mode or an option was not set.
#[derive(Debug, thiserror::Error)]
pub enum SettingError {
    /// No such mode.
    #[error("there is no mode {given:?}; the modes are {known}")]
    UnknownMode {
        /// What was asked for.
        given: String,
        /// What there is.
        known: String,
    },
    /// No such option.
    #[error("there is no option {given:?}; the options are {known}")]
    UnknownOption {
        /// What was asked for.
        given: String,
        /// What there is.
        known: String,
    },
    /// Not one of its values.
    #[error("{given:?} is not a value of {option}; its values are {known}")]
    UnknownValue {
        /// The option.
        option: String,
        /// What was asked for.
        given: String,
        /// What there is.
        known: String,
    },
    /// The session is gone.
    #[error("the session is closed")]
    Closed,
}

/// Something that was wanted of a running session was not done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ControlError {
    /// Refused; the journal says so.
    #[error("{}", refusal(*.result, .owner.as_ref()))]
    Refused {
        /// Why.
        result: ControlResult,
        /// Who wanted it.
        actor: Actor,
        /// Who may have it, where somebody else does.
        owner: Option<Actor>,
    },
    /// What was said cannot be taken.
    #[error("{0}")]
    Unfit(String),
    /// The session is gone.
    #[error("the session is closed")]
    Closed,
}

fn refusal(result: ControlResult, owner: Option<&Actor>) -> String {
    let text = match result {
        ControlResult::AlreadyDelivered => "it was delivered already",
        ControlResult::AlreadyRevoked => "it was revoked already; inject it anew",
        ControlResult::UnknownMessageId => "no pending message has this id",
        ControlResult::UnknownReminderId => "no pending reminder has this id",
        ControlResult::NotOwnerOrNotAuthorized => {
            let client = owner.map_or("somebody else", |owner| &owner.client_id);
            return format!("only {client} or a host owner may do this");
        }
        ControlResult::NoActivePrompt => "nothing is running; send a prompt instead",
        ControlResult::QueueFull => "too much is waiting already; wait until some is delivered",
        ControlResult::IdInUse => "a reminder with this id is there already; use another id",
        ControlResult::Accepted
        | ControlResult::Revoked
        | ControlResult::Replaced
        | ControlResult::Cancelled
        | ControlResult::AlreadyCancelled => "it was done",
    };
    text.to_owned()
}

/// A client was not attached, detached or heard of. Nothing was written about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LiveClientError {
    /// Somebody else is in control.
    #[error("{controller} controls the session")]
    ControllerExists {
        /// Who.
        controller: String,
    },
    /// No such client came through this connection.
    #[error("no client {client_id:?} is attached through this connection; attach it first")]
    NotAttached {
        /// Its name.
        client_id: String,
    },
    /// The session has as many as it takes.
    #[error("{limit} clients are on the session already, which is the limit")]
    TooMany {
        /// How many it takes.
        limit: usize,
    },
    /// They say more of themselves than can be told of all of them.
    #[error("the metadata of all clients of the session together would be more than {limit} bytes")]
    TooMuchMetadata {
        /// How much they may say.
        limit: usize,
    },
    /// The session is gone.
    #[error("the session is closed")]
    Closed,
}

/// Somebody who is not in control wanted to drive. Nothing was done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotInControl {
    /// Somebody else is, or nobody.
    #[error("{}", not_in_control(.controller.as_deref()))]
    NotController {
        /// Who is.
        controller: Option<String>,
    },
    /// It is in control, and gave up saying anything to the agent.
    #[error("{controller} controls the session without saying anything to the agent")]
    PromptInjectionOff {
        /// Who is in control.
        controller: String,
    },
    /// It is in control, and gave up answering questions.
    #[error("{controller} controls the session without answering questions")]
    PermissionRoutingOff {
        /// Who is in control.
        controller: String,
    },
}

fn not_in_control(controller: Option<&str>) -> String {
    match controller {
        Some(controller) => format!("only {controller}, which controls the session, may do this"),
        None => "nobody controls the session; only whoever does may do this".to_owned(),
    }
}

/// What ends an agent's turn early.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AgentError {
    /// The turn was cancelled; stop as soon as possible.
    #[error("the turn was cancelled")]
    Cancelled,
    /// A tool was refused. Passed on with `?`, it ends the turn without failing it.
    #[error("{reason}")]
    Denied {
        /// Why.
        reason: String,
    },
    /// A person was asked and did not answer, or nobody could be asked. Passed on with `?`, it ends the turn
    /// without failing it.
    #[error("{reason}")]
    Unanswered {
        /// Why.
        reason: String,
    },
    /// A tool failed.
    #[error("{0}")]
    Tool(String),
    /// Anything else.
    #[error("{0}")]
    Failed(String),
}

impl AgentError {
    /// An error with a message of the agent's own.
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

/// An answer to what a person is asked did not count. Nothing was written about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HitlError {
    /// Nobody is being asked this: it never was, or it is settled.
    #[error("nothing with the id {0:?} is waiting for an answer")]
    Unknown(String),
    /// It is no answer to what was asked.
    #[error("{0}")]
    Unfit(String),
    /// They were not asked.
    #[error("{given:?} is not among the reviewers, who are {reviewers}")]
    NotAReviewer {
        /// Who answered.
        given: String,
        /// Who may.
        reviewers: String,
    },
    /// They have decided already, and count once.
    #[error("{0:?} has decided already; others have to")]
    Twice(String),
    /// The session is gone.
    #[error("the session is closed")]
    Closed,
}

/// A worker was not started, triggered or ended. Nothing was written about it.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// The session has none of this name.
    #[error("there is no worker {0} in this session")]
    Unknown(WorkerId),
    /// It ends with its first cycle.
    #[error("worker {0} was not started as retriggerable; start another one")]
    NotRetriggerable(WorkerId),
    /// It is at work.
    #[error("worker {0} is running; wait until it has finished")]
    Running(WorkerId),
    /// Its life is over.
    #[error("worker {worker} has ended: {}", status.as_str())]
    Ended {
        /// The worker.
        worker: WorkerId,
        /// How.
        status: WorkerStatus,
    },
    /// Nothing was said where something must be.
    #[error("the worker's {0} is blank")]
    Blank(&'static str),
    /// The session, or the one at the top with everyone below it, has as many at work as it may.
    #[error("{limit} workers are running already, which is the limit; wait for one to finish")]
    TooMany {
        /// How many may run at once.
        limit: usize,
    },
    /// Workers have workers that have workers.
    #[error("workers are nested {limit} deep already, which is the limit")]
    TooDeep {
        /// How deep they may be nested.
        limit: usize,
    },
    /// It would reach further than the session it works for.
    #[error("{} is outside the directories of the session; a worker works within them", .0.display())]
    Outside(PathBuf),
    /// Somebody else has a turn running in its session.
    #[error("session {0} of the worker is in use; wait until its turn has ended")]
    SessionInUse(SessionId),
    /// The turn was cancelled or has ended; workers run within one.
    #[error("the turn is over")]
    TurnOver,
    /// Its session could not be created or opened.
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

/// What fails a tool call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ToolError {
    /// What to tell the agent and the person.
    pub message: String,
    /// Which sort of failure.
    pub category: ErrorCategory,
}

impl ToolError {
    /// The tool itself failed.
    pub fn new(message: impl std::fmt::Display) -> Self {
        Self::of(ErrorCategory::ToolError, message)
    }

    /// A failure of this category.
    pub fn of(category: ErrorCategory, message: impl std::fmt::Display) -> Self {
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
        Self::of(category, error)
    }
}

/// A file, a command or a tool of the host could not be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    /// This host does not offer it.
    #[error("the host does not offer {0}")]
    Unsupported(&'static str),
    /// It said no.
    #[error("{0}")]
    Denied(String),
    /// It did not answer in time.
    #[error("the host did not answer {0} in time")]
    TimedOut(&'static str),
    /// It answered with an error.
    #[error("the host answered: {0}")]
    Host(String),
    /// It did not work out here.
    #[error("{0}")]
    Failed(String),
}
