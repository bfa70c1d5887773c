//! The command line: names, defaults and help texts.

use std::{path::PathBuf, time::Duration};

use clap::{
    Parser, Subcommand,
    builder::{PossibleValuesParser, TypedValueParser},
};
use harn_policy::SessionMode;
#[cfg(feature = "terminal")]
use harn_terminal::attach::AttachArgs;
use harn_tools::{
    skills::SkillMatchStrategy,
    tool_search::{self, ToolRanking, ToolSearchOptions, ToolSearchSwitch},
};
use tracing_subscriber::filter::LevelFilter;

#[cfg(feature = "terminal")]
use super::run::RunArgs;
use super::{
    acp_flags::{BridgeFlags, DialectFlags},
    engine::EngineChoice,
    sessions::{CheckSessionsArgs, ListSessionsArgs},
    skills::SkillsArgs,
    trust::TrustArgs,
};
use crate::{SandboxMode, options::ASK_TIMEOUT};

/// Serves an agent to editors and other hosts over the Agent Client Protocol and three others, and to browsers
#[derive(Debug, Parser)]
#[command(name = "harn-serve", version, max_term_width = 100)]
pub(super) struct CliArgs {
    #[command(flatten)]
    pub(super) log: LogArgs,
    #[command(subcommand)]
    pub(super) command: CliCommand,
}

impl CliArgs {
    /// Returns the arguments of `harn-serve acp` with all defaults.
    pub(super) fn just_acp() -> Self {
        Self {
            log: LogArgs {
                log_level: LevelFilter::WARN,
                log_file: None,
            },
            command: CliCommand::Acp(AcpArgs::default()),
        }
    }
}

/// The log level and the log file.
#[derive(Debug, clap::Args)]
pub(super) struct LogArgs {
    /// Log messages of this level and above
    #[arg(long, global = true, value_name = "LEVEL", default_value = "warn", value_parser = log_level_parser())]
    pub(super) log_level: LevelFilter,
    /// Also log to this file; stderr then receives warnings only
    #[arg(long, global = true, value_name = "FILE")]
    pub(super) log_file: Option<PathBuf>,
}

fn log_level_parser() -> impl TypedValueParser<Value = LevelFilter> {
    let words = ["error", "warn", "info", "debug", "trace"];
    PossibleValuesParser::new(words).try_map(|word| word.parse::<LevelFilter>())
}

