//! Why a command was not carried out, as its sender is told.

use harn_runtime::{
    ControlError, HitlError, LiveClientError, NotInControl, PromptError, SettingError,
};

use crate::error::StateError;

/// A command was not carried out. The words say what would be right.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refused {
    /// A frame or a command makes no sense.
    #[error("{0}")]
    Bad(String),
    /// Somebody else is in control, or nobody.
    #[error("{0}; send takeover to take control")]
    NotInControl(#[from] NotInControl),
    #[error(transparent)]
    Session(#[from] StateError),
    #[error(transparent)]
    Prompt(#[from] PromptError),
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// In a box: it would make every result that may be refused as large as it is.
    #[error(transparent)]
    Control(Box<ControlError>),
    #[error(transparent)]
    Client(#[from] LiveClientError),
    #[error(transparent)]
    Answer(#[from] HitlError),
}

impl From<ControlError> for Refused {
    fn from(error: ControlError) -> Self {
        Self::Control(Box::new(error))
    }
}

impl Refused {
    pub(crate) fn bad(words: impl Into<String>) -> Self {
        Self::Bad(words.into())
    }
}
