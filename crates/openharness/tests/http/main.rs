//! OpenHarness over its routes, as a Shell uses it, with an agent that does what its prompt states.
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