#[derive(Debug, Subcommand)]
pub(super) enum CliCommand {
    /// Serve one ACP client on stdin and stdout; this is what an editor runs
    Acp(AcpArgs),
    /// Serve the threads protocol as JSON-RPC on stdin and stdout
    ///
    /// Threads are stored in DIR/.harness, which the first thread creates. Others may have put files there, so
    /// a thread that is opened again ignores its stored mode and grants: it begins in the mode given here, and
    /// asks again.
    #[cfg(feature = "threads")]
    #[command(visible_alias = "harness")]
    Threads {
        #[command(flatten)]
        serve: AgentArgs,
        /// Directory to work in, instead of this one
        #[arg(long, value_name = "DIR")]
        cwd: Option<PathBuf>,
    },
    /// Serve a web page, ACP, documents and OpenHarness on a port, and ACP on a socket in the state directory,
    /// until a signal ends it
    ///
    /// Editors, terminals and browsers share the same sessions. Every request except those for the page needs
    /// the token in STATE/token, which is created at the first start and which only you can read, or the one in
    /// HARN_SERVE_TOKEN. A browser signs in with the address that is printed at the start, or with the token.
    Serve(ServeArgs),
    /// Ask the agent something in the terminal
    ///
    /// The answer goes to stdout, everything else (tool calls, diffs, questions) to stderr when stdout is not a
    /// terminal, so that `harn-serve run "..." > answer.md` writes just the answer. The answer to `/run
    /// COMMAND` is the output of the command. Permissions are asked for on the terminal; without a terminal,
    /// calls that --mode or --policy does not allow are rejected. Once the agent waits for more, as it does for
    /// /watch, each line you type is sent to it; before that, only answers to questions are read. Ctrl-C
    /// cancels the turn, a second one exits.
    ///
    /// Exits with 0 when the turn is done, 1 when it failed or a call was rejected or not found, 2 when the
    /// command line is invalid, 130 when it was interrupted.
    #[cfg(feature = "terminal")]
    Run {
        #[command(flatten)]
        serve: AgentArgs,
        #[command(flatten)]
        dialect: DialectFlags,
        #[command(flatten)]
        run: RunArgs,
    },
    /// Watch a live session in this terminal, steer it, or take it over
    ///
    /// A live session runs in a server: `harn-serve serve`, or the `harn-serve acp --listen` that an editor
    /// starts. Without a name, you choose from a list. While another client controls the session, you observe
    /// it, until you take over with Ctrl-T. Leaving does not end the session. Exits with 0 when you left or the
    /// session ended, 1 when something failed.
    #[cfg(feature = "terminal")]
    Attach {
        #[command(flatten)]
        state: StateDir,
        #[command(flatten)]
        attach: AttachArgs,
    },
    /// List, show, check or delete sessions
    Sessions {
        #[command(flatten)]
        places: StorageArgs,
        #[command(subcommand)]
        command: SessionsCommand,
    },
    /// List or revoke grants: the answers "always" and "never"
    Grants {
        #[command(flatten)]
        state: StateDir,
        #[command(subcommand)]
        command: GrantsCommand,
    },
    /// Trust the files of a workspace that run programs, as they are now
    ///
    /// Skills of a workspace may name hooks and MCP servers, and so may its harn.toml. None of them runs before
    /// you trust the workspace. This shows the files and their differences to the trusted ones, and asks. Trust
    /// applies to their content: a file that changes or is added later is not obeyed until you trust it again.
    /// Your rules still apply to commands.
    Trust {
        #[command(flatten)]
        state: StateDir,
        #[command(flatten)]
        trust: TrustArgs,
    },
    /// List, show or check skills: instructions that agents and people use by name
    Skills(SkillsArgs),
    /// For host authors: pinned conversations over ACP, and a check of recorded ones
    #[cfg(feature = "conformance")]
    Fixtures {
        #[command(subcommand)]
        command: FixturesCommand,
    },
    /// For host authors: the JSON Schemas of the extensions of ACP and of the other protocols
    Schema {
        /// The schema to print; without it and --out, list all of them
        #[arg(conflicts_with = "out")]
        name: Option<String>,
        /// Write all schemas into this directory
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
    },
    /// Check the installation, one line per check
    Doctor {
        #[command(flatten)]
        places: StorageArgs,
    },
}

/// The arguments of `acp`.
#[derive(Debug, Default, clap::Args)]
#[group(skip)]
#[command(mut_args(require_listen))]
pub(super) struct AcpArgs {
    #[command(flatten)]
    pub(super) serve: AgentArgs,
    #[command(flatten)]
    pub(super) dialect: DialectFlags,
    #[command(flatten)]
    pub(super) bridge: BridgeFlags,
    /// Also serve other clients on this address, such as 127.0.0.1:7433, and on a socket in the state
    /// directory, until stdin ends; port 0 selects a free one
    #[arg(long, value_name = "ADDR")]
    pub(super) listen: Option<String>,
    #[command(flatten)]
    pub(super) network: NetworkArgs,
    /// Check the installation instead, like the command doctor; editors append this flag to run the check in a
    /// terminal
    #[arg(long)]
    pub(super) doctor: bool,
}

/// The arguments of `serve`.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub(super) struct ServeArgs {
    #[command(flatten)]
    pub(super) serve: AgentArgs,
    #[command(flatten)]
    pub(super) dialect: DialectFlags,
    #[command(flatten)]
    pub(super) bridge: BridgeFlags,
    /// Directory in which sessions of the page, of documents and of OpenHarness work, instead of this one
    #[arg(long, value_name = "DIR")]
    pub(super) cwd: Option<PathBuf>,
    /// Address to listen on; port 0 selects a free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0")]
    pub(super) listen: String,
    /// Open the page in a browser, signed in
    #[cfg(feature = "page")]
    #[arg(long)]
    pub(super) open: bool,
    #[command(flatten)]
    pub(super) network: NetworkArgs,
}

