//! The `harn-serve` binary; everything is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    harn_serve::cli::main()
}
