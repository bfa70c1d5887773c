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
#[cfg(feature = "terminal")]
mod attach;
mod cli;
#[cfg(all(
    feature = "conformance",
    feature = "mcp",
    feature = "openharness",
    feature = "page",
    feature = "terminal",
    feature = "threads"
))]
mod cli_page;
mod client;
#[cfg(feature = "conformance")]
mod fixtures;
mod grants;
mod greeter;
#[cfg(all(target_os = "linux", feature = "threads"))]
mod line_memory;
mod logging;
#[cfg(all(target_os = "linux", feature = "page"))]
mod login;
#[cfg(all(unix, feature = "openharness"))]
mod openharness;
mod permissions_page;
mod profiles;
#[cfg(feature = "terminal")]
mod run;
#[cfg(target_os = "linux")]
mod sandbox;
#[cfg(unix)]
mod shutdown;
#[cfg(unix)]
mod skills;
#[cfg(all(unix, feature = "threads"))]
mod threads;
mod trust;
#[cfg(all(target_os = "linux", feature = "mcp"))]
mod untrusted_workspace;
