//! Requests, right and wrong.
