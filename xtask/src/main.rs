//! Chores of the repository, run as `cargo run -p xtask -- tidy` and `numbers`.
//!
//! The tidy checks are also this crate's tests, so `cargo test --workspace` runs them. Nothing here
//! is part of the product.

mod numbers;
#[cfg(test)]
#[path = "../../crates/testkit/src/programs.rs"]
#[allow(unreachable_pub, reason = "this program exports nothing")]
mod programs;
mod repo;
mod tidy;
mod wording;

use std::process::ExitCode;

use anyhow::Result;

fn main() -> Result<ExitCode> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["tidy"] => run_tidy(),
        ["numbers"] => print_numbers(),
        _ => {
            eprintln!("usage: cargo run -p xtask -- tidy | numbers");
            Ok(ExitCode::from(2))
        }
    }
}

/// Prints the length of each crate, as a table for docs/architecture.md, and figures about names and prose.
fn print_numbers() -> Result<ExitCode> {
    let repo = repo::Repo::read()?;
    eprintln!("{}", numbers::Numbers::from_files(&repo.files));
    eprint!("{}", wording::Wording::measure(&repo.files));
    Ok(ExitCode::SUCCESS)
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
