//! The settings that a person changes: mode, title, agent options, and the end of an archiving.

use harn_journal::JournalError;
use harn_model::Seq;
use harn_policy::SessionMode;

use super::handle::{Controller, TaskRequest, find_option};
use crate::{SettingError, mode};

/// A setting and its new value.
pub(crate) enum SettingChange {
    Mode(String),
    /// An option of the agent, and its value.
    Option(String, String),
    Title(String),
}

impl Controller {
    /// Sets the mode; returns the position of its event once it is written and published.
    pub async fn set_mode(&self, mode: &str) -> Result<Seq, SettingError> {
        if SessionMode::from_id(mode).is_none() {
            return Err(SettingError::UnknownMode {
                given: mode.to_owned(),
                known: join(mode::modes().iter().map(|m| m.id.as_str())),
            });
        }
        self.set(SettingChange::Mode(mode.to_owned())).await
    }

    /// Sets an option of the agent; returns the position of its event once it is written and published.
    pub async fn set_option(&self, id: &str, value: &str) -> Result<Seq, SettingError> {
        let options = &self.shared.profile.options;
        let Some(option) = find_option(options, id) else {
            return Err(SettingError::UnknownOption {
                given: id.to_owned(),
                known: join(options.iter().map(|o| o.id.as_str())),
            });
        };
        if !option.choices.iter().any(|choice| choice.value == value) {
            return Err(SettingError::UnknownValue {
                option: id.to_owned(),
                given: value.to_owned(),
                known: join(option.choices.iter().map(|c| c.value.as_str())),
            });
        }
        self.set(SettingChange::Option(id.to_owned(), value.to_owned()))
            .await
    }

    /// Sets the title, which no title of the agent replaces; returns the position of its event once it is written and
    /// published.
    pub async fn set_title(&self, title: &str) -> Result<Seq, SettingError> {
        self.set(SettingChange::Title(title.to_owned())).await
    }

    /// Restores the session to default listings; returns `None` if it has ended.
    pub(crate) async fn unarchive(&self) -> Option<Result<(), JournalError>> {
        self.request(TaskRequest::Unarchive).await
    }

    async fn set(&self, setting: SettingChange) -> Result<Seq, SettingError> {
        let set = self.request(|reply| TaskRequest::Set(setting, reply)).await;
        set.ok_or(SettingError::Closed)
    }
}

fn join<'a>(words: impl Iterator<Item = &'a str>) -> String {
    words.collect::<Vec<_>>().join(", ")
}
