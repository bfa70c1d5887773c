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
    dialect::{BridgeFlags, DialectFlags},
    engine::EngineChoice,
    sessions::ListSessionsArgs,
    skills::SkillsArgs,
    trust::TrustArgs,
};
use crate::options::ASK_TIMEOUT;

/// Serves an agent to editors and other hosts over the Agent Client Protocol, over three others, and to browsers
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

/// What to log, and where.
#[derive(Debug, clap::Args)]
pub(super) struct LogArgs {
    /// How much to log
    #[arg(long, global = true, value_name = "LEVEL", default_value = "warn", value_parser = log_level())]
    pub(super) log_level: LevelFilter,
    /// Also log to this file; stderr then gets warnings only
    #[arg(long, global = true, value_name = "FILE")]
    pub(super) log_file: Option<PathBuf>,
}

fn log_level() -> impl TypedValueParser<Value = LevelFilter> {
    let words = ["error", "warn", "info", "debug", "trace"];
    PossibleValuesParser::new(words).try_map(|word| word.parse::<LevelFilter>())
}

#[derive(Debug, Subcommand)]
pub(super) enum CliCommand {
    /// Serve one ACP client on stdin and stdout; this is what an editor runs
    Acp(AcpArgs),
    /// Serve threads and turns as JSON-RPC on stdin and stdout
    ///
    /// Threads are kept in DIR/.harness, which the first of them makes. What is kept there may have come with
    /// the directory, so a thread that is opened again begins in the mode that is given here, and asks again.
    #[cfg(feature = "threads")]
    #[command(visible_alias = "harness")]
    Threads {
        #[command(flatten)]
        serve: AgentArgs,
        /// Directory to work in, instead of this one
        #[arg(long, value_name = "DIR")]
        cwd: Option<PathBuf>,
    },
    /// Serve a web page, ACP, documents and OpenHarness on a port, and ACP on a socket in the state directory, until a
    /// signal ends it
    ///
    /// Editors, terminals and browsers meet here at the same sessions. Every request but those for the page needs the token in
    /// STATE/token, which is made at the first start and only you can read, or the one in
    /// HARN_SERVE_TOKEN. A browser signs in with the address that is shown at the start, or with the token.
    Serve(ServeArgs),
    /// Ask the agent something in the terminal
    ///
    /// The answer goes to stdout, everything else (tool calls, diffs, questions) to stderr when stdout
    /// is not a terminal, so that `harn-serve run "..." > answer.md` holds just the answer. The answer to
    /// `/run COMMAND` is what the command prints. Permissions
    /// are asked for on the terminal and refused when there is none, unless --mode or --policy allows
    /// what is asked. Once the agent says that it waits, as it does for /watch, each line you type is
    /// sent to it; before that, only answers to questions are read. Ctrl-C cancels, twice leaves.
    ///
    /// Exits with 0 when the turn is done, 1 when it failed or a call of it was refused or not found, 2 when
    /// the command line makes no sense, 130 when it was interrupted.
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
    /// Sessions live in a server: `harn-serve serve`, or the `harn-serve acp --listen` that an editor runs.
    /// Without a name you choose from a list. If somebody else controls the session you watch, until you
    /// take over with Ctrl-T. Leaving does not end the session. Exits with 0 when you left or the session
    /// ended, 1 when something failed.
    #[cfg(feature = "terminal")]
    Attach {
        #[command(flatten)]
        state: StateDir,
        #[command(flatten)]
        attach: AttachArgs,
    },
    /// List, show or delete sessions
    Sessions {
        #[command(flatten)]
        places: StorageArgs,
        #[command(subcommand)]
        command: SessionsCommand,
    },
    /// List or forget what was answered "always" or "never"
    Grants {
        #[command(flatten)]
        state: StateDir,
        #[command(subcommand)]
        command: GrantsCommand,
    },
    /// Let a workspace's own files have things run
    ///
    /// Skills of a workspace may name hooks and MCP servers, and so may its harn.toml. None of it is run or
    /// connected before you trust the workspace. Trust covers the folder and everything below it, also what
    /// comes there later; commands are still judged by your rules like any other.
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
    /// For host authors: the JSON Schemas of what is said beyond plain ACP, and of the other wires
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
        places: StorageArgs,
    },
}