/// The flag for the state directory.
#[derive(Debug, Default, clap::Args)]
pub(super) struct StateDir {
    /// Directory of sessions, grants, trust and the token [default: $XDG_STATE_HOME/harn or ~/.local/state/harn]
    #[arg(long, global = true, value_name = "DIR")]
    pub(super) state_dir: Option<PathBuf>,
}

/// The state directory and the sessions directory.
#[derive(Debug, Default, clap::Args)]
#[group(skip)]
pub(super) struct StorageArgs {
    #[command(flatten)]
    pub(super) state: StateDir,
    /// Directory of the sessions, if not the state directory, such as DIR/.harness for the threads of a directory
    #[arg(long, global = true, value_name = "DIR")]
    pub(super) sessions_dir: Option<PathBuf>,
}

/// The agent and its options.
#[derive(Debug, Default, clap::Args)]
#[group(skip)]
pub(super) struct AgentArgs {
    /// The agent: explore answers questions about a workspace, script:FILE plays a scenario
    #[arg(long, value_name = "explore|script:FILE", default_value = "explore")]
    pub(super) engine: EngineChoice,
    #[command(flatten)]
    pub(super) places: StorageArgs,
    #[command(flatten)]
    pub(super) permissions: PermissionArgs,
    #[command(flatten)]
    pub(super) tools: ToolArgs,
}

/// The skills and tools of sessions, besides the host's files and terminals.
#[derive(Debug, clap::Args)]
pub(super) struct ToolArgs {
    /// A folder of skills that takes precedence over all others; may be given more than once
    #[arg(long, value_name = "DIR")]
    pub(super) skill_dir: Vec<PathBuf>,
    /// How skills are chosen for a prompt: metadata by their own texts, host and embedding by the host
    #[arg(long, value_name = "metadata|host|embedding", default_value = "metadata", value_parser = parse_skill_match)]
    pub(super) skill_match: SkillMatchStrategy,
    /// Let models search for tools: auto when there are many, off never, or always with the given method
    #[arg(long, value_name = "auto|off|bm25|regex|hybrid", default_value = "auto", value_parser = parse_tool_search)]
    pub(super) tool_search: ToolSearchOptions,
}

impl Default for ToolArgs {
    fn default() -> Self {
        Self {
            skill_dir: Vec::new(),
            skill_match: SkillMatchStrategy::Metadata,
            tool_search: ToolSearchOptions::default(),
        }
    }
}

fn parse_skill_match(word: &str) -> Result<SkillMatchStrategy, String> {
    match SkillMatchStrategy::from_name(word) {
        (strategy, None) => Ok(strategy),
        (_, Some(_)) => Err("known strategies: metadata, host, embedding".to_owned()),
    }
}

fn parse_tool_search(word: &str) -> Result<ToolSearchOptions, &'static str> {
    let mut options = ToolSearchOptions::default();
    let always_by = match word {
        "auto" => return Ok(options),
        "off" => {
            options.switch = ToolSearchSwitch::Off;
            return Ok(options);
        }
        "bm25" => ToolRanking::Bm25,
        "regex" => ToolRanking::Regex,
        "hybrid" => ToolRanking::Hybrid,
        _ => return Err("known values: auto, off, bm25, regex, hybrid"),
    };
    options.switch = ToolSearchSwitch::On;
    options.strategy = tool_search::ToolSearchStrategy::Ranked(always_by);
    Ok(options)
}

/// The rules for connections over the network.
#[derive(Debug, Default, clap::Args)]
#[group(skip)]
#[command(next_help_heading = "Network")]
pub(super) struct NetworkArgs {
    /// Use TLS with this certificate, in PEM, followed by those that signed it
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(super) tls_cert: Option<PathBuf>,
    /// The certificate's private key, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(super) tls_key: Option<PathBuf>,
    /// A host name that clients may use for this server, besides those of this machine; may be given more than once
    #[arg(long, value_name = "HOST[:PORT]")]
    pub(super) allow_host: Vec<String>,
    /// The origin of web pages that may connect, such as https://app.example; may be given more than once
    #[arg(long, value_name = "ORIGIN")]
    pub(super) allow_origin: Vec<String>,
    /// Listen beyond this machine without TLS: anyone on the network path can read the token
    #[arg(long)]
    pub(super) insecure_listen: bool,
}

