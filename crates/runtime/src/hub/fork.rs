//! Forks a session: copies the history of one session to the start of another.

use std::collections::HashSet;

use harn_journal::{JournalError, SessionMeta};
use harn_model::{
    AgentEvent, EventFamily, PendingChange, Seq, SessionId, SessionView, SettingEvent, WorkerEvent,
};

use harn_policy::SessionMode;

use super::{CreatedLog, HubConfig};
use crate::session::EventScribe;

/// Copies a history under a new id, renumbered without gaps, without turns that have not ended. Keeps mode and options,
/// except a mode that `forgetful` rejects. Cancels unfinished workers in the copy, because workers belong to the
/// session that started them. Grants, pending messages and queued prompts stay with the source session.
pub(super) fn copy_history(
    config: &HubConfig,
    source: &SessionId,
    mut meta: SessionMeta,
) -> Result<CreatedLog, JournalError> {
    let (from, events) = config.store.read(source)?;
    meta.title.clone_from(&from.title);
    let mut whole = SessionView::default();
    events.iter().for_each(|event| whole.apply(event));
    let running = whole.open_turn.into_iter().map(|turn| turn.id);
    let queued = whole.queued.into_iter().map(|turn| turn.id);
    let unfinished: HashSet<_> = running.chain(queued).collect();
    let mut view = SessionView::default();
    let mut kept = Vec::new();
    let mut seq = Seq::ZERO;
    for mut envelope in events {
        let turn = envelope.turn.as_ref();
        let left_out = turn.is_some_and(|turn| unfinished.contains(turn));
        // A setting that a person changed during the turn belongs to the session, not to the turn.
        if left_out && !was_set_by_person(&envelope.event) {
            continue;
        }
        seq = seq.next();
        envelope.seq = seq;
        view.apply(&envelope);
        kept.push(envelope);
    }
    let mut scribe = EventScribe::new(meta.thread_id.clone());
    let mut left_behind = worker_cancellations(&view);
    left_behind.extend(grant_revocations(&view));
    if config.forgetful {
        left_behind.extend(reset_lax_mode(&view, config));
    }
    if !view.pending.is_empty() {
        left_behind.push(AgentEvent::Pending(Box::new(PendingChange::Cleared)));
    }
    let now = config.clock.now();
    kept.extend(scribe.enter(&mut view, None, left_behind, now, &*config.ids));
    meta.failed = view.last_turn_failed();
    let mut log = config.store.create(meta.clone())?;
    if !kept.is_empty() {
        log.append(&kept)?;
    }
    Ok((log, meta, view))
}

fn was_set_by_person(event: &AgentEvent) -> bool {
    let EventFamily::Setting(setting) = event.family() else {
        return false;
    };
    match setting {
        SettingEvent::ModeChanged { .. } | SettingEvent::ConfigChanged { .. } => true,
        SettingEvent::SessionInfo(info) => info.chosen,
    }
}

pub(super) fn grant_revocations(view: &SessionView) -> Vec<AgentEvent> {
    let revoked = view.grants.iter().map(|grant| AgentEvent::GrantRevoked {
        grant_id: grant.id.clone(),
    });
    revoked.collect()
}

/// Returns to the default mode from a laxer one; a stricter one stays.
pub(super) fn reset_lax_mode(view: &SessionView, config: &HubConfig) -> Option<AgentEvent> {
    let chosen = SessionMode::from_id(view.mode.as_deref()?);
    let laxer = chosen.is_some_and(|mode| mode > config.default_mode);
    laxer.then(|| AgentEvent::ModeChanged {
        mode_id: config.default_mode.id().to_owned(),
    })
}

fn worker_cancellations(view: &SessionView) -> Vec<AgentEvent> {
    let going_on = view.workers.values().filter(|w| !w.event.is_terminal());
    let cancel = going_on.map(|worker| {
        let mut update = worker.with_event(WorkerEvent::WorkerCancelled);
        update.metadata.error = Some("the session was forked without its workers".to_owned());
        AgentEvent::WorkerUpdate(Box::new(update))
    });
    cancel.collect()
}
