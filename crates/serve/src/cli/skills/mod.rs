//! `harn-serve skills`: lists the skills of a directory, prints one, and checks them.

mod check;
mod list;
mod show;

use std::{path::PathBuf, process::ExitCode, sync::Arc};

use anyhow::{Context, Result};
use harn_terminal::console::as_command_line_error;
use harn_tools::skills::WorkspaceSkills;

use super::check_skill_folders;
use crate::{SystemClock, skill_places::skill_places};

/// The arguments of `skills`.
#[derive(Debug, clap::Args)]
pub(super) struct SkillsArgs {
    /// A folder of skills that takes precedence over all others; may be given more than once
    #[arg(long, global = true, value_name = "DIR")]
    skill_dir: Vec<PathBuf>,
    /// The directory a session would work in, instead of this one
    #[arg(long, global = true, value_name = "DIR")]
    cwd: Option<PathBuf>,
    #[command(subcommand)]
    command: SkillsCommand,
}

#[derive(Debug, clap::Subcommand)]
enum SkillsCommand {
    /// List the skills of a session, and those that others hide
    List {
        /// Print a JSON array
        #[arg(long)]
        json: bool,
    },
    /// Print the properties and the text of a skill
    Show {
        /// Id of the skill, as list prints it
        id: String,
    },
    /// List all problems of skills, with file and line
    ///
    /// Exits with 1 when a skill cannot be used, 0 when there are at most warnings.
    Check {
        /// Skills or folders of skills, instead of those of a session
        #[arg(value_name = "PATH")]
        paths: Vec<PathBuf>,
    },
}

pub(super) fn run(args: SkillsArgs) -> Result<ExitCode> {
    let SkillsArgs {
        skill_dir,
        cwd,
        command,
    } = args;
    let find = || -> Result<WorkspaceSkills> {
        let cwd = cwd.unwrap_or_else(|| PathBuf::from("."));
        let context = || format!("--cwd {}", cwd.display());
        let cwd = cwd.canonicalize().with_context(context);
        let places = skill_places(check_skill_folders(skill_dir)?);
        let clock = Arc::new(SystemClock::new());
        Ok(WorkspaceSkills::find(
            places,
            &cwd.map_err(as_command_line_error)?,
            clock,
        ))
    };
    match command {
        SkillsCommand::List { json } => list::run(&find()?, json),
        SkillsCommand::Show { id } => show::run(&find()?, &id),
        SkillsCommand::Check { paths } if paths.is_empty() => check::check_session_skills(&find()?),
        SkillsCommand::Check { paths } => check::check_paths(&paths),
    }
}
