//! The parsed request of a Shell. Code after this module uses no field names of the wire.

use std::borrow::Cow;

use harn_model::{Resource, ResourceLink};
use serde::Serialize;

use crate::{JsonSchema, continuation::RunCursor};

/// The ids that every response repeats.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct EchoedIds {
    pub(crate) request_id: Option<String>,
    pub(crate) correlation_id: Option<String>,
}

/// A parsed and valid request of a Shell.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ShellRequest {
    pub(crate) echo: EchoedIds,
    pub(crate) shell: ShellProfile,
    /// The conversation. Without one, the request gets its own session.
    pub(crate) line: Option<ConversationName>,
    /// What the user wants, as text or JSON.
    pub(crate) intent: Option<String>,
    pub(crate) attachments: Vec<ResourceLink>,
    /// Hints, the Shell's identity and its environment, for agents that accept an embedded resource; without
    /// secrets.
    pub(crate) background: Option<Resource>,
    /// The run to continue, and the position in it.
    pub(crate) continuation: Option<RunCursor>,
    /// The answers to questions of that run.
    pub(crate) verdicts: Vec<DirectiveAnswer>,
    /// Whether to stop that run, or the current run of the conversation.
    pub(crate) cancel: bool,
    /// The digest of the request without its ids, credentials and secrets: equal content has an equal digest.
    pub(crate) digest: String,
}

/// The Shell's name for a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ConversationName {
    pub(crate) session: String,
    pub(crate) conversation: Option<String>,
}

/// The properties of a Shell that shape its response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ShellProfile {
    pub(crate) manner: TextStyle,
    /// Whether it renders cards.
    pub(crate) cards: bool,
    /// Whether it carries out directives in parallel.
    pub(crate) parallel: bool,
    /// The requested capabilities that we know and cannot provide.
    pub(crate) denied: Vec<CapabilityDenial>,
}

/// How a Shell shows text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum TextStyle {
    /// The whole text in Markdown.
    #[default]
    Markdown,
    /// The whole text without markup.
    Plain,
    /// A few short lines without markup, for a distant display or a vehicle.
    Short,
}

/// A capability that the server denies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Denial", deny_unknown_fields)]
pub(crate) struct CapabilityDenial {
    /// The name of the capability.
    pub(crate) capability: &'static str,
    /// The reason, for programs.
    pub(crate) code: &'static str,
    /// The reason, for people.
    pub(crate) message: Cow<'static, str>,
}

/// An answer to a question of a run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DirectiveAnswer {
    /// The id of the question's directive.
    pub(crate) id: String,
    pub(crate) given: AnswerValue,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum AnswerValue {
    /// Allow the action once.
    Once,
    /// Allow the action from now on.
    Always,
    Reject,
    /// The text answer to a question of the agent.
    Words(String),
}
