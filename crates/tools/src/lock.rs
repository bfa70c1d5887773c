//! Locks whose holders leave what they guard whole at every step, so one that panicked is no reason to stop.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks, also after a panic of another holder.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
