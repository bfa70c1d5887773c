//! How many requests or runs are under way, and whose: a quarter of the places is kept from each principal, for
//! the others.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use harn_model::Principal;

/// The places of what is under way.
pub(crate) struct Places {
    all: usize,
    each: usize,
    taken: Arc<Mutex<Taken>>,
}

#[derive(Default)]
struct Taken {
    all: usize,
    of: HashMap<Principal, usize>,
}

/// A place. Free again when it is dropped.
pub(crate) struct Place {
    taken: Arc<Mutex<Taken>>,
    principal: Principal,
}

impl Places {
    /// So many, of which each principal may take three quarters.
    pub(crate) fn of(all: usize) -> Self {
        Self {
            all,
            each: all - all / 4,
            taken: Arc::default(),
        }
    }

    pub(crate) fn take(&self, principal: &Principal) -> Option<Place> {
        let mut taken = lock(&self.taken);
        let own = taken.of.get(principal).copied().unwrap_or_default();
        if taken.all >= self.all || own >= self.each {
            return None;
        }
        taken.all += 1;
        taken.of.insert(principal.clone(), own + 1);
        Some(Place {
            taken: self.taken.clone(),
            principal: principal.clone(),
        })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = lock(&self.taken);
        taken.all -= 1;
        if let Some(own) = taken.of.get_mut(&self.principal) {
            *own -= 1;
            if *own == 0 {
                taken.of.remove(&self.principal);
            }
        }
    }
}

fn lock(taken: &Mutex<Taken>) -> MutexGuard<'_, Taken> {
    taken.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_takes_all_and_nothing_is_kept_of_who_left() {
        let (ada, bob) = (Principal::new("ada"), Principal::new("bob"));
        let places = Places::of(8);
        let mut of_ada: Vec<_> = std::iter::from_fn(|| places.take(&ada)).collect();
        assert_eq!(of_ada.len(), 6);
        let of_bob: Vec<_> = std::iter::from_fn(|| places.take(&bob)).collect();
        assert_eq!(of_bob.len(), 2);
        of_ada.pop();
        assert!(places.take(&ada).is_some());
        drop((of_ada, of_bob));
        assert!(lock(&places.taken).of.is_empty());
        assert_eq!(lock(&places.taken).all, 0);
    }
}
