//! Event ids: whether the lines of a session are in order.

use std::borrow::Cow;

use serde_json::Value;

use super::{ConformanceRule, MessageFindings, extensions::without_members, quote_name};
use harn_acp::{EventId, ext::event_id};

/// The last event id of a session on a connection.
#[derive(Default)]
pub(super) struct EventIdProgress {
    last: Option<EventId>,
    /// The session is being reopened: its new stream may begin at any id, and lines of the old stream may
    /// still arrive.
    anew: bool,
}

impl EventIdProgress {
    pub(super) fn begin_anew(&mut self) {
        self.anew = true;
    }

    /// Records that the session is open: its new stream has begun.
    pub(super) fn mark_opened(&mut self) {
        self.anew = false;
    }

    /// Checks the event id of a message.
    pub(super) fn check_event_id(&mut self, params: &Value) -> MessageFindings {
        let place = params.as_object().and_then(event_id::read_from_params);
        let Some(place) = place else {
            return MessageFindings::new();
        };
        let follows = self.last.is_none_or(|last| last < place);
        let begins = !follows && std::mem::take(&mut self.anew);
        let last = self.last.replace(place);
        match last {
            Some(last) if !follows && !begins => {
                let (place, last) = (place.to_string(), last.to_string());
                let what = format!(
                    "the event {} comes after {}",
                    quote_name(&place),
                    quote_name(&last)
                );
                vec![(ConformanceRule::EventIdsOutOfOrder, what)]
            }
            Some(_) | None => MessageFindings::new(),
        }
    }
}

/// Returns whether a request continues after an event id.
pub(super) fn has_last_event_id(params: &Value) -> bool {
    event_id::read_last_event_id(params).is_ok_and(|wanted| wanted.is_some())
}

/// Returns the params without the members that the contract adds beside ACP's.
pub(super) fn without_contract_members<'a>(method: &str, params: &'a Value) -> Cow<'a, Value> {
    match method {
        "session/load" | "session/resume" => without_members(params, &["lastEventId"]),
        "session/list" => without_members(params, &["filter", "liveState"]),
        _ => Cow::Borrowed(params),
    }
}
