//! Answers, as they are written.
