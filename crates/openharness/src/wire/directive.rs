//! Directives as they are written: every `action_type` and its payload. Every payload has a `message` to show
//! if the Shell does not know the directive.

use std::borrow::Cow;

use crate::JsonSchema;
use harn_model::{HitlKind, PlanEntry, ToolKind};
use serde::Serialize;
use serde_json::Value;

use super::Continuation;
use crate::{ext::RunState, report::CallSummary};

/// An instruction for the Shell.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Directive<'a> {
    #[serde(flatten)]
    pub(crate) action: DirectiveAction<'a>,
    pub(crate) priority: DirectivePriority,
    /// Whether the Shell may carry it out in parallel with others that have this member; left out if they are
    /// carried out in order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) execution: Option<DirectiveExecution>,
    pub(crate) risk_tier: RiskTier,
    /// Whether a person has to decide.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) requires_user_approval: Option<bool>,
    /// How long the server waits for a decision, from the receipt of this response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) deadline_ms: Option<u64>,
}

impl<'a> Directive<'a> {
    /// Creates a directive that only shows something.
    pub(crate) fn for_display(action: DirectiveAction<'a>) -> Self {
        Self {
            action,
            priority: DirectivePriority::Normal,
            execution: None,
            risk_tier: RiskTier::Safe,
            requires_user_approval: None,
            deadline_ms: None,
        }
    }
}

/// The type of a directive, and its payload.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "action_type", content = "payload", rename_all = "snake_case")]
#[schemars(rename = "Action")]
pub(crate) enum DirectiveAction<'a> {
    /// Show the agent's message.
    RenderMessage(MessagePayload<'a>),
    /// Show a card; only for a Shell that requested `openharness.ui.rich_cards`.
    RenderUi(UiPayload<'a>),
    /// Ask a person whether a tool may run.
    RequestApproval(Box<ApprovalPayload<'a>>),
    /// Ask a person a question.
    #[serde(rename = "dev.harn.question")]
    Question(Box<QuestionPayload<'a>>),
    /// Do nothing yet: the run continues.
    Noop(NoopPayload),
}

/// A message of the agent.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "MessagePayload", deny_unknown_fields)]
pub(crate) struct MessagePayload<'a> {
    /// The text of the message.
    pub(crate) text: Cow<'a, str>,
    /// The same text, for Shells that read this member.
    pub(crate) message: Cow<'a, str>,
    pub(crate) format: TextFormat,
}

/// The format of a text.
#[derive(Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Format")]
pub(crate) enum TextFormat {
    /// The text is Markdown.
    Markdown,
    /// The text has no markup.
    Text,
}

/// A card to render.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "UiPayload", deny_unknown_fields)]
pub(crate) struct UiPayload<'a> {
    pub(crate) component: UiComponent,
    pub(crate) data: RunCard<'a>,
    /// The text to show instead.
    pub(crate) message: String,
}

/// The kind of a card.
#[derive(Clone, Copy, Serialize, JsonSchema)]
#[schemars(rename = "Component")]
pub(crate) enum UiComponent {
    /// A card about the engine's work in a run.
    #[serde(rename = "dev.harn.run")]
    Run,
}

/// The engine's work in a run.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct RunCard<'a> {
    /// The state of the run.
    pub(crate) state: RunState,
    /// The tool calls of the run.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(crate) calls: &'a [CallSummary],
    /// The plan of the run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) plan: Vec<PlanEntry>,
    /// The artifacts of the run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) artifacts: Vec<ArtifactCard<'a>>,
}

/// An artifact of the agent.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct ArtifactCard<'a> {
    /// The id of the artifact.
    pub(crate) id: &'a str,
    /// The kind of artifact: `vega-lite`, `file`, …
    pub(crate) kind: &'a str,
    /// A title for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) title: Option<&'a str>,
    /// The media type of the artifact.
    pub(crate) mime_type: &'a str,
    /// The content to render; for a file, its location.
    pub(crate) spec: &'a Value,
    /// The text to show if the artifact cannot be rendered.
    pub(crate) message: &'a str,
}

