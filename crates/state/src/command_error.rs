//! The errors of commands, as the client receives them.

use harn_runtime::{
    ControlError, HitlError, LiveClientError, NotInControl, PromptError, SettingError,
};

use crate::error::StateError;

/// The reason why a command was rejected. The message states what would be right.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClientCommandError {
    /// A frame or a command is malformed.
    #[error("{0}")]
    Bad(String),
    /// Another client controls the session, or none does.
    #[error("{0}; a client with a name may send takeover")]
    NotInControl(#[from] NotInControl),
    #[error(transparent)]
    Session(#[from] StateError),
    #[error(transparent)]
    Prompt(#[from] PromptError),
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// Boxed, because it would make every result with this error large.
    #[error(transparent)]
    Control(Box<ControlError>),
    #[error(transparent)]
    Client(#[from] LiveClientError),
    #[error(transparent)]
    Answer(#[from] HitlError),
}

impl From<ControlError> for ClientCommandError {
    fn from(error: ControlError) -> Self {
        Self::Control(Box::new(error))
    }
}

impl ClientCommandError {
    pub(crate) fn bad(words: impl Into<String>) -> Self {
        Self::Bad(words.into())
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use harn_model::{Actor, ControlResult};

    use super::*;

    /// Each message states what was wrong and what would be right.
    #[test]
    fn every_rejection_has_a_message() {
        let other = || Some("ann".to_owned());
        let table: Vec<ClientCommandError> = vec![
            ClientCommandError::bad("prompt must not be empty"),
            NotInControl::NotController {
                controller: other(),
            }
            .into(),
            NotInControl::NotController { controller: None }.into(),
            NotInControl::PromptInjectionOff {
                controller: "ann".to_owned(),
            }
            .into(),
            NotInControl::PermissionRoutingOff {
                controller: "ann".to_owned(),
            }
            .into(),
            StateError::NoSession.into(),
            PromptError::QueueFull { waiting: 64 }.into(),
            PromptError::Closed.into(),
            SettingError::UnknownMode {
                given: "mad".to_owned(),
                known: "ask, auto".to_owned(),
            }
            .into(),
            ControlError::Refused {
                result: ControlResult::UnknownMessageId,
                actor: Actor {
                    client_id: "bob".to_owned(),
                    role: "host_owner".to_owned(),
                    source: "state".to_owned(),
                },
                owner: None,
            }
            .into(),
            LiveClientError::TooMany { limit: 1024 }.into(),
            HitlError::Unknown("q".to_owned()).into(),
        ];
        let told: String = table.iter().map(|refused| format!("{refused}\n")).collect();
        expect![[r#"
            prompt must not be empty
            only ann, which controls the session, may do this; a client with a name may send takeover
            no client controls the session; only a controller may do this; a client with a name may send takeover
            ann controls the session but gave up sending messages to the agent; a client with a name may send takeover
            ann controls the session but gave up answering questions; a client with a name may send takeover
            unknown session; /ws/sessions lists all sessions
            64 prompts are waiting already; wait for one to end
            the session is closed
            unknown mode "mad"; known modes: ask, auto
            no pending message has this id
            1024 clients are attached to the session already, which is the limit
            no question with the id "q" is waiting for an answer
        "#]].assert_eq(&told);
    }
}
