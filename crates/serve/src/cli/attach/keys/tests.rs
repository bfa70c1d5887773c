//! Tests of the keys.
