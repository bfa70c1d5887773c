//! Scores by hand.
