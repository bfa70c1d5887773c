//! The command line: names, defaults and help texts.

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};
use harn_acp::ProfileChoice;

use super::engine::EngineChoice;

/// Serves an agent to editors and other hosts over the Agent Client Protocol
#[derive(Debug, Parser)]
#[command(name = "harn-serve", version, max_term_width = 100)]
pub(super) struct Args {
    #[command(flatten)]
    pub(super) log: LogArgs,
    #[command(subcommand)]
    pub(super) command: Command,
}

impl Args {
    /// `harn-serve acp`, all defaults.
    pub(super) fn just_acp() -> Self {
        Self {
            log: LogArgs {
                log_level: LogLevel::Warn,
                log_file: None,
            },
            command: Command::Acp {
                serve: Serve {
                    engine: EngineChoice::Explore,
                    state: StateDir { state_dir: None },
                    profile: ProfileChoice::Auto,
                },
            },
        }
    }
}

/// What to log, and where.
#[derive(Debug, clap::Args)]
pub(super) struct LogArgs {
    /// How much to log
    #[arg(long, global = true, value_name = "LEVEL", default_value = "warn")]
    pub(super) log_level: LogLevel,
    /// Also log to this file; stderr then gets warnings only
    #[arg(long, global = true, value_name = "FILE")]
    pub(super) log_file: Option<PathBuf>,
}

/// How much to log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum LogLevel {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Serve one ACP client on stdin and stdout; this is what an editor runs
    Acp {
        #[command(flatten)]
        serve: Serve,
    },
    /// Ask the agent something in the terminal
    ///
    /// The answer goes to stdout, everything else (tool calls, diffs, questions) to stderr when stdout
    /// is not a terminal, so that `harn-serve run "..." > answer.md` holds just the answer. Permissions
    /// are asked for on the terminal and refused when there is none. Ctrl-C cancels, twice leaves.
    Run {
        #[command(flatten)]
        serve: Serve,
        /// Directory to work in, instead of this one
        #[arg(long, value_name = "DIR")]
        cwd: Option<PathBuf>,
        /// What to ask; /help lists what the explore engine can do
        #[arg(allow_hyphen_values = true)]
        prompt: String,
    },
    /// List, show or delete sessions
    Sessions {
        #[command(flatten)]
        state: StateDir,
        #[command(subcommand)]
        command: SessionsCommand,
    },
    /// For host authors: pinned conversations, and a check of recorded ones
    Fixtures {
        #[command(subcommand)]
        command: FixturesCommand,
    },
    /// For host authors: the JSON Schemas of the extensions
    Schema {
        /// Print this one; without it and --out, list them
        #[arg(conflicts_with = "out")]
        name: Option<String>,
        /// Write all of them into this directory
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
    },
    /// Check the installation: one line for each thing looked at
    Doctor {
        #[command(flatten)]
        state: StateDir,
    },
}

/// Where sessions are kept.
#[derive(Debug, clap::Args)]
pub(super) struct StateDir {
    /// Where sessions are kept [default: $XDG_STATE_HOME/harn or ~/.local/state/harn]
    #[arg(long, global = true, value_name = "DIR")]
    pub(super) state_dir: Option<PathBuf>,
}

/// What to serve, and how.
#[derive(Debug, clap::Args)]
pub(super) struct Serve {
    /// The agent: explore answers questions about a workspace, script:FILE plays a scenario
    #[arg(long, value_name = "explore|script:FILE", default_value = "explore")]
    pub(super) engine: EngineChoice,
    #[command(flatten)]
    pub(super) state: StateDir,
    /// What clients get that do not say: auto by what is known of them, harn everything, meta
    /// everything in a form that typed clients deliver, acp nothing beyond plain ACP
    #[arg(long, value_name = "auto|harn|meta|acp", default_value = "auto")]
    pub(super) profile: ProfileChoice,
}

#[derive(Debug, Subcommand)]
pub(super) enum SessionsCommand {
    /// All sessions, the latest first
    List,
    /// What was said and done in a session
    Show {
        /// The session's id
        id: String,
    },
    /// Remove a session for good
    Delete {
        /// The session's id
        id: String,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum FixturesCommand {
    /// Every pinned fixture with what it shows
    List,
    /// Print a fixture
    Show {
        /// Its name
        name: String,
    },
    /// Check recorded traffic, a message a line, and say which line breaks which rule
    ///
    /// A recording is a transcript like those of `show`, or the bare messages of one side or of both. A
    /// file that ends in .json holds messages by themselves: only their shapes are checked. Exits with 0
    /// when there are no findings, 1 when there are, 2 when a file cannot be read.
    Verify {
        /// Recordings; - is stdin
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        /// Print a JSON object for each finding, and nothing else
        #[arg(long)]
        json: bool,
    },
    /// The rules that verify knows
    Rules,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_short_way_says_what_the_parser_says() {
        let parsed = Args::try_parse_from(["harn-serve", "acp"]).unwrap();
        assert_eq!(format!("{parsed:?}"), format!("{:?}", Args::just_acp()));
    }

    #[test]
    fn the_command_line_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn defaults_need_no_flags() {
        let args = Args::parse_from(["harn-serve", "acp"]);
        assert_eq!(args.log.log_level, LogLevel::Warn);
        let Command::Acp { serve } = args.command else {
            panic!("not acp: {args:?}");
        };
        assert_eq!(serve.engine, EngineChoice::Explore);
        assert_eq!(serve.profile, ProfileChoice::Auto);
        assert_eq!(serve.state.state_dir, None);
    }

    #[test]
    fn the_state_dir_may_stand_before_or_after_what_to_do_with_sessions() {
        for line in [
            ["harn-serve", "sessions", "--state-dir", "/s", "list"],
            ["harn-serve", "sessions", "list", "--state-dir", "/s"],
        ] {
            let Command::Sessions { state, .. } = Args::parse_from(line).command else {
                panic!("not sessions");
            };
            assert_eq!(state.state_dir, Some("/s".into()));
        }
    }
}
