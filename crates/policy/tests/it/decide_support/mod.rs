//! Builders for calls to decide about, on a disk that exists only in memory: `/w` is the session's directory,
//! `/more` another one of it.

use std::{
    io,
    path::{Path, PathBuf},
};

use harn_model::{Grant, PolicyAction, PolicyDecision, SideEffectLevel, ToolKind};
use harn_policy::{
    CommandFindings, LocatedPath, PathEntry, PathProbe, PolicyCall, SessionMode, SessionRoots,
    ToolApprovalPolicy, locate,
    shell::{self, LineDoubt, Redirect, ShellLine, SimpleCommand},
};
use serde_json::{Value, json};

/// A call that owns its data.
#[derive(Clone, Debug)]
pub(crate) struct Owned {
    pub(crate) tool: String,
    pub(crate) kind: Option<ToolKind>,
    pub(crate) side_effect: Option<SideEffectLevel>,
    pub(crate) capabilities: Vec<String>,
    pub(crate) arguments: Value,
    pub(crate) paths: Vec<LocatedPath>,
    pub(crate) command: Option<(String, ShellLine)>,
    pub(crate) findings: Option<CommandFindings>,
    pub(crate) workspace: String,
    pub(crate) mode: SessionMode,
    pub(crate) agent: Option<String>,
    pub(crate) grants: Vec<Grant>,
}

/// Returns a call of a tool that declares nothing, in the default mode.
pub(crate) fn call(tool: &str) -> Owned {
    Owned {
        tool: tool.to_owned(),
        kind: None,
        side_effect: None,
        capabilities: Vec::new(),
        arguments: json!({}),
        paths: Vec::new(),
        command: None,
        findings: None,
        workspace: "/w".to_owned(),
        mode: SessionMode::Ask,
        agent: None,
        grants: Vec::new(),
    }
}

/// Returns a call that reads these paths.
pub(crate) fn read(paths: &[&str]) -> Owned {
    call("read_file").kind(ToolKind::Read).paths(paths)
}

/// Returns a call that edits these paths.
pub(crate) fn edit(paths: &[&str]) -> Owned {
    call("edit_file").kind(ToolKind::Edit).paths(paths)
}

/// Returns a call that runs this line, parsed by the shell reader.
pub(crate) fn run(line: &str) -> Owned {
    call("run").kind(ToolKind::Execute).command(line)
}

impl Owned {
    pub(crate) fn kind(mut self, kind: ToolKind) -> Self {
        self.kind = Some(kind);
        self
    }

    pub(crate) fn with_side_effect(mut self, side_effect: SideEffectLevel) -> Self {
        self.side_effect = Some(side_effect);
        self
    }

    pub(crate) fn with_capabilities(mut self, capabilities: &[&str]) -> Self {
        self.capabilities = capabilities.iter().map(|&it| it.to_owned()).collect();
        self
    }

    pub(crate) fn with_arguments(mut self, arguments: Value) -> Self {
        self.arguments = arguments;
        self
    }

    pub(crate) fn paths(mut self, paths: &[&str]) -> Self {
        self.paths = paths.iter().map(|path| locate_in_world(path)).collect();
        self
    }

    pub(crate) fn command(self, line: &str) -> Self {
        let read = shell::read(line);
        self.line(line, read)
    }

    /// Looks up its words on the disk, after all paths and its line are set.
    pub(crate) fn looked_up(mut self) -> Self {
        let line = self.command.as_ref().map(|(_, line)| line);
        self.findings = line.map(|line| CommandFindings::read(&roots(), &self.paths, line, &Told));
        self
    }

    pub(crate) fn line(mut self, text: &str, line: ShellLine) -> Self {
        self.arguments["command"] = json!(text);
        self.command = Some((text.to_owned(), line));
        self
    }

    pub(crate) fn with_mode(mut self, mode: SessionMode) -> Self {
        self.mode = mode;
        self
    }

    pub(crate) fn with_agent(mut self, agent: &str) -> Self {
        self.agent = Some(agent.to_owned());
        self
    }

    pub(crate) fn with_grants(mut self, grants: &[&Grant]) -> Self {
        self.grants = grants.iter().map(|&grant| grant.clone()).collect();
        self
    }

