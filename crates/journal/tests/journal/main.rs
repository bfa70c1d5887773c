//! Tests of the journal through its port, on a real disk.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test says what failed by failing"
)]

mod attacks;
mod damage;
mod format;
mod full_disk;
mod index;
mod locking;
mod lost_files;
mod properties;
mod reading;
mod repair;
mod sessions;
mod strategy;
mod workspace;
