//! Which requests are open, and so what an answer answers and which way it went.

use std::collections::{HashMap, HashSet};

use super::{Direction, envelope::Outcome, methods, steering::Method};

/// A request that was made.
#[derive(Clone)]
pub(super) struct Asked {
    pub(super) method: String,
    pub(super) session: Option<String>,
    /// It goes on after an event.
    pub(super) goes_on: bool,
    /// The operation of the host that it asks for.
    pub(super) operation: Option<&'static Method>,
}

impl Asked {
    /// Whether the session is told of before it is answered.
    pub(super) fn is_replayed(&self) -> bool {
        self.method == "session/load" || self.goes_on
    }
}

/// What an answer belongs to.
pub(super) enum Answers {
    Open(Asked),
    /// A request that was answered before.
    Answered,
    Nothing,
}

#[derive(Default)]
pub(super) struct Requests {
    /// By the way they went, `None` where nobody could tell, and their id.
    open: HashMap<(Option<Direction>, String), Asked>,
    answered: HashSet<(Option<Direction>, String)>,
}

impl Requests {
    /// Keeps a request. False if its id is that of another open one.
    pub(super) fn ask(&mut self, to: Option<Direction>, id: &str, asked: Asked) -> bool {
        let key = (to, id.to_owned());
        self.answered.remove(&key);
        self.open.insert(key, asked).is_none()
    }

    /// Which way an answer went, from the requests that have its id.
    pub(super) fn way_of_answer(&self, id: &str, outcome: Outcome<'_>) -> Option<Direction> {
        let both = [Direction::ToAgent, Direction::ToClient];
        let key = |to| (Some(to), id.to_owned());
        let open = |to: &Direction| self.open.contains_key(&key(*to));
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
                let fits = |to: &Direction| match (outcome, self.open.get(&key(*to))) {
                    (Outcome::Result(result), Some(asked)) => {
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
    pub(super) fn answer(&mut self, way: Option<Direction>, id: &str) -> Answers {
        let key = (way.map(Direction::back), id.to_owned());
        let unsure = (None, id.to_owned());
        for key in [key, unsure] {
            if let Some(asked) = self.open.remove(&key) {
                self.answered.insert(key);
                return Answers::Open(asked);
            }
            if self.answered.contains(&key) {
                return Answers::Answered;
            }
        }
        Answers::Nothing
    }
}
