//! The tests of this crate through its public interface: one module per subject, in one binary.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test says what failed by failing"
)]

mod access;
mod decide;
mod decide_support;
mod files;
mod git_setups;
mod grants;
mod merge;
mod path_cases;
mod path_random;
mod path_tree;
#[path = "../../../testkit/src/programs.rs"]
#[allow(unreachable_pub, reason = "a test binary exports nothing")]
mod programs;
mod shell_cases;
mod shell_random;
mod shell_read;
mod shell_table;
#[cfg(target_os = "linux")]
mod strace_check;
