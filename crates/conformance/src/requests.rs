//! The open requests: match answers to requests and infer the direction of an answer.

use std::collections::{HashMap, HashSet};

use super::{TrafficDirection, envelope::RpcOutcome, methods, steering::ContractMethod};

/// A request of the recording.
#[derive(Clone)]
pub(super) struct RecordedRequest {
    pub(super) method: String,
    pub(super) session: Option<String>,
    /// The request continues after an event id.
    pub(super) goes_on: bool,
    /// The host operation that it calls.
    pub(super) operation: Option<&'static ContractMethod>,
}

impl RecordedRequest {
    /// Returns whether the server sends the session's events before the answer.
    pub(super) fn is_replayed(&self) -> bool {
        self.method == "session/load" || self.goes_on
    }
}

/// The request that an answer belongs to.
pub(super) enum AnswerMatch {
    Open(RecordedRequest),
    /// The request was answered before.
    Answered,
    Nothing,
}

#[derive(Default)]
pub(super) struct RequestTable {
    /// By direction (`None` if unknown) and id.
    open: HashMap<(Option<TrafficDirection>, String), RecordedRequest>,
    answered: HashSet<(Option<TrafficDirection>, String)>,
}

impl RequestTable {
    /// Stores a request. Returns false if another open request has its id.
    pub(super) fn open_request(
        &mut self,
        to: Option<TrafficDirection>,
        id: &str,
        asked: RecordedRequest,
    ) -> bool {
        let key = (to, id.to_owned());
        self.answered.remove(&key);
        self.open.insert(key, asked).is_none()
    }

    /// Infers the direction of an answer from the requests with its id.
    pub(super) fn guess_answer_direction(
        &self,
        id: &str,
        outcome: RpcOutcome<'_>,
    ) -> Option<TrafficDirection> {
        let both = [TrafficDirection::ToAgent, TrafficDirection::ToClient];
        let key = |to| (Some(to), id.to_owned());
        let open = |to: &TrafficDirection| self.open.contains_key(&key(*to));
        let mut asked: Vec<_> = both.into_iter().filter(open).collect();
        if asked.is_empty() {
            asked = both
                .into_iter()
                .filter(|to| self.answered.contains(&key(*to)))
                .collect();
        }
        match asked.as_slice() {
            [one] => Some(one.opposite()),
            // Both sides may count from one; then the shape of the answer decides.
            [first, second] => {
                let fits = |to: &TrafficDirection| match (outcome, self.open.get(&key(*to))) {
                    (RpcOutcome::Result(result), Some(asked)) => {
                        methods::result_schema(&asked.method).is_none_or(|shape| shape.fits(result))
                    }
                    _ => true,
                };
                let to = if !fits(first) && fits(second) {
                    second
                } else {
                    first
                };
                Some(to.opposite())
            }
            _ => None,
        }
    }

    /// Removes and returns the request that an answer is for.
    pub(super) fn close_request(&mut self, way: Option<TrafficDirection>, id: &str) -> AnswerMatch {
        let key = (way.map(TrafficDirection::opposite), id.to_owned());
        let unsure = (None, id.to_owned());
        for key in [key, unsure] {
            if let Some(asked) = self.open.remove(&key) {
                self.answered.insert(key);
                return AnswerMatch::Open(asked);
            }
            if self.answered.contains(&key) {
                return AnswerMatch::Answered;
            }
        }
        AnswerMatch::Nothing
    }
}
