//! What a person sets of a session: its mode, its title, the options of its agent, and that listings show it again.

use harn_journal::JournalError;
use harn_model::Seq;
use harn_policy::SessionMode;
use tokio::sync::oneshot;

use super::handle::{Controller, Msg, find};
use crate::{SettingError, mode};

impl Controller {
    /// Chooses a mode; written and published when this returns, with the place of its event.
    pub async fn set_mode(&self, mode: &str) -> Result<Seq, SettingError> {
        if SessionMode::of(mode).is_none() {
            return Err(SettingError::UnknownMode {
                given: mode.to_owned(),
                known: join(mode::modes().iter().map(|m| m.id.as_str())),
            });
        }
        let (reply, done) = oneshot::channel();
        self.request(Msg::SetMode(mode.to_owned(), reply), done)
            .await
    }

    /// Sets an option of the agent; written and published when this returns, with the place of its
    /// event.
    pub async fn set_option(&self, id: &str, value: &str) -> Result<Seq, SettingError> {
        let options = &self.shared.profile.options;
        let Some(option) = find(options, id) else {
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
        let (reply, done) = oneshot::channel();
        let msg = Msg::SetOption(id.to_owned(), value.to_owned(), reply);
        self.request(msg, done).await
    }

    /// Gives the session a title, which no title of its agent replaces; written and published when this returns,
    /// with the place of its event.
    pub async fn set_title(&self, title: &str) -> Result<Seq, SettingError> {
        let (reply, done) = oneshot::channel();
        self.request(Msg::SetTitle(title.to_owned(), reply), done)
            .await
    }

    /// Has listings show the session again; none where it has ended.
    pub(crate) async fn unarchive(&self) -> Option<Result<(), JournalError>> {
        let (reply, done) = oneshot::channel();
        self.inbox.send(Msg::Unarchive(reply)).await.ok()?;
        done.await.ok()
    }

    async fn request(&self, msg: Msg, done: oneshot::Receiver<Seq>) -> Result<Seq, SettingError> {
        let sent = self.inbox.send(msg).await;
        sent.map_err(|_| SettingError::Closed)?;
        done.await.map_err(|_| SettingError::Closed)
    }
}

fn join<'a>(words: impl Iterator<Item = &'a str>) -> String {
    words.collect::<Vec<_>>().join(", ")
}
