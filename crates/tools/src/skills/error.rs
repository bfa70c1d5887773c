//! The reasons why a skill was not used, with the way to fix each.

use std::{io, path::PathBuf};

use harn_runtime::{AgentError, HostError};

/// The reason why a skill was not used.
#[derive(Debug, thiserror::Error)]
pub enum SkillError {
    /// No skill has this id.
    #[error("unknown skill {id:?}; {}", list_known(.names))]
    Unknown {
        /// The requested id.
        id: String,
        /// The ids of the known skills.
        names: Vec<String>,
    },
    /// Only people may use the skill.
    #[error(
        "the skill {0:?} is for people only (disable_model_invocation); ask the user to run it"
    )]
    NotForModels(String),
    /// The skill is not a slash command.
    #[error("the skill {0:?} is not a slash command (user_invocable: false)")]
    NotForUsers(String),
    /// The skill is not active.
    #[error("the skill {0:?} is not active")]
    NotActive(String),
    /// A worker cannot activate skills of its own.
    #[error("a worker uses the skills that its session has active; it has none of its own")]
    OfAWorker,
    /// The file of the skill could not be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The path of the file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The host did not return the skill.
    #[error("the host did not return the skill {id:?}: {source}")]
    Host {
        /// The id of the skill.
        id: String,
        /// The error of the host.
        source: HostError,
    },
    /// The host returned an invalid skill.
    #[error("the host's skill {id:?} is rejected: {reason}")]
    Refused {
        /// The id of the skill.
        id: String,
        /// The problems of its card.
        reason: String,
    },
    /// The turn failed or was cancelled.
    #[error(transparent)]
    Turn(#[from] AgentError),
}

fn list_known(names: &[String]) -> String {
    const SHOWN: usize = 20;
    match names.len() {
        0 => "no skills are known".to_owned(),
        count if count > SHOWN => {
            let more = count - SHOWN;
            format!(
                "known skills: {} and {more} more",
                names[..SHOWN].join(", ")
            )
        }
        _ => format!("known skills: {}", names.join(", ")),
    }
}
