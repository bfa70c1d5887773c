//! Session modes: the decision where no rule matches, and the limits that no rule can lift.

use crate::JsonSchema;
use harn_model::{Mode, PolicyAction, SideEffectLevel, ToolKind};
use serde::{Deserialize, Serialize};

use crate::{
    CommandFindings, LocatedPath, PathScope, PolicyCall, PolicyRule, RuleMatcher,
    ToolApprovalPolicy, decide, shell,
};

/// A session mode; the strictest is first.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum SessionMode {
    /// Denies every change, without asking.
    ReadOnly,
    /// Asks before every change.
    #[default]
    Ask,
    /// Allows edits of the workspace's files; asks before other changes.
    AcceptEdits,
    /// Allows changes that stay in the workspace; asks before others.
    Auto,
}

/// The reason for what a mode decides.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ModeReason<'a> {
    Plain(&'static str),
    /// A word of a command that may lead outside through a link.
    OutsideLink(&'a str),
    /// A part of a repository for which git may run a program.
    Repository(&'a str),
}

impl SessionMode {
    /// All modes, the default first.
    pub const ALL: [Self; 4] = [Self::Ask, Self::ReadOnly, Self::AcceptEdits, Self::Auto];

    /// Returns the id of the mode.
    pub fn id(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::Ask => "ask",
            Self::AcceptEdits => "accept-edits",
            Self::Auto => "auto",
        }
    }

    /// Returns the mode with this id.
    pub fn from_id(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.id() == id)
    }

    /// Returns the mode as a client displays it.
    pub fn describe(self) -> Mode {
        let (name, description) = match self {
            Self::ReadOnly => ("Read only", "Refuse to change files or run commands"),
            Self::Ask => ("Ask", "Ask before changing files or running commands"),
            Self::AcceptEdits => (
                "Accept edits",
                "Change the workspace's files without asking, ask before anything else",
            ),
            Self::Auto => (
                "Auto",
                "Run what stays in the workspace without asking, ask before anything else",
            ),
        };
        Mode {
            id: self.id().to_owned(),
            name: name.to_owned(),
            description: description.to_owned(),
        }
    }

    /// Returns the action for a call, and the reason.
    pub(crate) fn decide<'a>(self, call: &PolicyCall<'a>) -> (PolicyAction, ModeReason<'a>) {
        let (action, why) = match call.writes() {
            true => self.decide_writing(call),
            false => self.decide_reading(call),
        };
        let link = call.findings.and_then(CommandFindings::outside_word);
        let risk = call.findings.and_then(CommandFindings::repository_risk);
        let why = match (action, link, risk) {
            (PolicyAction::Ask, Some(word), _) => ModeReason::OutsideLink(word),
            (PolicyAction::Ask, None, Some(risk)) if self == Self::Auto => {
                ModeReason::Repository(risk)
            }
            _ => ModeReason::Plain(why),
        };
        (action, why)
    }

    fn decide_writing(self, call: &PolicyCall<'_>) -> (PolicyAction, &'static str) {
        match self {
            Self::ReadOnly => (PolicyAction::Deny, "nothing is changed or run"),
            Self::AcceptEdits if is_edit(call, &[ToolKind::Edit]) => {
                (PolicyAction::Allow, "the call edits the workspace's files")
            }
            Self::Auto if is_edit(call, &[ToolKind::Edit, ToolKind::Move, ToolKind::Delete]) => {
                (PolicyAction::Allow, "the call stays in the workspace")
            }
            Self::Ask | Self::AcceptEdits | Self::Auto if call.access().outside => {
                (PolicyAction::Ask, "the command runs outside the sandbox")
            }
            Self::Ask | Self::AcceptEdits | Self::Auto if call.access().network => {
                (PolicyAction::Ask, "the command reaches the network")
            }
            Self::Auto if only_reads(call) => (PolicyAction::Allow, "the command only reads"),
            Self::Ask | Self::AcceptEdits | Self::Auto => {
                (PolicyAction::Ask, "the call may change something")
            }
        }
    }

    /// Returns the action for a call that changes nothing. A call that reaches the network can send what it read,
    /// so it needs approval; the read-only mode never asks and denies it.
    fn decide_reading(self, call: &PolicyCall<'_>) -> (PolicyAction, &'static str) {
        let stays = call.side_effect != Some(SideEffectLevel::Network);
        match self {
            _ if stays => (PolicyAction::Allow, "the call only reads"),
            Self::ReadOnly => (PolicyAction::Deny, "nothing reaches the network"),
            Self::Ask | Self::AcceptEdits | Self::Auto => {
                (PolicyAction::Ask, "the call reaches the network")
            }
        }
    }

    /// Returns an approximation of the mode as a policy, for the reader of an audit. The mode itself decides,
    /// and also checks the targets of paths and the effects of commands.
    pub fn to_policy(self) -> ToolApprovalPolicy {
        use ToolKind::{Delete, Edit, Execute, Fetch, Move, Other, Read, Search, Think};
        let rule = |action, kinds: &[ToolKind], path: &[&str]| {
            let word = match action {
                PolicyAction::Allow => "allow",
                PolicyAction::Ask => "ask",
                PolicyAction::Deny => "deny",
            };
            let matcher = RuleMatcher {
                tool_kind: kinds.to_vec(),
                path: path.iter().map(|&path| path.to_owned()).collect(),
                ..RuleMatcher::default()
            };
            PolicyRule::new(action, matcher).with_id(format!("{}-{word}", self.id()))
        };
        let reads = rule(PolicyAction::Allow, &[Read, Search, Think, Fetch], &[]);
        let network = RuleMatcher {
            side_effect: vec![SideEffectLevel::Network],
            ..RuleMatcher::default()
        };
        let network = match self {
            Self::ReadOnly => PolicyRule::new(PolicyAction::Deny, network),
            Self::Ask | Self::AcceptEdits | Self::Auto => {
                PolicyRule::new(PolicyAction::Ask, network)
            }
        };
        let network = network.with_id(format!("{}-network", self.id()));
        let writes = [Edit, Delete, Move, Execute, Other];
        let mut rules = match self {
            Self::ReadOnly => vec![rule(PolicyAction::Deny, &writes, &[]), reads],
            Self::Ask => vec![rule(PolicyAction::Ask, &writes, &[]), reads],
            Self::AcceptEdits => vec![
                rule(PolicyAction::Ask, &[Delete, Move, Execute, Other], &[]),
                rule(PolicyAction::Allow, &[Edit], &["*"]),
                reads,
            ],
            Self::Auto => vec![
                rule(PolicyAction::Ask, &[Execute, Other], &[]),
                rule(PolicyAction::Allow, &[Edit, Delete, Move], &["*"]),
                reads,
            ],
        };
        rules.insert(0, network);
        ToolApprovalPolicy {
            rules,
            ..ToolApprovalPolicy::default()
        }
    }
}

