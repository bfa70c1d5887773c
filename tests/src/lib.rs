//! Shared pieces of the scenario tests.