/// A tool call that waits for a person's decision.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ApprovalPayload", deny_unknown_fields)]
pub(crate) struct ApprovalPayload<'a> {
    /// The id that an answer refers to.
    pub(crate) id: &'a str,
    /// The action in one line.
    pub(crate) title: Cow<'a, str>,
    /// The whole request as text, for Shells that show nothing else.
    pub(crate) message: String,
    /// The name of the tool.
    pub(crate) tool: &'a str,
    /// The kind of the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) kind: Option<ToolKind>,
    /// The exact command that the tool would run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) command: Option<&'a str>,
    /// The files that the tool would touch.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) paths: Vec<&'a str>,
    /// The changes that the tool would make.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) diffs: Vec<ApprovalDiff<'a>>,
    /// The arguments, as the agent gave them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) arguments: Option<&'a Value>,
    /// The reason for the question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<&'a str>,
    /// The worker that makes the call, if it is not the agent itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) worker: Option<&'a str>,
    /// The decisions that are possible.
    pub(crate) options: Vec<DecisionChoice<'a>>,
    /// The continuation to send with the answer.
    pub(crate) continuation: Continuation,
}

/// A change to a file.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Diff")]
pub(crate) struct ApprovalDiff<'a> {
    /// The path of the file.
    pub(crate) path: &'a str,
    /// The present text; left out for a new file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) old_text: Option<&'a str>,
    /// The text after the change.
    pub(crate) new_text: &'a str,
}

/// A decision that is possible.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Choice")]
pub(crate) struct DecisionChoice<'a> {
    /// The decision to send.
    pub(crate) decision: DirectiveDecision,
    /// The label to show to a person.
    pub(crate) label: &'a str,
}

/// The decision of a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Decision")]
pub(crate) enum DirectiveDecision {
    /// Allow the action once.
    Once,
    /// Allow the action from now on.
    Always,
    /// Reject the action.
    Reject,
}

/// A question of the agent to a person.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "QuestionPayload", deny_unknown_fields)]
pub(crate) struct QuestionPayload<'a> {
    /// The id that an answer refers to.
    pub(crate) id: &'a str,
    /// The kind of the question.
    pub(crate) kind: HitlKind,
    /// The question in one line.
    pub(crate) prompt: String,
    /// The information to read before answering.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) detail: Option<String>,
    /// The possible answers; if there are none, any text.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(crate) choices: &'a [String],
    /// The answer that counts if no person answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) default: Option<&'a str>,
    /// The possible decisions, if the answer is not a text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) options: Vec<DecisionChoice<'a>>,
    /// The whole question as text, for Shells that show nothing else.
    pub(crate) message: String,
    pub(crate) answered_by: AnsweredBy,
    /// The continuation to send with the answer.
    pub(crate) continuation: Continuation,
}

/// The member of our extension for the answer.
#[derive(Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum AnsweredBy {
    /// `answer`, with a text.
    Answer,
    /// `approval`, with a decision.
    Approval,
}

/// A directive that does nothing.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "NoopPayload", deny_unknown_fields)]
pub(crate) struct NoopPayload {
    /// The text to show to a person.
    pub(crate) message: &'static str,
    /// The continuation to ask again with.
    pub(crate) continuation: Continuation,
}

/// The priority of a directive.
#[derive(Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Priority")]
pub(crate) enum DirectivePriority {
    /// The directive can wait.
    Low,
    /// The usual priority.
    Normal,
    /// The run waits for it.
    High,
}

/// The order in which directives are carried out.
#[derive(Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Execution")]
pub(crate) enum DirectiveExecution {
    /// In parallel with others that have this value.
    Parallel,
}

/// The risk of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RiskTier {
    /// Nothing can go wrong.
    Safe,
    /// The damage can be repaired.
    Caution,
    /// Any damage is possible.
    Dangerous,
}