/// Whether a call has one of these kinds, has no other effect, and names only files of the workspace.
fn is_edit(call: &PolicyCall<'_>, kinds: &[ToolKind]) -> bool {
    let reach = call.side_effect.unwrap_or_default();
    call.kind.is_some_and(|kind| kinds.contains(&kind))
        && reach <= SideEffectLevel::WorkspaceWrite
        && call.command.is_none()
        && !call.paths.is_empty()
        && call.paths.iter().all(|path| {
            path.standing == PathScope::Inside && !path.protected && !makes_repository(path)
        })
}

/// Whether a file could make its folder a repository: git accepts a folder of any name with a `HEAD`, and then
/// obeys a `config` in it, which may run a program.
fn makes_repository(path: &LocatedPath) -> bool {
    let shown = [path.info.display(), &path.info.input];
    let mut names = shown
        .iter()
        .filter_map(|path| path.rsplit(['/', '\\']).next());
    names.any(|name| name.eq_ignore_ascii_case("HEAD"))
}

/// Whether a call runs commands, and all of them are known to change nothing and to read nothing outside. A program
/// that searches folders may find a link in them that leads out; only those among the words are checked.
fn only_reads(call: &PolicyCall<'_>) -> bool {
    let Some((_, line)) = call.command else {
        return false;
    };
    call.kind == Some(ToolKind::Execute)
        && !line.commands.is_empty()
        && line.doubts.is_empty()
        && line.commands.iter().all(shell::is_read_only)
        && shell::reads_only_below(line)
        && call
            .findings
            .and_then(CommandFindings::outside_word)
            .is_none()
        && (!line.commands.iter().any(shell::is_git) || may_run_git(call))
        && !call.paths.iter().any(makes_repository)
        && decide::writes_only_located(call, line)
}

/// Whether git, which only reads, runs no program that the repository names. In another directory, git may find a
/// repository that is part of the workspace.
fn may_run_git(call: &PolicyCall<'_>) -> bool {
    let is_checked = |findings: &CommandFindings| findings.repository_risk().is_none();
    runs_in_workspace_root(call) && call.findings.is_some_and(is_checked)
}

/// Whether a command runs in the session's own directory: it declares no other path. A line that changes the
/// directory is not considered: no command that does so is read-only.
fn runs_in_workspace_root(call: &PolicyCall<'_>) -> bool {
    let mut paths = call.paths.iter();
    paths.all(|path| path.info.workspace_path.as_deref() == Some("."))
}

#[cfg(test)]
mod tests {
    use harn_model::{PathKind, WorkspacePathInfo};
    use serde_json::Value;

    use super::*;

    fn decide_edit(path: &str) -> PolicyAction {
        let located = LocatedPath {
            info: WorkspacePathInfo {
                input: path.to_owned(),
                kind: PathKind::WorkspaceRelative,
                workspace_path: Some(path.to_owned()),
                normalized: path.to_owned(),
                host_path: None,
                recovered_root_drift: false,
                reason: None,
            },
            standing: PathScope::Inside,
            protected: false,
            configures: false,
            place: None,
        };
        let call = PolicyCall {
            tool: "edit",
            kind: Some(ToolKind::Edit),
            side_effect: None,
            capabilities: &[],
            arguments: &Value::Null,
            paths: &[located],
            command: None,
            findings: None,
            workspace: "/w",
            mode: SessionMode::Auto,
            agent: None,
            grants: &[],
        };
        SessionMode::Auto.decide(&call).0
    }

    #[test]
    fn auto_mode_asks_before_a_repository_is_made() {
        assert_eq!(decide_edit("src/lib.rs"), PolicyAction::Allow);
        assert_eq!(decide_edit("HEADER"), PolicyAction::Allow);
        assert_eq!(decide_edit("HEAD"), PolicyAction::Ask);
        assert_eq!(decide_edit("sub/head"), PolicyAction::Ask);
    }
}
