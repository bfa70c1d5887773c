//! Locks whose holders cannot leave anything half done, so that a panic of one need not be another's.

use std::sync::{Mutex, MutexGuard, PoisonError};

pub(crate) fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
