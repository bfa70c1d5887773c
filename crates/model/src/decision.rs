//! The receipt of a policy decision: what was decided about a call, by which rule, and from what. Goes into
//! the journal and, as it is, to hosts; the names are the contract's.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{SideEffectLevel, ToolKind};

/// What a policy decided about a tool call, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct PolicyDecision {
    /// Which sort of receipt this is.
    #[serde(rename = "type", default)]
    pub receipt: ReceiptType,
    /// What was decided.
    pub action: PolicyAction,
    /// Why, for a person.
    pub reason: String,
    /// What decided; nothing where the mode spoke because no rule did.
    #[serde(default)]
    pub matched_rule: Option<MatchedRule>,
    /// What makes the call risky, each once, sorted.
    #[serde(default)]
    pub risk_labels: Vec<RiskLabel>,
    /// What the decision was made from.
    #[serde(default)]
    pub context: PolicyContext,
}

/// How many characters of a rule's own words a question repeats.
const LONGEST_WORDS: usize = 240;

impl PolicyDecision {
    /// The receipt as a question has it, where it stands four times: the words of a rule are cut to what a person
    /// reads. The record of the decision has them whole.
    #[must_use]
    pub fn for_question(&self) -> Self {
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
    /// The first.
    #[default]
    #[serde(rename = "harn.permission_policy_decision.v1")]
    V1,
}

/// What a policy may decide, the laxest first: the greater of two wins.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum PolicyAction {
    /// The call runs.
    Allow,
    /// Somebody is asked.
    Ask,
    /// The call does not run.
    Deny,
}

/// The rule that decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct MatchedRule {
    /// Where it stands.
    pub source: RuleSource,
    /// What it says.
    pub action: PolicyAction,
    /// Its name; a pattern's own text where it is one of a list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Its place in the list, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<usize>,
}

/// Where a rule stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RuleSource {
    /// The list of tools that never run.
    AutoDeny,
    /// The list of tools that run unasked.
    AutoApprove,
    /// The list of tools that ask.
    RequireApproval,
    /// The list of paths that may be written.
    WritePathAllowlist,
    /// The ordered rules.
    Rules,
    /// What somebody chose to have remembered.
    Grant,
    /// Names that are never written.
    ProtectedPath,
    /// Paths that lead nowhere one can tell.
    DefaultPathGuard,
    /// Paths outside the session's directories.
    DefaultExternalPath,
    /// Commands that were not understood.
    DefaultCommandGuard,
    /// The session's mode.
    Mode,
}

/// What makes a call risky.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum RiskLabel {
    /// Somebody has to decide.
    ApprovalRequired,
    /// A rule that matched looks at commands.
    CommandRule,
    /// What a command does depends on what is known only when it runs.
    DynamicCommand,
    /// A command can run others that its words do not show.
    ExecCapable,
    /// A path is outside the session's directories.
    ExternalPath,
    /// A path cannot be told.
    InvalidPath,
    /// A rule denies.
    MatchedDenyRule,
    /// A rule that matched looks at MCP servers or tools.
    McpRule,
    /// A rule that matched looks at the network.
    NetworkRule,
    /// A rule that matched looks at paths.
    PathRule,
    /// A path is never written.
    ProtectedPath,
    /// A command could not be read.
    UnparsableCommand,
    /// A path is not among those that may be written.
    WritePathNotAllowed,
}

/// What a decision was made from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct PolicyContext {
    /// The tool.
    #[serde(default)]
    pub tool_name: String,
    /// What sort of tool; nothing where it does not say.
    #[serde(default)]
    pub tool_kind: Option<ToolKind>,
    /// How far it reaches; nothing where it does not say, which counts as writing.
    #[serde(default)]
    pub side_effect: Option<SideEffectLevel>,
    /// What it needs, as `capability.operation`, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<String>,
    /// The paths it declares, sorted by what is shown of them, each once.
    #[serde(default)]
    pub paths: Vec<WorkspacePathInfo>,
    /// The commands it would run, in the order of the line, as one reads them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command_identities: Vec<String>,
    /// The worker it is from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The session's mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
}

/// A path as a tool declared it, and where it leads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct WorkspacePathInfo {
    /// As it was given.
    #[serde(default)]
    pub input: String,
    /// What sort of path it turned out to be.
    #[serde(default)]
    pub kind: PathKind,
    /// Without `.`, `..` and links: from the session's directory where it is inside, else absolute; as given
    /// where that cannot be told.
    #[serde(default)]
    pub normalized: String,
    /// From the session's directory, where it is inside.
    #[serde(default)]
    pub workspace_path: Option<String>,
    /// On this machine, where it can be told.
    #[serde(default)]
    pub host_path: Option<String>,
    /// Always false: a path that names the root of another machine is not guessed at.
    #[serde(default)]
    pub recovered_root_drift: bool,
    /// What is wrong with it, where something is.
    #[serde(default)]
    pub reason: Option<String>,
}

impl WorkspacePathInfo {
    /// What a person is shown of it.
    #[must_use]
    pub fn display(&self) -> &str {
        let known = self.workspace_path.as_deref().or(self.host_path.as_deref());
        known.unwrap_or(&self.normalized)
    }
}

/// What sort of path a declared one turned out to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PathKind {
    /// Inside the session's directories.
    WorkspaceRelative,
    /// Elsewhere on this machine.
    HostAbsolute,
    /// Nobody can tell.
    #[default]
    Invalid,
}
