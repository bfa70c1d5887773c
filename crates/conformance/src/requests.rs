//! Which requests are open, and so what an answer answers and which way it went.

use std::collections::{HashMap, HashSet};

use super::{TrafficDirection, envelope::RpcOutcome, methods, steering::ContractMethod};

/// A request that was made.
#[derive(Clone)]
pub(super) struct RecordedRequest {
    pub(super) method: String,
    pub(super) session: Option<String>,
    /// It goes on after an event.
    pub(super) goes_on: bool,
    /// The operation of the host that it asks for.
    pub(super) operation: Option<&'static ContractMethod>,
}

impl RecordedRequest {
    /// Whether the session is told of before it is answered.
    pub(super) fn is_replayed(&self) -> bool {
        self.method == "session/load" || self.goes_on
    }
}

/// What an answer belongs to.
pub(super) enum AnswerMatch {
    Open(RecordedRequest),
    /// A request that was answered before.
    Answered,
    Nothing,
}

#[derive(Default)]
pub(super) struct RequestTable {
    /// By the way they went, `None` where nobody could tell, and their id.
    open: HashMap<(Option<TrafficDirection>, String), RecordedRequest>,
    answered: HashSet<(Option<TrafficDirection>, String)>,
}

impl RequestTable {
    /// Keeps a request. False if its id is that of another open one.
    pub(super) fn ask(
        &mut self,
        to: Option<TrafficDirection>,
        id: &str,
        asked: RecordedRequest,
    ) -> bool {
        let key = (to, id.to_owned());
        self.answered.remove(&key);
        self.open.insert(key, asked).is_none()
    }

    /// Which way an answer went, from the requests that have its id.
    pub(super) fn way_of_answer(
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
            [one] => Some(one.back()),
            // Both sides may count from one; then the looks of the answer decide.
            [first, second] => {
                let fits = |to: &TrafficDirection| match (outcome, self.open.get(&key(*to))) {
                    (RpcOutcome::Result(result), Some(asked)) => {
                        methods::result(&asked.method).is_none_or(|shape| shape.fits(result))
                    }
                    _ => true,
                };
                let to = if !fits(first) && fits(second) {
                    second
                } else {
                    first
                };
                Some(to.back())
            }
            _ => None,
        }
    }

    /// Takes the request that an answer is for.
    pub(super) fn answer(&mut self, way: Option<TrafficDirection>, id: &str) -> AnswerMatch {
        let key = (way.map(TrafficDirection::back), id.to_owned());
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