/// What `acp` serves, and to whom else.
#[derive(Debug, Default, clap::Args)]
#[group(skip)]
#[command(mut_args(needs_listen))]
pub(super) struct AcpArgs {
    #[command(flatten)]
    pub(super) serve: AgentArgs,
    #[command(flatten)]
    pub(super) dialect: DialectFlags,
    #[command(flatten)]
    pub(super) bridge: BridgeFlags,
    /// Also serve others on this port and on a socket in the state directory, such as
    /// 127.0.0.1:7433; port 0 takes a free one. It ends with stdin
    #[arg(long, value_name = "ADDR")]
    pub(super) listen: Option<String>,
    #[command(flatten)]
    pub(super) network: NetworkArgs,
    /// Check the installation instead, like the command doctor: editors append it to run that in a terminal
    #[arg(long)]
    pub(super) doctor: bool,
}

/// What `serve` serves, and where.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub(super) struct ServeArgs {
    #[command(flatten)]
    pub(super) serve: AgentArgs,
    #[command(flatten)]
    pub(super) dialect: DialectFlags,
    #[command(flatten)]
    pub(super) bridge: BridgeFlags,
    /// Directory that sessions of the page, of documents and of OpenHarness work in, instead of this one
    #[arg(long, value_name = "DIR")]
    pub(super) cwd: Option<PathBuf>,
    /// Where to listen; port 0 takes a free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0")]
    pub(super) listen: String,
    /// Open the page in a browser, signed in
    #[cfg(feature = "page")]
    #[arg(long)]
    pub(super) open: bool,
    #[command(flatten)]
    pub(super) network: NetworkArgs,
}

/// Where our own things are kept.
#[derive(Debug, Default, clap::Args)]
pub(super) struct StateDir {
    /// Where sessions, grants, trust and the token are kept [default: $XDG_STATE_HOME/harn or
    /// ~/.local/state/harn]
    #[arg(long, global = true, value_name = "DIR")]
    pub(super) state_dir: Option<PathBuf>,
}

/// Where our own things are kept, and where sessions are.
#[derive(Debug, Default, clap::Args)]
#[group(skip)]
pub(super) struct StorageArgs {
    #[command(flatten)]
    pub(super) state: StateDir,
    /// Where sessions are kept when not in the state directory, such as DIR/.harness for the threads of a
    /// directory
    #[arg(long, global = true, value_name = "DIR")]
    pub(super) sessions_dir: Option<PathBuf>,
}

/// What to serve, and how.
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

/// What sessions have beside the host's files and terminals.
#[derive(Debug, clap::Args)]
pub(super) struct ToolArgs {
    /// A folder of skills that counts before all others; may be given more than once
    #[arg(long, value_name = "DIR")]
    pub(super) skill_dir: Vec<PathBuf>,
    /// Who chooses skills for a prompt: metadata by their own words, host or embedding the host
    #[arg(long, value_name = "metadata|host|embedding", default_value = "metadata", value_parser = skill_match)]
    pub(super) skill_match: SkillMatchStrategy,
    /// Have models search for tools: auto when there are many, off never, or by a way to search, always
    #[arg(long, value_name = "auto|off|bm25|regex|hybrid", default_value = "auto", value_parser = tool_search)]
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

fn skill_match(word: &str) -> Result<SkillMatchStrategy, String> {
    match SkillMatchStrategy::named(word) {
        (strategy, None) => Ok(strategy),
        (_, Some(_)) => Err("the ways are metadata, host and embedding".to_owned()),
    }
}

fn tool_search(word: &str) -> Result<ToolSearchOptions, &'static str> {
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
        _ => return Err("say auto, off, bm25, regex or hybrid"),
    };
    options.switch = ToolSearchSwitch::On;
    options.strategy = tool_search::ToolSearchStrategy::Ranked(always_by);
    Ok(options)
}

/// Who may come in over the network.
#[derive(Debug, Default, clap::Args)]
#[group(skip)]
#[command(next_help_heading = "Network")]
pub(super) struct NetworkArgs {
    /// Speak TLS with this certificate, in PEM, with those it was signed by
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(super) tls_cert: Option<PathBuf>,
    /// The certificate's private key, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(super) tls_key: Option<PathBuf>,
    /// A name that clients may call this server by, beside those of this machine; may be given more
    /// than once
    #[arg(long, value_name = "HOST[:PORT]")]
    pub(super) allow_host: Vec<String>,
    /// The origin of web pages that may connect, such as https://app.example; may be given more than
    /// once
    #[arg(long, value_name = "ORIGIN")]
    pub(super) allow_origin: Vec<String>,
    /// Listen beyond this machine without TLS: whoever is on the way can read the token
    #[arg(long)]
    pub(super) insecure_listen: bool,
}

