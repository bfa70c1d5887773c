//! Answers to permission questions: the first wins, and a grant is stored before the answer is published.

use std::sync::Arc;

use harn_journal::JournalError;
use harn_model::{
    AgentEvent, AskId, Decision, Grant, GrantEffect, GrantScope, PermissionAsked, PermissionOption,
    PermissionResolved, RememberedGrant,
};

use super::{SessionTask, send_reply};
use crate::session::{SharedSession, running_turn::PendingAsk};

impl SessionTask {
    /// Applies the first answer to an open question. An option that was not offered, or that contradicts the
    /// decision, is no grant. The answer `Cancelled` cancels the turn.
    pub(super) async fn answer(
        &mut self,
        id: &AskId,
        decision: Decision,
    ) -> Result<(), JournalError> {
        let Some(turn) = &mut self.turn else {
            return Ok(());
        };
        if decision == Decision::Cancelled && turn.asks.contains_key(id) {
            let turn = turn.id.clone();
            return self.cancel(&turn).await;
        }
        let Some(pending) = turn.asks.remove(id) else {
            return Ok(());
        };
        let (decision, chosen) = check_decision(&pending.ask, decision);
        let remembered = match chosen {
            Some(option) => remember(&self.shared.clone(), &pending.ask, option, &decision).await,
            None => None,
        };
        if let (Decision::Allowed { .. }, Some(turn)) = (&decision, &mut self.turn)
            && pending.is_own()
        {
            turn.allowed
                .insert(pending.ask.tool_call.tool_call_id.clone());
        }
        let grant = remembered.as_ref().map(|kept| kept.grant.clone());
        let event = resolved_event(id.clone(), decision.clone(), remembered);
        let mut events = vec![event];
        let covered = grant.map_or_else(Vec::new, |grant| self.take_covered(&grant));
        for other in &covered {
            events.push(resolved_event(
                other.ask.ask_id.clone(),
                decision.clone(),
                None,
            ));
        }
        self.write(events).await?;
        for answered in covered.into_iter().chain([pending]) {
            send_reply(answered.reply, decision.clone());
        }
        Ok(())
    }

    /// Removes and returns the open questions that a remembered answer also settles: those that offer the same grant.
    fn take_covered(&mut self, grant: &Grant) -> Vec<PendingAsk> {
        let Some(turn) = &mut self.turn else {
            return Vec::new();
        };
        let same = |asked: &PermissionAsked| {
            let offered = asked.grant.as_ref();
            offered.is_some_and(|it| harn_policy::with_effect(it, grant.effect).id == grant.id)
        };
        let covered = turn.asks.extract_if(|_, open| same(&open.ask));
        let mut covered: Vec<_> = covered.map(|(_, open)| open).collect();
        covered.sort_by(|a, b| a.ask.ask_id.cmp(&b.ask.ask_id));
        if grant.effect == GrantEffect::Allow {
            let own = covered.iter().filter(|open| open.is_own());
            let calls = own.map(|open| open.ask.tool_call.tool_call_id.clone());
            turn.allowed.extend(calls);
        }
        covered
    }
}

/// Stores the grant of an answer. A grant that cannot be stored permanently applies to the session.
async fn remember(
    shared: &Arc<SharedSession>,
    ask: &PermissionAsked,
    option: &PermissionOption,
    decision: &Decision,
) -> Option<RememberedGrant> {
    // A worker's question was also sent to the parent session, which stores the grant.
    if shared.lineage.is_some() || option.scope == GrantScope::Once {
        return None;
    }
    let effect = match decision {
        // The shown arguments are not those that run, so the answer covers no later call.
        Decision::Allowed { args: Some(_), .. } => return None,
        Decision::Allowed { args: None, .. } => GrantEffect::Allow,
        Decision::Rejected { .. } => GrantEffect::Deny,
        Decision::Cancelled | Decision::Unavailable { .. } => return None,
    };
    let grant = harn_policy::with_effect(ask.grant.as_ref()?, effect);
    let mut scope = option.scope;
    if scope == GrantScope::Always {
        let config = shared.config.clone();
        let (kept, at) = (grant.clone(), config.clock.now());
        let kept = tokio::task::spawn_blocking(move || config.rules.remember(&kept, at)).await;
        let kept = kept.map_err(|error| error.to_string());
        let kept = kept.and_then(|kept| kept.map_err(|error| error.to_string()));
        if let Err(error) = kept {
            let session = &shared.meta.thread_id;
            tracing::warn!(%session, error, "could not store an answer; it applies to the session only");
            scope = GrantScope::Session;
        }
    }
    Some(RememberedGrant { scope, grant })
}

fn resolved_event(
    ask_id: AskId,
    decision: Decision,
    remembered: Option<RememberedGrant>,
) -> AgentEvent {
    AgentEvent::PermissionResolved(Box::new(PermissionResolved {
        ask_id,
        decision,
        remembered,
    }))
}

/// Returns the effective decision of an answer, and the option it chose.
fn check_decision(
    ask: &PermissionAsked,
    decision: Decision,
) -> (Decision, Option<&PermissionOption>) {
    let offered = |id: &str| ask.options.iter().find(|option| option.option_id == id);
    match &decision {
        Decision::Allowed { option_id, .. } => match offered(option_id) {
            Some(option) if option.kind.allows() => (decision, Some(option)),
            Some(option) => {
                let rejected = Decision::Rejected {
                    option_id: Some(option.option_id.clone()),
                    reason: None,
                };
                (rejected, Some(option))
            }
            None => {
                let reason = "the answer named an option that was not offered".to_owned();
                (Decision::Unavailable { reason }, None)
            }
        },
        Decision::Rejected { option_id, .. } => {
            let option = option_id.as_deref().and_then(offered);
            // An option that allows contradicts the rejection, so nothing is remembered.
            let option = option.filter(|option| !option.kind.allows());
            (decision, option)
        }
        Decision::Cancelled | Decision::Unavailable { .. } => (decision, None),
    }
}
