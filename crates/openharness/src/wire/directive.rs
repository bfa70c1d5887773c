//! Directives, as they are written: every `action_type` there is, and what its payload holds. Whatever a Shell
//! may not know has a `message` to show instead.

use std::borrow::Cow;

use crate::JsonSchema;
use harn_model::{HitlKind, PlanEntry, ToolKind};
use serde::Serialize;
use serde_json::Value;

use super::Continuation;
use crate::{ext::RunState, told::CallSummary};

/// Something for the Shell to do.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Directive<'a> {
    #[serde(flatten)]
    pub(crate) action: DirectiveAction<'a>,
    pub(crate) priority: DirectivePriority,
    /// Whether it may be carried out beside the others that say so; left out where they are done in order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) execution: Option<DirectiveExecution>,
    pub(crate) risk_tier: RiskTier,
    /// Whether a person has to decide.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) requires_user_approval: Option<bool>,
    /// From the receipt of this: how long a decision is waited for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) deadline_ms: Option<u64>,
}

impl<'a> Directive<'a> {
    /// One that shows something.
    pub(crate) fn shown(action: DirectiveAction<'a>) -> Self {
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

/// What it is, and with what.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "action_type", content = "payload", rename_all = "snake_case")]
#[schemars(rename = "Action")]
pub(crate) enum DirectiveAction<'a> {
    /// Show what the agent said.
    RenderMessage(MessagePayload<'a>),
    /// Show a card; only to a Shell that has `openharness.ui.rich_cards`.
    RenderUi(UiPayload<'a>),
    /// Ask a person whether a tool may run.
    RequestApproval(Box<ApprovalPayload<'a>>),
    /// Ask a person something.
    #[serde(rename = "dev.harn.question")]
    Question(Box<QuestionPayload<'a>>),
    /// Nothing yet: the run goes on.
    Noop(NoopPayload),
}

/// What the agent said.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "MessagePayload", deny_unknown_fields)]
pub(crate) struct MessagePayload<'a> {
    /// The text.
    pub(crate) text: Cow<'a, str>,
    /// The same again, for Shells that look here.
    pub(crate) message: Cow<'a, str>,
    pub(crate) format: TextFormat,
}

/// How a text is written.
#[derive(Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Format")]
pub(crate) enum TextFormat {
    /// In Markdown.
    Markdown,
    /// Without markup.
    Text,
}

/// A card.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "UiPayload", deny_unknown_fields)]
pub(crate) struct UiPayload<'a> {
    pub(crate) component: UiComponent,
    pub(crate) data: RunCard<'a>,
    /// What to show instead.
    pub(crate) message: String,
}

/// Which card.
#[derive(Clone, Copy, Serialize, JsonSchema)]
#[schemars(rename = "Component")]
pub(crate) enum UiComponent {
    /// What the engine did in a run.
    #[serde(rename = "dev.harn.run")]
    Run,
}

/// What the engine did in a run.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct RunCard<'a> {
    /// Where the run stands.
    pub(crate) state: RunState,
    /// The tools it used.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(crate) calls: &'a [CallSummary],
    /// Its plan.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) plan: Vec<PlanEntry>,
    /// What it made.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) artifacts: Vec<ArtifactCard<'a>>,
}

/// Something the agent made.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct ArtifactCard<'a> {
    /// Its id.
    pub(crate) id: &'a str,
    /// What sort: `vega-lite`, `file`, …
    pub(crate) kind: &'a str,
    /// A title for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) title: Option<&'a str>,
    /// Media type.
    pub(crate) mime_type: &'a str,
    /// What to render; of a file, where it is.
    pub(crate) spec: &'a Value,
    /// What to show where it cannot be rendered.
    pub(crate) message: &'a str,
}

/// A tool call that waits for a person.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ApprovalPayload", deny_unknown_fields)]
pub(crate) struct ApprovalPayload<'a> {
    /// What an answer names it by.
    pub(crate) id: &'a str,
    /// What would be done, in a line.
    pub(crate) title: Cow<'a, str>,
    /// All of it as text, for Shells that show nothing else.
    pub(crate) message: String,
    /// The tool.
    pub(crate) tool: &'a str,
    /// What sort of tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) kind: Option<ToolKind>,
    /// The command it would run, letter by letter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) command: Option<&'a str>,
    /// The files it would touch.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) paths: Vec<&'a str>,
    /// The changes it would make.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) diffs: Vec<ApprovalDiff<'a>>,
    /// Its arguments, as the agent gave them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) arguments: Option<&'a Value>,
    /// Why a person is asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<&'a str>,
    /// The worker that wants it, where it is not the agent itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) worker: Option<&'a str>,
    /// What can be answered.
    pub(crate) options: Vec<DecisionChoice<'a>>,
    /// What to send the answer with.
    pub(crate) continuation: Continuation,
}

/// A change to a file.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Diff")]
pub(crate) struct ApprovalDiff<'a> {
    /// The file.
    pub(crate) path: &'a str,
    /// What is there; left out for a new file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) old_text: Option<&'a str>,
    /// What would be there.
    pub(crate) new_text: &'a str,
}

/// Something that can be answered.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Choice")]
pub(crate) struct DecisionChoice<'a> {
    /// What to send.
    pub(crate) decision: DirectiveDecision,
    /// What to show a person.
    pub(crate) label: &'a str,
}

/// What is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Decision")]
pub(crate) enum DirectiveDecision {
    /// It may be done, this time.
    Once,
    /// It may be done, from now on.
    Always,
    /// It may not be done.
    Reject,
}

/// Something that the agent asks a person.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "QuestionPayload", deny_unknown_fields)]
pub(crate) struct QuestionPayload<'a> {
    /// What an answer names it by.
    pub(crate) id: &'a str,
    /// What sort of thing is asked.
    pub(crate) kind: HitlKind,
    /// The question, in a line.
    pub(crate) prompt: String,
    /// What there is to know before answering.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) detail: Option<String>,
    /// What may be answered in words; anything where there are none.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(crate) choices: &'a [String],
    /// What counts where nobody answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) default: Option<&'a str>,
    /// What can be decided, where it is not answered in words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) options: Vec<DecisionChoice<'a>>,
    /// All of it as text, for Shells that show nothing else.
    pub(crate) message: String,
    pub(crate) answered_by: AnsweredBy,
    /// What to send the answer with.
    pub(crate) continuation: Continuation,
}

/// The member of our extension that an answer stands in.
#[derive(Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum AnsweredBy {
    /// `answer`, in words.
    Answer,
    /// `approval`, by a decision.
    Approval,
}

/// Nothing yet.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "NoopPayload", deny_unknown_fields)]
pub(crate) struct NoopPayload {
    /// What to show a person.
    pub(crate) message: &'static str,
    /// What to ask again with.
    pub(crate) continuation: Continuation,
}

/// How much it matters.
#[derive(Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Priority")]
pub(crate) enum DirectivePriority {
    /// It can wait.
    Low,
    /// As usual.
    Normal,
    /// The run waits for it.
    High,
}

/// In which order.
#[derive(Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Execution")]
pub(crate) enum DirectiveExecution {
    /// Beside others that say so.
    Parallel,
}

/// What could go wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RiskTier {
    /// Nothing.
    Safe,
    /// Something that can be mended.
    Caution,
    /// Anything.
    Dangerous,
}