/// Makes the network flags require `--listen`, without which `acp` opens no port.
fn needs_listen(arg: clap::Arg) -> clap::Arg {
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

/// What runs unasked, what asks and what is refused.
#[derive(Debug, clap::Args)]
pub(super) struct PermissionArgs {
    /// The mode a session begins in: ask before anything that changes something, read-only,
    /// accept-edits of the workspace's files, or auto for what stays in the workspace [default: ask]
    #[arg(long, value_name = "ask|read-only|accept-edits|auto", value_parser = mode)]
    pub(super) mode: Option<SessionMode>,
    /// Rules in TOML, beside the user's and the workspace's; may be given more than once
    #[arg(long, value_name = "FILE")]
    pub(super) policy: Vec<PathBuf>,
    /// How long a question waits for an answer, such as 90s, 30m or 2h
    #[arg(long, value_name = "DURATION", default_value = "30m", value_parser = ask_timeout)]
    pub(super) ask_timeout: Duration,
}

impl Default for PermissionArgs {
    fn default() -> Self {
        Self {
            mode: None,
            policy: Vec::new(),
            ask_timeout: ASK_TIMEOUT,
        }
    }
}

fn mode(word: &str) -> Result<SessionMode, String> {
    SessionMode::of(word).ok_or_else(|| {
        let ids = SessionMode::ALL.map(SessionMode::id).join(", ");
        format!("the modes are {ids}")
    })
}

fn ask_timeout(words: &str) -> Result<Duration, String> {
    const SHORTEST: Duration = Duration::from_secs(1);
    const LONGEST: Duration = Duration::from_secs(30 * 24 * 60 * 60);
    let time = humantime::parse_duration(words)
        .map_err(|_| "say how long with a unit, such as 90s, 30m or 2h".to_owned())?;
    if !(SHORTEST..=LONGEST).contains(&time) {
        return Err("a question waits between 1s and 30days".to_owned());
    }
    Ok(time)
}

#[derive(Debug, Subcommand)]
pub(super) enum GrantsCommand {
    /// What was answered "always" or "never", the oldest first
    List {
        /// Print a JSON array
        #[arg(long)]
        json: bool,
        /// Those of this workspace, instead of this directory's
        #[arg(long, value_name = "DIR", conflicts_with = "all")]
        workspace: Option<PathBuf>,
        /// Those of every workspace
        #[arg(long)]
        all: bool,
    },
    /// Forget grants: calls like theirs are asked about again
    Revoke {
        /// Their ids, as list shows them
        #[arg(value_name = "ID", required_unless_present = "all")]
        ids: Vec<String>,
        /// All of them, of every workspace
        #[arg(long, conflicts_with = "ids")]
        all: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum SessionsCommand {
    /// Sessions, the latest first
    List(ListSessionsArgs),
    /// What was said and done in a session
    Show {
        /// The session's id, the beginning of it, or `last` for the one that changed last
        #[arg(value_name = "ID|last")]
        id: String,
    },
    /// Remove a session for good
    Delete {
        /// The session's id, the beginning of it, or `last` for the one that changed last
        #[arg(value_name = "ID|last")]
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
        let parsed = CliArgs::try_parse_from(["harn-serve", "acp"]).unwrap();
        assert_eq!(format!("{parsed:?}"), format!("{:?}", CliArgs::just_acp()));
    }

    #[test]
    fn the_command_line_is_consistent() {
        CliArgs::command().debug_assert();
    }

    #[test]
    fn what_is_about_the_network_needs_a_port() {
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
    fn the_places_may_stand_before_or_after_what_to_do_with_sessions() {
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
    fn threads_have_no_dialect_and_go_by_two_names() {
        let parse = |words: &[&str]| CliArgs::try_parse_from([&["harn-serve"], words].concat());
        for name in ["threads", "harness"] {
            let parsed = parse(&[name, "--cwd", "/w"]).unwrap().command;
            assert!(matches!(parsed, CliCommand::Threads { .. }), "{name}");
            assert!(parse(&[name, "--profile", "acp"]).is_err(), "{name}");
            assert!(parse(&[name, "--listen", "127.0.0.1:0"]).is_err(), "{name}");
        }
    }
}
