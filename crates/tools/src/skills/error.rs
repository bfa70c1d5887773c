//! Why a skill was not used, said so that whoever wanted it can act on it.

use std::{io, path::PathBuf};

use harn_runtime::{AgentError, HostError};

/// A skill was not used.
#[derive(Debug, thiserror::Error)]
pub enum SkillError {
    /// There is none.
    #[error("there is no skill {id:?}; {}", known(.names))]
    Unknown {
        /// What was asked for.
        id: String,
        /// The ids there are.
        names: Vec<String>,
    },
    /// Only people may.
    #[error(
        "the skill {0:?} is for people only (disable_model_invocation); ask the user to run it"
    )]
    NotForModels(String),
    /// Nobody may by a slash command.
    #[error("the skill {0:?} is no slash command (user_invocable: false)")]
    NotForUsers(String),
    /// It is not active.
    #[error("the skill {0:?} is not active")]
    NotActive(String),
    /// A worker has none of its own.
    #[error("a worker uses the skills that its session has active; it has none of its own")]
    OfAWorker,
    /// Its file could not be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The host did not hand it over.
    #[error("the host did not hand over the skill {id:?}: {source}")]
    Host {
        /// Which.
        id: String,
        /// Why.
        source: HostError,
    },
    /// What the host handed over makes no skill.
    #[error("the host's skill {id:?} is refused: {reason}")]
    Refused {
        /// Which.
        id: String,
        /// Why.
        reason: String,
    },
    /// The turn goes no further.
    #[error(transparent)]
    Turn(#[from] AgentError),
}

fn known(names: &[String]) -> String {
    const SHOWN: usize = 20;
    match names.len() {
        0 => "there are none".to_owned(),
        count if count > SHOWN => {
            let more = count - SHOWN;
            format!("there are {} and {more} more", names[..SHOWN].join(", "))
        }
        _ => format!("there are {}", names.join(", ")),
    }
}
