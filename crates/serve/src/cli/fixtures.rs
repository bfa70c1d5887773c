//! `harn-serve fixtures`: the fixtures for authors of hosts, and a check of recordings.
//!
//! `conformance` owns the rules, the recordings and the reading of files; this file owns names and exit codes.

use std::{io, path::PathBuf, process::ExitCode};

use anyhow::{Result, anyhow};
use harn_conformance::{ConformanceRule, find_fixture, fixtures, verify};
use harn_terminal::{
    console::{as_command_line_error, print, print_error},
    text,
};

use super::args::FixturesCommand;

pub(super) fn run(command: FixturesCommand) -> Result<ExitCode> {
    match command {
        FixturesCommand::List => {
            let rows: Vec<_> = fixtures()
                .into_iter()
                .map(|fixture| [fixture.name.into(), fixture.about.into()])
                .collect();
            print(&text::table(["NAME", "SHOWS"], &rows))?;
        }
        FixturesCommand::Show { name } => print(fixture_text(&name)?)?,
        FixturesCommand::Rules => {
            let rows: Vec<_> = ConformanceRule::ALL
                .iter()
                .map(|rule| [rule.name().into(), rule.sentence().into()])
                .collect();
            print(&text::table(["RULE", "ASKS"], &rows))?;
        }
        FixturesCommand::Verify { files, json } => return verify_all(&files, json),
    }
    Ok(ExitCode::SUCCESS)
}

fn fixture_text(name: &str) -> Result<&'static str> {
    find_fixture(name).ok_or_else(|| {
        let hint = text::did_you_mean(name, fixtures().iter().map(|fixture| fixture.name));
        as_command_line_error(anyhow!(
            "unknown fixture `{name}`; {hint}`harn-serve fixtures list` lists all"
        ))
    })
}

/// Returns 0 without findings, 1 with findings, 2 if a file cannot be read.
fn verify_all(files: &[PathBuf], json: bool) -> Result<ExitCode> {
    let (mut findings, mut unread) = (0, false);
    let printed = |text: &str| print(text).map_err(io::Error::other);
    for path in files {
        let verdict = verify(path, json, printed)?;
        findings += verdict.findings;
        if let Some(error) = verdict.unread {
            print_error(format_args!("{}: {error}", path.display()));
            unread = true;
        }
    }
    Ok(ExitCode::from(match (unread, findings) {
        (true, _) => 2,
        (false, 0) => 0,
        (false, _) => 1,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_fixture_name_suggests_similar_names() {
        let error = fixture_text("trun").unwrap_err().to_string();
        assert!(error.contains("did you mean `turn`"), "{error}");
        let error = fixture_text("zzzzzz").unwrap_err().to_string();
        assert!(!error.contains("did you mean"), "{error}");
    }
}
