//! Translation, event by event.
