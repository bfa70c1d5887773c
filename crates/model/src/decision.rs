//! The receipt of a policy decision about a call: the action, the rule and the context. The journal stores it and
//! hosts receive it unchanged; the field names are the contract's.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ConfinementRecord, SideEffectLevel, ToolKind};

/// A policy's decision about a tool call, with the reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct PolicyDecision {
    /// The version of the receipt.
    #[serde(rename = "type", default)]
    pub receipt: ReceiptType,
    /// The decision.
    pub action: PolicyAction,
    /// The reason, for a person.
    pub reason: String,
    /// The rule that decided; none if no rule matched and the mode decided.
    #[serde(default)]
    pub matched_rule: Option<MatchedRule>,
    /// The risks of the call, each once, sorted.
    #[serde(default)]
    pub risk_labels: Vec<RiskLabel>,
    /// The input of the decision.
    #[serde(default)]
    pub context: PolicyContext,
    /// The confinement of the command if it runs on this machine in a sandbox.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confinement: Option<ConfinementRecord>,
}

/// How many characters of a rule's own text a question repeats.
const LONGEST_WORDS: usize = 240;

impl PolicyDecision {
    /// Returns the receipt for a question, which has it four times: a rule's text is truncated to what a person
    /// reads. The record of the decision has the full text.
    #[must_use]
    pub fn to_question_receipt(&self) -> Self {
        let mut receipt = self.clone();
        let rule = receipt.matched_rule.as_mut();
        let id = rule.and_then(|rule| rule.id.as_mut());
        for words in id.into_iter().chain([&mut receipt.reason]) {
            if let Some((end, _)) = words.char_indices().nth(LONGEST_WORDS) {
                words.truncate(end);
                words.push('…');
            }
        }
        receipt
    }
}

/// The version of a [`PolicyDecision`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum ReceiptType {
    /// The first version.
    #[default]
    #[serde(rename = "harn.permission_policy_decision.v1")]
    V1,
}

/// A policy's possible actions, the least strict first: the greater of two wins.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum PolicyAction {
    /// The call runs.
    Allow,
    /// A person is asked.
    Ask,
    /// The call does not run.
    Deny,
}

/// The rule that decided about a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct MatchedRule {
    /// The list or guard that the rule belongs to.
    pub source: RuleSource,
    /// The action of the rule.
    pub action: PolicyAction,
    /// Its name; for a pattern in a list, the pattern.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Its index in the list, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<usize>,
}

/// The list or guard that a rule belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RuleSource {
    /// The list of tools that never run.
    AutoDeny,
    /// The list of tools that run without a question.
    AutoApprove,
    /// The list of tools that need an approval.
    RequireApproval,
    /// The list of paths that may be written.
    WritePathAllowlist,
    /// The ordered rules.
    Rules,
    /// A remembered answer.
    Grant,
    /// Names that are never written.
    ProtectedPath,
    /// Paths that cannot be resolved.
    DefaultPathGuard,
    /// Paths outside the session's directories.
    DefaultExternalPath,
    /// Commands that cannot be parsed.
    DefaultCommandGuard,
    /// The session's mode.
    Mode,
}

/// A risk of a call.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum RiskLabel {
    /// A person has to decide.
    ApprovalRequired,
    /// A rule that matched has a condition on commands.
    CommandRule,
    /// The effect of a command depends on values known only when it runs.
    DynamicCommand,
    /// A command can run others that are not in its words.
    ExecCapable,
    /// A path is outside the session's directories.
    ExternalPath,
    /// A path cannot be resolved.
    InvalidPath,
    /// A rule denies the call.
    MatchedDenyRule,
    /// A rule that matched has a condition on MCP servers or tools.
    McpRule,
    /// A rule that matched has a condition on the network.
    NetworkRule,
    /// A rule that matched has a condition on paths.
    PathRule,
    /// A path is one that is never written.
    ProtectedPath,
    /// A command cannot be parsed.
    UnparsableCommand,
    /// A path is not in the list of paths that may be written.
    WritePathNotAllowed,
}

/// The input of a decision.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct PolicyContext {
    /// The name of the tool.
    #[serde(default)]
    pub tool_name: String,
    /// The kind of tool; none if it is not declared.
    #[serde(default)]
    pub tool_kind: Option<ToolKind>,
    /// The tool's side effects; none if not declared, which counts as writing.
    #[serde(default)]
    pub side_effect: Option<SideEffectLevel>,
    /// The capabilities that it needs, as `capability.operation`, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<String>,
    /// The paths that it declares, each once, sorted by how they are displayed.
    #[serde(default)]
    pub paths: Vec<WorkspacePathInfo>,
    /// The commands that it would run, in the order of the line, as a person reads them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command_identities: Vec<String>,
    /// The worker that makes the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The session's mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
}

/// A path as a tool declared it, and what it resolves to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct WorkspacePathInfo {
    /// The path as it was given.
    #[serde(default)]
    pub input: String,
    /// The kind of path.
    #[serde(default)]
    pub kind: PathKind,
    /// The path without `.`, `..` and links: relative to the session's directory if it is inside, else absolute;
    /// as given if it cannot be resolved.
    #[serde(default)]
    pub normalized: String,
    /// The path relative to the session's directory, if it is inside.
    #[serde(default)]
    pub workspace_path: Option<String>,
    /// The path on this machine, if it can be resolved.
    #[serde(default)]
    pub host_path: Option<String>,
    /// Always false: the server does not guess what a path with the root of another machine means.
    #[serde(default)]
    pub recovered_root_drift: bool,
    /// What is wrong with the path, if anything.
    #[serde(default)]
    pub reason: Option<String>,
}

impl WorkspacePathInfo {
    /// Returns the path as a person sees it.
    pub fn display(&self) -> &str {
        let known = self.workspace_path.as_deref().or(self.host_path.as_deref());
        known.unwrap_or(&self.normalized)
    }
}

/// The kind of a declared path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PathKind {
    /// Inside the session's directories.
    WorkspaceRelative,
    /// Elsewhere on this machine.
    HostAbsolute,
    /// It cannot be resolved.
    #[default]
    Invalid,
}
