//! The smallest program with the helper in it, for the tests of this crate and for measurements.

use std::process::ExitCode;

fn main() -> ExitCode {
    harn_sandbox::dispatch().map_or(ExitCode::FAILURE, ExitCode::from)
}
