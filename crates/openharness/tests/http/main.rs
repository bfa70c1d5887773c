//! OpenHarness over its routes, as a Shell uses it, with an agent that does what its prompt states.
#![allow(clippy::unwrap_used, reason = "a test says what failed by failing")]

mod concurrency;
mod full_disk;
mod golden;
mod loopback;
mod rejections;
mod repeats;
mod secrets;
mod support;
mod tenants;
