//! The tests of this crate through its public interface: one module per subject, in one binary.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test says what failed by failing"
)]

#[allow(
    clippy::disallowed_methods,
    reason = "a test looks at a clock of its own"
)]
mod attach;
mod cli;
mod client;
#[cfg(unix)]
mod ending;
mod fixtures;
mod grants;
mod greeter;
#[cfg(target_os = "linux")]
mod hostile;
mod logging;
#[cfg(unix)]
mod openharness;
mod permissions_page;
mod profiles;
mod run;
#[cfg(target_os = "linux")]
mod signing_in;
#[cfg(unix)]
mod skills;
#[cfg(unix)]
mod threads;
mod trust;