/// Makes the network flags require `--listen`, without which `acp` opens no port.
fn require_listen(arg: clap::Arg) -> clap::Arg {
    const NETWORK: [&str; 5] = [
        "tls_cert",
        "tls_key",
        "allow_host",
        "allow_origin",
        "insecure_listen",
    ];
    match NETWORK.contains(&arg.get_id().as_str()) {
        true => arg.requires("listen"),
        false => arg,
    }
}

/// Which calls run without a question, which ask and which are rejected.
#[derive(Debug, clap::Args)]
pub(super) struct PermissionArgs {
    /// The mode of a new session: ask before anything that changes something, read-only, accept-edits of the
    /// workspace's files, or auto for calls that stay in the workspace [default: ask]
    #[arg(long, value_name = "ask|read-only|accept-edits|auto", value_parser = parse_mode)]
    pub(super) mode: Option<SessionMode>,
    /// Rules in TOML, in addition to the user's and the workspace's; may be given more than once
    #[arg(long, value_name = "FILE")]
    pub(super) policy: Vec<PathBuf>,
    /// Whether commands run in the sandbox: auto as far as this system provides it, require only if it provides all of
    /// it, off never; see docs/sandbox.md
    #[arg(long, value_name = "off|auto|require", default_value = "auto", value_parser = parse_sandbox)]
    pub(super) sandbox: SandboxMode,
    /// How long a question waits for an answer, such as 90s, 30m or 2h
    #[arg(long, value_name = "DURATION", default_value = "30m", value_parser = parse_ask_timeout)]
    pub(super) ask_timeout: Duration,
}

impl Default for PermissionArgs {
    fn default() -> Self {
        Self {
            mode: None,
            policy: Vec::new(),
            sandbox: SandboxMode::default(),
            ask_timeout: ASK_TIMEOUT,
        }
    }
}

fn parse_mode(word: &str) -> Result<SessionMode, String> {
    SessionMode::from_id(word).ok_or_else(|| {
        let ids = SessionMode::ALL.map(SessionMode::id).join(", ");
        format!("known modes: {ids}")
    })
}

fn parse_sandbox(word: &str) -> Result<SandboxMode, String> {
    SandboxMode::from_id(word).ok_or_else(|| {
        let ids = SandboxMode::ALL.map(SandboxMode::id).join(", ");
        format!("known values: {ids}")
    })
}

fn parse_ask_timeout(words: &str) -> Result<Duration, String> {
    const SHORTEST: Duration = Duration::from_secs(1);
    const LONGEST: Duration = Duration::from_secs(30 * 24 * 60 * 60);
    let time = humantime::parse_duration(words)
        .map_err(|_| "write the time with a unit, such as 90s, 30m or 2h".to_owned())?;
    if !(SHORTEST..=LONGEST).contains(&time) {
        return Err("the timeout must be between 1s and 30days".to_owned());
    }
    Ok(time)
}

