//! Changes of a session that need not be open: its title, and whether listings leave it out. And what an opening
//! settles first, which such a change does too.

use std::path::PathBuf;

use harn_journal::{JournalError, MetaChange, OpenedLog};
use harn_model::{AgentEvent, SessionId, SessionInfo};

use super::{
    Hub, HubConfig, blocking,
    checks::check_own,
    copy::{revoked_grants, stricter_mode},
};
use crate::{
    Controller, SessionError, SettingError,
    session::{EventScribe, recovery_events, withdrawn_prompts},
};

impl Hub {
    /// Gives a session a title, open or not. No title of an agent replaces it.
    pub async fn set_title(&self, id: &SessionId, title: &str) -> Result<(), SessionError> {
        loop {
            let chosen = title.to_owned();
            let edit = move |config: &HubConfig, session| retitle(config, session, chosen);
            let Some(session) = self.edit_closed(id, edit).await? else {
                return Ok(());
            };
            match session.set_title(title).await {
                // It was closed meanwhile.
                Err(SettingError::Closed) => self.inner.forget_closed(id),
                _ => return Ok(()),
            }
        }
    }

    /// Takes a session out of the listings, and closes it for that.
    pub async fn archive(&self, id: &SessionId) -> Result<(), SessionError> {
        let edit =
            |_: &HubConfig, mut session: OpenedLog| session.log.amend(MetaChange::Archived(true));
        // Again where somebody opened it meanwhile.
        while self.edit_closed(id, edit).await?.is_some() {
            self.close(id).await;
            self.inner.forget_closed(id);
        }
        Ok(())
    }

    /// Has listings show a session again, open or not.
    pub async fn unarchive(&self, id: &SessionId) -> Result<(), SessionError> {
        loop {
            let edit = |_: &HubConfig, mut session: OpenedLog| {
                session.log.amend(MetaChange::Archived(false))
            };
            let Some(session) = self.edit_closed(id, edit).await? else {
                return Ok(());
            };
            match session.unarchive().await {
                Some(done) => return Ok(done?),
                // It was closed meanwhile.
                None => self.inner.forget_closed(id),
            }
        }
    }

    /// Changes a session that is not open, or returns the one that is. Whoever opens it meanwhile waits.
    async fn edit_closed(
        &self,
        id: &SessionId,
        edit: impl FnOnce(&HubConfig, OpenedLog) -> Result<(), JournalError> + Send + 'static,
    ) -> Result<Option<Controller>, SessionError> {
        let cell = self.cell(id)?;
        let (config, wanted) = (self.inner.config.clone(), id.clone());
        let principal = self.principal.clone();
        let edited = blocking(move || {
            // Before it is opened: not even its lock is anybody else's business.
            check_own(&principal, &config.store.meta(&wanted)?)?;
            let session = settle_crash(&config, config.store.open(&wanted)?)?;
            edit(&config, session)
        });
        // The cell stays empty, so that the next one opens the session as it is now.
        let found = cell.get_or_try_init(|| async { Err(edited.await) }).await;
        match found.cloned() {
            Ok(session) => {
                check_own(&self.principal, session.meta())?;
                Ok(Some(session))
            }
            Err(edited) => {
                self.inner.forget_empty(id, cell);
                edited?;
                Ok(None)
            }
        }
    }
}

/// Writes a title that a person chose into a log, and to where listings find it.
fn retitle(config: &HubConfig, session: OpenedLog, title: String) -> Result<(), JournalError> {
    let OpenedLog {
        mut log,
        meta,
        mut view,
        ..
    } = session;
    let chosen = AgentEvent::SessionInfo(SessionInfo {
        title: Some(title.clone()),
        chosen: true,
    });
    let mut scribe = EventScribe::new(meta.thread_id);
    let (now, ids) = (config.clock.now(), &*config.ids);
    log.append(&scribe.enter(&mut view, None, vec![chosen], now, ids))?;
    log.syncer()().map_err(|source| JournalError::Io {
        path: PathBuf::new(),
        source,
    })?;
    log.amend(MetaChange::Title(title))
}

/// Closes what a crash left open, before anyone sees it.
pub(super) fn settle_crash(
    config: &HubConfig,
    mut opened: OpenedLog,
) -> Result<OpenedLog, JournalError> {
    let OpenedLog {
        log,
        meta,
        view,
        torn_bytes,
    } = &mut opened;
    let turn = view.open_turn.as_ref().map(|turn| turn.id.clone());
    let mut events = recovery_events(view, *torn_bytes);
    if config.forgetful {
        events.extend(revoked_grants(view));
        events.extend(stricter_mode(view, config));
    }
    let mut scribe = EventScribe::after_a_crash(meta.thread_id.clone());
    let (now, ids) = (config.clock.now(), &*config.ids);
    let mut batch = scribe.enter(view, turn.as_ref(), events, now, ids);
    for (turn, withdrawn) in withdrawn_prompts(view) {
        batch.extend(scribe.enter(view, Some(&turn), vec![withdrawn], now, ids));
    }
    if !batch.is_empty() {
        log.append(&batch)?;
    }
    // A turn that a crash cut short has failed, and listings could not know.
    if let Err(error) = log.amend(MetaChange::Failed(view.last_turn_failed())) {
        tracing::warn!(session = %meta.thread_id, %error, "could not list how the last turn ended");
    }
    Ok(opened)
}
