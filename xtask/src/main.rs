//! Chores of the repository, run as `cargo run -p xtask -- tidy` and `startup`.
//!
//! The tidy checks are also this crate's tests, so `cargo test --workspace` runs them. Nothing here
//! is part of the product.

#[cfg(test)]
#[path = "../../crates/testkit/src/programs.rs"]
#[allow(unreachable_pub, reason = "this program exports nothing")]
mod programs;
mod repo;
mod startup;
mod tidy;

use std::process::ExitCode;

use anyhow::{Context, Result};

fn main() -> Result<ExitCode> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["tidy"] => run_tidy(),
        ["startup", profile] => {
            let profile = std::fs::read_to_string(profile).context("reading the profile")?;
            let script = startup::script(&profile, "harn-serve");
            std::fs::write(startup::PATH, script).context("writing the linker script")?;
            Ok(ExitCode::SUCCESS)
        }
        _ => {
            eprintln!("usage: cargo run -p xtask -- tidy | startup PROFILE");
            Ok(ExitCode::from(2))
        }
    }
}

fn run_tidy() -> Result<ExitCode> {
    let repo = repo::Repo::read()?;
    let problems = tidy::problems(&repo);
    for problem in &problems {
        eprintln!("{problem}");
    }
    eprintln!("{} files, {} problems", repo.files.len(), problems.len());
    Ok(ExitCode::from(u8::from(!problems.is_empty())))
}
