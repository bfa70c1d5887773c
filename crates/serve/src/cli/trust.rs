//! `harn-serve trust`: trusts a workspace's own hooks and MCP servers, and revokes that.

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Result;
use harn_runtime::Clock;
use harn_terminal::console::{print, print_error};
use harn_tools::skills::workspace_root;

use crate::{SystemClock, options::home_dir, trust::WorkspaceTrustStore};

/// The arguments of `trust`.
#[derive(Debug, clap::Args)]
pub(super) struct TrustArgs {
    /// The workspace's folder [default: the root of the workspace that contains this directory]
    #[arg(value_name = "DIR")]
    workspace: Option<PathBuf>,
    /// Revoke trust in the workspace
    #[arg(long)]
    revoke: bool,
    /// List the trusted workspaces
    #[arg(long, conflicts_with_all = ["workspace", "revoke"])]
    list: bool,
}

pub(super) fn run(state_dir: &Path, args: TrustArgs) -> Result<ExitCode> {
    let trusted = WorkspaceTrustStore::new(state_dir);
    if args.list {
        return list(&trusted);
    }
    let home = home_dir();
    let workspace = match args.workspace {
        Some(named) => named,
        None => workspace_root(&std::env::current_dir()?, home.as_deref()),
    };
    if args.revoke {
        return revoke(&trusted, &workspace);
    }
    let now = SystemClock::new().now();
    let path = trusted.trust(&workspace, home.as_deref(), now)?;
    print(&format!(
        "trusted {}: its skills and its harn.toml may run hooks and add MCP servers\n\
         revoke this with `harn-serve trust --revoke {}`\n",
        path.display(),
        workspace.display()
    ))?;
    Ok(ExitCode::SUCCESS)
}

fn revoke(trusted: &WorkspaceTrustStore, workspace: &Path) -> Result<ExitCode> {
    if trusted.revoke(workspace)? {
        print(&format!("{} is no longer trusted\n", workspace.display()))?;
        return Ok(ExitCode::SUCCESS);
    }
    match trusted.find_covering(workspace)? {
        Some(above) => print_error(format_args!(
            "{} is trusted because {} is trusted; revoke that one",
            workspace.display(),
            above.display()
        )),
        None => print_error(format_args!("{} was not trusted", workspace.display())),
    }
    Ok(ExitCode::FAILURE)
}

fn list(trusted: &WorkspaceTrustStore) -> Result<ExitCode> {
    let all = trusted.all()?;
    if all.is_empty() {
        print(&format!(
            "no trusted workspaces in {}\n",
            trusted.path().display()
        ))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut out = String::new();
    for workspace in all {
        // Writing to a string does not fail.
        let _ = writeln!(
            out,
            "{}  since {}",
            workspace.path.display(),
            workspace.since
        );
    }
    print(&out)?;
    Ok(ExitCode::SUCCESS)
}
