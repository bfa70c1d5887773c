//! The commands of the `harn-serve` binary.
//!
//! Exit codes: 0 on success, 1 on failure, 2 when the command line or a file it names is invalid, 130 when
//! `run` was interrupted. `run` also exits with 1 when a call was rejected or not found.

mod acp_flags;
mod args;
mod doctor;
mod engine;
#[cfg(feature = "conformance")]
mod fixtures;
mod grants;
mod logging;
#[cfg(feature = "terminal")]
mod run;
mod schema;
mod session_ids;
mod sessions;
mod skills;
mod trust;

use std::{
    io::{self, IsTerminal},
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};

use anyhow::{Context, Result, anyhow, ensure};
use clap::Parser;
use harn_runtime::Agent;
#[cfg(feature = "terminal")]
use harn_terminal::attach;
use harn_terminal::{
    console::{CommandLineError, as_command_line_error, print, print_error, print_note},
    paint::escape_controls,
};
use harn_tools::skills::SkillMatching;
use serde::Serialize;

use self::args::{
    AcpArgs, AgentArgs, CliArgs, CliCommand, NetworkArgs, ServeArgs, StateDir, StorageArgs,
};
use crate::{
    ListenOptions, ServeOptions, acp_stdio_and_listen, acp_stdio_with, chosen_host_call_timeout,
    default_config_dir, default_state_dir, listen,
    options::{TOKEN_VARIABLE, read_env_var},
    rules,
    skill_places::skill_places,
};

/// Parses the command line and runs the command.
#[must_use]
pub fn main() -> ExitCode {
    crate::dispatch_sandbox_helper();
    let args = parse_args();
    let done = logging::start(&args.log).and_then(|()| dispatch(args.command));
    done.unwrap_or_else(|error| {
        let wrong = error.is::<CommandLineError>();
        print_error(format_args!("{error:#}"));
        ExitCode::from(if wrong { 2 } else { 1 })
    })
}

/// Parses the command line. The editors' `acp` is recognised without the parser, which saves some 400 KB at the
/// start.
fn parse_args() -> CliArgs {
    let mut words = std::env::args_os().skip(1);
    match (words.next(), words.next()) {
        (Some(word), None) if word == "acp" => CliArgs::just_acp(),
        _ => CliArgs::parse(),
    }
}

fn dispatch(command: CliCommand) -> Result<ExitCode> {
    match command {
        CliCommand::Acp(args) if args.doctor => doctor::run(&args.serve.places.into_options()?),
        CliCommand::Acp(args) => run_acp(args),
        #[cfg(feature = "threads")]
        CliCommand::Threads { serve, cwd } => run_threads(serve, cwd.as_deref()),
        CliCommand::Serve(args) => serve_network(args),
        #[cfg(feature = "terminal")]
        CliCommand::Run {
            serve,
            dialect,
            run,
        } => run::run(serve, &dialect, run),
        #[cfg(feature = "terminal")]
        CliCommand::Attach { state, attach } => {
            let token = read_env_var(TOKEN_VARIABLE).and_then(|token| token.into_string().ok());
            let clock = Arc::new(crate::SystemClock::new());
            let attached = attach::run(state.resolve_dir()?, attach, token, clock);
            crate::server_runtime::build_waiting_runtime()?.block_on(attached)
        }
        CliCommand::Sessions { places, command } => sessions::run(&places.into_options()?, command),
        CliCommand::Grants { state, command } => grants::run(&state.resolve_dir()?, command),
        CliCommand::Trust { state, trust } => trust::run(&state.resolve_dir()?, trust),
        CliCommand::Skills(args) => skills::run(args),
        #[cfg(feature = "conformance")]
        CliCommand::Fixtures { command } => fixtures::run(command),
        CliCommand::Schema { name, out } => schema::run(name, out),
        CliCommand::Doctor { places } => doctor::run(&places.into_options()?),
    }
}

fn run_acp(args: AcpArgs) -> Result<ExitCode> {
    if io::stdin().is_terminal() {
        let hint = "serving ACP on stdin and stdout, as an editor expects; \
                    to ask the agent in this terminal: harn-serve run \"your question\"";
        print_note(hint);
    }
    let (agent, mut options) = load(args.serve)?;
    options.profile = args.dialect.profile;
    options.host_bridge = args.bridge.host_bridge;
    options.terminal_auth = doctor::as_terminal_auth();
    match args.listen {
        Some(at) => acp_stdio_and_listen(agent, options, args.network.into_listen_options(at))?,
        None => acp_stdio_with(agent, options)?,
    }
    Ok(ExitCode::SUCCESS)
}

#[cfg(feature = "threads")]
fn run_threads(serve: AgentArgs, cwd: Option<&Path>) -> Result<ExitCode> {
    if io::stdin().is_terminal() {
        let hint = "serving threads on stdin and stdout, one JSON-RPC message per line; \
                    to ask the agent in this terminal: harn-serve run \"your question\"";
        print_note(hint);
    }
    let directory = resolve_working_dir(cwd).map_err(as_command_line_error)?;
    let (agent, mut options) = load(serve)?;
    options.directory = Some(directory);
    crate::threads_stdio_with(agent, options)?;
    Ok(ExitCode::SUCCESS)
}

