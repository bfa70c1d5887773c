//! The port for files, commands and tools, which a front-end implements for its client and the `tools` crate
//! for this machine.

use std::{borrow::Cow, path::PathBuf, time::Duration};

use async_trait::async_trait;
use harn_model::{
    HostCapabilities, HostSkill, HostTool, ProcessExit, SessionId, SkillCandidate,
    SkillMatchRequest, SkillRef,
};
use harn_policy::RootedPath;
use serde_json::Value;

use crate::{CommandConfinement, HostError};

/// The operations that a host offers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostOffers {
    /// Reading text files.
    pub read_text: bool,
    /// Writing text files.
    pub write_text: bool,
    /// Running commands in a terminal.
    pub terminal: bool,
    /// Tools and operations of its own.
    pub tools: bool,
    /// Whether its files are those of this machine, so that a file missing on this disk is missing there too.
    pub same_machine: bool,
}

/// The sandbox in which a host runs commands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostSandbox {
    /// The layers that work on this system, by name; empty if nothing confines a command.
    pub layers: Vec<String>,
    /// What is missing, each in a sentence; empty if the sandbox is complete or off.
    pub gaps: Vec<String>,
    /// Whether a command must not run without the whole sandbox.
    pub required: bool,
}

/// A command to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandSpec {
    /// The program.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// The directory it runs in.
    pub cwd: PathBuf,
    /// How many bytes of its output are retained, counted from the end.
    pub output_limit: usize,
    /// The limits in which this machine runs it. The runtime sets them when it runs the command of a call, whatever an
    /// agent put here.
    pub confinement: Option<CommandConfinement>,
}

impl CommandSpec {
    /// Returns a command that runs a line in the shell.
    pub fn shell(line: impl Into<String>, cwd: impl Into<PathBuf>, output_limit: usize) -> Self {
        Self {
            program: "/bin/sh".to_owned(),
            args: vec!["-c".to_owned(), line.into()],
            cwd: cwd.into(),
            output_limit,
            confinement: None,
        }
    }

    /// Returns the command as a line: the shell's argument, or the quoted words.
    pub fn line(&self) -> Cow<'_, str> {
        if let [flag, line] = &self.args[..]
            && self.program == "/bin/sh"
            && flag == "-c"
        {
            return Cow::Borrowed(line);
        }
        let words = std::iter::once(&self.program).chain(&self.args);
        Cow::Owned(quote_line(words.map(String::as_str)))
    }
}

/// Joins words to a line and quotes them for a shell.
pub(crate) fn quote_line<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let mut line = String::new();
    for (at, word) in words.enumerate() {
        if at > 0 {
            line.push(' ');
        }
        // A shell would parse a program with `=` in its name as a variable.
        match quote_word(word) {
            Cow::Borrowed(plain) if at == 0 && plain.contains('=') => {
                line.push_str(&format!("'{plain}'"));
            }
            word => line.push_str(&word),
        }
    }
    line
}

/// Quotes a word for a shell.
fn quote_word(word: &str) -> Cow<'_, str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return Cow::Borrowed(word);
    }
    Cow::Owned(format!("'{}'", word.replace('\'', "'\\''")))
}

/// The exit state of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandExit {
    /// Its exit code, if it exited.
    pub code: Option<i32>,
    /// The signal that ended it, if one did.
    pub signal: Option<String>,
    /// Its standard output and error in order of arrival.
    pub output: String,
    /// Whether the start of the output is missing.
    pub truncated: bool,
}

/// Receives the progress of a command while it runs.
pub trait CommandSink: Send {
    /// Receives the host's terminal in which it runs.
    fn on_terminal(&mut self, terminal_id: &str);

    /// Receives a piece of output.
    fn on_output(&mut self, chunk: &str);
}

/// A provider of files, commands and tools.
#[async_trait]
pub trait HostPort: Send + Sync + 'static {
    /// Returns what it offers; everything else returns [`HostError::Unsupported`].
    fn offers(&self) -> HostOffers;

    /// Reads a text file as the host sees it, unsaved changes included.
    async fn read_text(&self, session: &SessionId, file: &RootedPath) -> Result<String, HostError> {
        let _ = (session, file);
        Err(HostError::Unsupported("reading files"))
    }

    /// Writes a text file.
    async fn write_text(
        &self,
        session: &SessionId,
        file: &RootedPath,
        text: &str,
    ) -> Result<(), HostError> {
        let _ = (session, file, text);
        Err(HostError::Unsupported("writing files"))
    }

    /// Runs a command to its end. Dropping the future ends the command and everything it started.
    async fn run(
        &self,
        session: &SessionId,
        spec: CommandSpec,
        sink: &mut dyn CommandSink,
    ) -> Result<CommandExit, HostError> {
        let _ = (session, spec, sink);
        Err(HostError::Unsupported("running commands"))
    }

    /// Runs a command to its end or its time limit, with standard output and error separate.
    async fn exec(
        &self,
        session: &SessionId,
        spec: CommandSpec,
        limit: Option<Duration>,
    ) -> Result<ProcessExit, HostError> {
        let _ = (session, spec, limit);
        Err(HostError::Unsupported("running commands"))
    }

    /// Returns how it confines commands; by default not at all. May block when it is called first.
    fn sandbox(&self) -> HostSandbox {
        HostSandbox::default()
    }

    /// Calls a tool of the host.
    async fn call_tool(
        &self,
        session: &SessionId,
        name: &str,
        args: Value,
    ) -> Result<Value, HostError> {
        let _ = (session, name, args);
        Err(HostError::Unsupported("tools"))
    }

    /// Calls an operation of the host, such as `process.list_shells`. Only a host that offers tools may have
    /// operations; most have none.
    async fn host_call(
        &self,
        session: &SessionId,
        operation: &str,
        args: Value,
    ) -> Result<Value, HostError> {
        let _ = (session, operation, args);
        Err(HostError::Unsupported("operations"))
    }

    /// Returns the tools it has for agents, each name once.
    async fn list_tools(&self, session: &SessionId) -> Result<Vec<HostTool>, HostError> {
        let _ = session;
        Err(HostError::Unsupported("tools"))
    }

    /// Returns the operations it has.
    async fn capabilities(&self, session: &SessionId) -> Result<HostCapabilities, HostError> {
        let _ = session;
        Err(HostError::Unsupported("operations"))
    }

    /// Returns the skills it has.
    async fn list_skills(&self, session: &SessionId) -> Result<Vec<SkillRef>, HostError> {
        let _ = session;
        Err(HostError::Unsupported("skills"))
    }

    /// Returns one of its skills with its content.
    async fn fetch_skill(&self, session: &SessionId, id: &str) -> Result<HostSkill, HostError> {
        let _ = (session, id);
        Err(HostError::Unsupported("skills"))
    }

    /// Ranks skills, best first. Scores are finite and not negative; names may be any.
    async fn match_skills(
        &self,
        session: &SessionId,
        request: SkillMatchRequest,
    ) -> Result<Vec<SkillCandidate>, HostError> {
        let _ = (session, request);
        Err(HostError::Unsupported("ranking skills"))
    }
}

/// A host that offers nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoHost;

#[async_trait]
impl HostPort for NoHost {
    fn offers(&self) -> HostOffers {
        HostOffers::default()
    }
}
