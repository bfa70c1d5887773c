//! Changes to a session that need not be open: its title and its archive flag. Also settles the effects of a crash,
//! before an open and before such a change.

use std::path::PathBuf;

use harn_journal::{JournalError, MetaChange, OpenedLog};
use harn_model::{AgentEvent, SessionId, SessionInfo};

use super::{
    Hub, HubConfig,
    checks::check_own,
    fork::{grant_revocations, reset_lax_mode},
    run_blocking,
};
use crate::{
    Controller, SessionError, SettingError,
    session::{EventScribe, recovery_events, withdrawn_prompts},
};

impl Hub {
    /// Sets the title of a session, open or not. No title of an agent replaces it.
    pub async fn set_title(&self, id: &SessionId, title: &str) -> Result<(), SessionError> {
        loop {
            let chosen = title.to_owned();
            let edit = move |config: &HubConfig, session| retitle(config, session, chosen);
            let Some(session) = self.edit_closed(id, edit).await? else {
                return Ok(());
            };
            match session.set_title(title).await {
                // The session closed in the meantime.
                Err(SettingError::Closed) => self.inner.forget_closed(id),
                _ => return Ok(()),
            }
        }
    }

    /// Archives a session, which removes it from default listings, and closes it first.
    pub async fn archive(&self, id: &SessionId) -> Result<(), SessionError> {
        let edit =
            |_: &HubConfig, mut session: OpenedLog| session.log.amend(MetaChange::Archived(true));
        // Repeat if a client opened it in the meantime.
        while self.edit_closed(id, edit).await?.is_some() {
            self.close(id).await;
            self.inner.forget_closed(id);
        }
        Ok(())
    }

    /// Restores an archived session to default listings, open or not.
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
                // The session closed in the meantime.
                None => self.inner.forget_closed(id),
            }
        }
    }

    /// Changes a session that is not open, or returns it if it is. Concurrent opens wait.
    async fn edit_closed(
        &self,
        id: &SessionId,
        edit: impl FnOnce(&HubConfig, OpenedLog) -> Result<(), JournalError> + Send + 'static,
    ) -> Result<Option<Controller>, SessionError> {
        let cell = self.get_or_insert_cell(id)?;
        let (config, wanted) = (self.inner.config.clone(), id.clone());
        let principal = self.principal.clone();
        let edited = run_blocking(move || {
            // Before the open: another principal must not even see the lock of this session.
            check_own(&principal, &config.store.meta(&wanted)?)?;
            let session = settle_crash(&config, config.store.open(&wanted)?)?;
            edit(&config, session)
        });
        // The cell stays empty, so that the next caller opens the changed session.
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

/// Writes a title that a person chose into the log and into the metadata for listings.
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

/// Ends everything that a crash left open, before any client sees it.
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
        events.extend(grant_revocations(view));
        events.extend(reset_lax_mode(view, config));
    }
    let mut scribe = EventScribe::for_recovery(meta.thread_id.clone());
    let (now, ids) = (config.clock.now(), &*config.ids);
    let mut batch = scribe.enter(view, turn.as_ref(), events, now, ids);
    for (turn, withdrawn) in withdrawn_prompts(view) {
        batch.extend(scribe.enter(view, Some(&turn), vec![withdrawn], now, ids));
    }
    if !batch.is_empty() {
        log.append(&batch)?;
    }
    // A turn that a crash interrupted has failed, and the listing has no record of it.
    if let Err(error) = log.amend(MetaChange::Failed(view.last_turn_failed())) {
        tracing::warn!(session = %meta.thread_id, %error, "could not list how the last turn ended");
    }
    Ok(opened)
}