fn serve_network(args: ServeArgs) -> Result<ExitCode> {
    let directory = resolve_working_dir(args.cwd.as_deref()).map_err(as_command_line_error)?;
    let (agent, mut options) = load(args.serve)?;
    options.profile = args.dialect.profile;
    options.host_bridge = args.bridge.host_bridge;
    options.directory = Some(directory);
    let at = ListenOptions {
        #[cfg(feature = "page")]
        open: args.open,
        ..args.network.into_listen_options(args.listen)
    };
    listen(agent, options, at)?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the working directory: that of `--cwd`, else the current one.
fn resolve_working_dir(cwd: Option<&Path>) -> Result<PathBuf> {
    let dir = cwd.unwrap_or(Path::new("."));
    let context = || format!("--cwd {}", dir.display());
    // As the user wrote it, including links, because they know it by that name.
    let absolute = absolute_path("--cwd", dir)?;
    let found = absolute.metadata().with_context(context)?;
    ensure!(found.is_dir(), "{}: not a directory", context());
    // A `.` at the end would be part of every path shown.
    Ok(absolute.components().collect())
}

impl NetworkArgs {
    /// Returns the options to listen, with the token of the environment if there is one.
    fn into_listen_options(self, address: String) -> ListenOptions {
        ListenOptions {
            tls: self.tls_cert.zip(self.tls_key),
            hosts: self.allow_host,
            origins: self.allow_origin,
            insecure: self.insecure_listen,
            // A value that is not text is rejected like any other invalid token.
            token: read_env_var(TOKEN_VARIABLE).map(|token| token.to_string_lossy().into_owned()),
            ..ListenOptions::new(address)
        }
    }
}

/// Returns the engine and the options that a command line selects.
fn load(serve: AgentArgs) -> Result<(Arc<dyn Agent>, ServeOptions)> {
    let permissions = serve.permissions;
    let options = ServeOptions {
        policy_files: resolve_policy_files(permissions.policy)?,
        config_dir: default_config_dir(),
        mode: permissions.mode.unwrap_or_default(),
        sandbox: permissions.sandbox,
        ask_timeout: permissions.ask_timeout,
        host_call_timeout: chosen_host_call_timeout().map_err(as_command_line_error)?,
        skills: skill_places(check_skill_folders(serve.tools.skill_dir)?),
        skill_matching: SkillMatching {
            strategy: serve.tools.skill_match,
            ..SkillMatching::default()
        },
        tool_search: serve.tools.tool_search,
        ..serve.places.into_options()?
    };
    let agent = serve.engine.load().map_err(as_command_line_error)?;
    Ok((agent, options))
}

/// Checks the skill folders of the command line: a missing one was mistyped.
fn check_skill_folders(folders: Vec<PathBuf>) -> Result<Vec<PathBuf>> {
    match folders.iter().find(|folder| !folder.is_dir()) {
        Some(missing) => {
            let missing = missing.display();
            Err(as_command_line_error(anyhow!(
                "--skill-dir {missing}: the folder does not exist"
            )))
        }
        None => Ok(folders),
    }
}

/// Checks the policies of the command line now, so that a wrong one is rejected before a client relies on it;
/// all others are read when a call needs them.
fn resolve_policy_files(files: Vec<PathBuf>) -> Result<Vec<PathBuf>> {
    let named = |file: PathBuf| {
        rules::check_named(&file).map_err(|error| anyhow!("--policy {error}"))?;
        // It must mean the same file in each working directory.
        absolute_path("--policy", &file)
    };
    let files = files.into_iter().map(named).collect::<Result<_>>();
    files.map_err(as_command_line_error)
}

impl StorageArgs {
    /// Returns options with these directories, and defaults otherwise.
    fn into_options(self) -> Result<ServeOptions> {
        let sessions = self.sessions_dir.as_deref();
        let sessions = sessions.map(|dir| absolute_path("--sessions-dir", dir));
        Ok(ServeOptions {
            sessions_dir: sessions.transpose().map_err(as_command_line_error)?,
            ..ServeOptions::new(self.state.resolve_dir()?)
        })
    }
}

impl StateDir {
    /// Returns the selected directory, or the default.
    fn resolve_dir(self) -> Result<PathBuf> {
        match self.state_dir {
            // Sessions must not move when the working directory changes.
            Some(dir) => absolute_path("--state-dir", &dir).map_err(as_command_line_error),
            None => default_state_dir(),
        }
    }
}

/// Returns whether the environment forbids colours.
fn is_color_disabled() -> bool {
    read_env_var("NO_COLOR").is_some_and(|value| !value.is_empty())
}

/// Returns the whole text on one line, with control characters escaped.
fn one_line(text: &str) -> String {
    escape_controls(text).replace('\n', "\\n")
}

/// Returns the path of a flag as an absolute one, which does not depend on the working directory.
fn absolute_path(flag: &str, path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).with_context(|| format!("{flag} {}", path.display()))
}

/// Prints a value as JSON.
fn print_json(value: &impl Serialize) -> Result<ExitCode> {
    print(&format!("{}\n", serde_json::to_string_pretty(value)?))?;
    Ok(ExitCode::SUCCESS)
}