#[derive(Debug, Subcommand)]
pub(super) enum GrantsCommand {
    /// List grants, the oldest first
    List {
        /// Print a JSON array
        #[arg(long)]
        json: bool,
        /// Grants of this workspace, instead of this directory's
        #[arg(long, value_name = "DIR", conflicts_with = "all")]
        workspace: Option<PathBuf>,
        /// Grants of every workspace
        #[arg(long)]
        all: bool,
    },
    /// Revoke grants: the calls that they covered are asked about again
    Revoke {
        /// Ids of grants, as list prints them
        #[arg(value_name = "ID", required_unless_present = "all")]
        ids: Vec<String>,
        /// All grants, of every workspace
        #[arg(long, conflicts_with = "ids")]
        all: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum SessionsCommand {
    /// List sessions, the latest first
    List(ListSessionsArgs),
    /// Print the conversation and the calls of a session
    Show {
        /// The session's id, a prefix of it, or `last` for the one that changed last
        #[arg(value_name = "ID|last")]
        id: String,
    },
    /// Check the journals of sessions for damage, and cut damaged ones to their intact part
    ///
    /// Prints each session as ok, damaged or repaired; damage with its file and line. Exits with 1 if damage is
    /// left.
    Check(CheckSessionsArgs),
    /// Delete a session permanently
    Delete {
        /// The session's id, a prefix of it, or `last` for the one that changed last
        #[arg(value_name = "ID|last")]
        id: String,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum FixturesCommand {
    /// List the fixtures with a description of each
    List,
    /// Print a fixture
    Show {
        /// Name of the fixture
        name: String,
    },
    /// Check recorded traffic, one message per line, and print which line breaks which rule
    ///
    /// A recording is a transcript like those of `show`, or the bare messages of one side or of both. A file
    /// that ends in .json contains independent messages: only their shapes are checked. Exits with 0 when there
    /// are no findings, 1 when there are, 2 when a file cannot be read.
    Verify {
        /// Recordings; - is stdin
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        /// Print a JSON object for each finding, and nothing else
        #[arg(long)]
        json: bool,
    },
    /// List the rules that verify checks
    Rules,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn just_acp_equals_the_parsed_arguments() {
        let parsed = CliArgs::try_parse_from(["harn-serve", "acp"]).unwrap();
        assert_eq!(format!("{parsed:?}"), format!("{:?}", CliArgs::just_acp()));
    }

    #[test]
    fn the_command_line_is_consistent() {
        CliArgs::command().debug_assert();
    }

    #[test]
    fn network_flags_require_listen() {
        let flags: [&[&str]; 4] = [
            &["--tls-cert", "c", "--tls-key", "k"],
            &["--allow-host", "box.example"],
            &["--allow-origin", "https://app.example"],
            &["--insecure-listen"],
        ];
        for flags in flags {
            let parse = |before: &[&str]| {
                let line = ["harn-serve"].iter().chain(before).chain(flags);
                CliArgs::try_parse_from(line).is_ok()
            };
            assert!(parse(&["serve"]), "{flags:?}");
            assert!(parse(&["acp", "--listen", "127.0.0.1:0"]), "{flags:?}");
            assert!(!parse(&["acp"]), "{flags:?}");
        }
    }

    #[test]
    fn defaults_need_no_flags() {
        let args = CliArgs::parse_from(["harn-serve", "acp"]);
        assert_eq!(args.log.log_level, LevelFilter::WARN);
        let CliCommand::Acp(acp) = args.command else {
            panic!("not acp: {args:?}");
        };
        assert_eq!(acp.serve.engine, EngineChoice::Explore);
        assert_eq!(acp.dialect, DialectFlags::default());
        assert_eq!(acp.serve.places.state.state_dir, None);
        assert_eq!(acp.serve.places.sessions_dir, None);
        assert_eq!(acp.listen, None);
    }

    #[test]
    fn directory_flags_may_precede_or_follow_the_sessions_command() {
        let places = ["--state-dir", "/s", "--sessions-dir", "/t"];
        for line in [
            [&["harn-serve", "sessions"], &places[..], &["list"]].concat(),
            [&["harn-serve", "sessions", "list"], &places[..]].concat(),
        ] {
            let CliCommand::Sessions { places, .. } = CliArgs::parse_from(line).command else {
                panic!("not sessions");
            };
            assert_eq!(places.state.state_dir, Some("/s".into()));
            assert_eq!(places.sessions_dir, Some("/t".into()));
        }
    }

    #[cfg(feature = "threads")]
    #[test]
    fn threads_has_an_alias_and_rejects_acp_flags() {
        let parse = |words: &[&str]| CliArgs::try_parse_from([&["harn-serve"], words].concat());
        for name in ["threads", "harness"] {
            let parsed = parse(&[name, "--cwd", "/w"]).unwrap().command;
            assert!(matches!(parsed, CliCommand::Threads { .. }), "{name}");
            assert!(parse(&[name, "--profile", "acp"]).is_err(), "{name}");
            assert!(parse(&[name, "--listen", "127.0.0.1:0"]).is_err(), "{name}");
        }
    }
}
