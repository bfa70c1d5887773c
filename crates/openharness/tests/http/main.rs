//! OpenHarness as a Shell meets it: over its routes, with an agent that does as it is told.
#![allow(clippy::unwrap_used, reason = "a test says what failed by failing")]

mod again;
mod crowd;
mod golden;
mod loopback;
mod lost;
mod refused;
mod secrets;
mod support;
mod tenants;