    pub(crate) fn with_workspace(mut self, workspace: &str) -> Self {
        self.workspace = workspace.to_owned();
        self
    }

    pub(crate) fn with_tool(mut self, tool: &str) -> Self {
        self.tool = tool.to_owned();
        self
    }

    pub(crate) fn as_call(&self) -> PolicyCall<'_> {
        PolicyCall {
            tool: &self.tool,
            kind: self.kind,
            side_effect: self.side_effect,
            capabilities: &self.capabilities,
            arguments: &self.arguments,
            paths: &self.paths,
            command: self
                .command
                .as_ref()
                .map(|(text, line)| (text.as_str(), line)),
            findings: self.findings.as_ref(),
            workspace: &self.workspace,
            mode: self.mode,
            agent: self.agent.as_deref(),
            grants: &self.grants,
        }
    }
}

/// Parses a policy from TOML.
pub(crate) fn policy(text: &str) -> ToolApprovalPolicy {
    ToolApprovalPolicy::from_toml("test", text).unwrap_or_else(|error| panic!("{text}\n{error}"))
}

/// Decides by a policy in TOML.
pub(crate) fn decide(text: &str, call: &Owned) -> PolicyDecision {
    decide_by(&policy(text), call)
}

pub(crate) fn decide_by(policy: &ToolApprovalPolicy, call: &Owned) -> PolicyDecision {
    let compiled = policy
        .compile()
        .unwrap_or_else(|error| panic!("{policy:?}\n{error}"));
    compiled.decide(&call.as_call())
}

/// Returns the action and its source as text: `deny auto_deny rm_* #0`.
pub(crate) fn outcome(decision: &PolicyDecision) -> String {
    let action = match decision.action {
        PolicyAction::Allow => "allow",
        PolicyAction::Ask => "ask",
        PolicyAction::Deny => "deny",
    };
    let Some(rule) = &decision.matched_rule else {
        return action.to_owned();
    };
    assert_eq!(rule.action, decision.action, "{decision:?}");
    let source = serde_json::to_value(rule.source).unwrap_or_default();
    let mut text = format!("{action} {}", source.as_str().unwrap_or_default());
    if let Some(id) = &rule.id {
        text.push(' ');
        text.push_str(id);
    }
    if let Some(index) = rule.index {
        text.push_str(&format!(" #{index}"));
    }
    text
}

/// Returns a line built by hand, from one list of words for each command.
pub(crate) fn line(commands: &[&[&str]]) -> ShellLine {
    let simple = |argv: &&[&str]| SimpleCommand {
        argv: argv.iter().map(|&word| word.to_owned()).collect(),
        exec_capable: None,
    };
    ShellLine {
        commands: commands.iter().map(simple).collect(),
        ..ShellLine::default()
    }
}

pub(crate) fn with_doubt(mut line: ShellLine, doubt: LineDoubt) -> ShellLine {
    line.doubts.push(doubt);
    line
}

pub(crate) fn with_written_file(mut line: ShellLine, path: &str) -> ShellLine {
    line.redirects.push(Redirect {
        path: path.to_owned(),
        write: true,
    });
    line
}

pub(crate) fn with_exec_capable(mut line: ShellLine) -> ShellLine {
    for command in &mut line.commands {
        command.exec_capable = Some("-exec".to_owned());
    }
    line
}

pub(crate) fn locate_in_world(path: &str) -> LocatedPath {
    locate(&roots(), path, &Told)
}

fn roots() -> SessionRoots {
    let roots = SessionRoots::new(vec!["/w".into(), "/more".into()], vec!["/w/state".into()]);
    roots.with_configuration(vec!["/w/skills".into(), "/w/tools/server.py".into()])
}

/// A disk of folders, three links and nothing else.
struct Told;

impl PathProbe for Told {
    fn read_entry(&self, path: &Path) -> io::Result<PathEntry> {
        let link = |to: &str| PathEntry::Link(PathBuf::from(to));
        Ok(match path.to_str().unwrap_or_default() {
            "/" | "/w" | "/more" | "/etc" | "/opt" | "/w/src" | "/w/docs" => PathEntry::Dir,
            "/w/leaves" => link("/etc"),
            "/w/stays" => link("/w/src"),
            "/w/dangles" => link("/w/nowhere"),
            _ => PathEntry::Absent,
        })
    }
}
