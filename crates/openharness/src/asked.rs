//! What a Shell asks for, once its message is understood. From here on there are no field names of the wire.

use std::borrow::Cow;

use harn_model::{Resource, ResourceLink};
use serde::Serialize;

use crate::{JsonSchema, continuation::RunCursor};

/// The ids that every answer repeats.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct EchoedIds {
    pub(crate) request_id: Option<String>,
    pub(crate) correlation_id: Option<String>,
}

/// A request that makes sense.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ShellRequest {
    /// What the answer repeats.
    pub(crate) echo: EchoedIds,
    /// What the Shell can do and wants.
    pub(crate) shell: ShellProfile,
    /// The conversation it belongs to; one of its own where the Shell names none.
    pub(crate) line: Option<ConversationName>,
    /// What its user wants, in words or as JSON.
    pub(crate) intent: Option<String>,
    /// What it refers to.
    pub(crate) attachments: Vec<ResourceLink>,
    /// Hints, the Shell's identity and its environment, for agents that take a resource along; nothing of
    /// it that is secret.
    pub(crate) background: Option<Resource>,
    /// The run that it goes on with.
    pub(crate) continuation: Option<RunCursor>,
    /// What it decides about questions of that run.
    pub(crate) verdicts: Vec<DirectiveAnswer>,
    /// Whether that run is to stop.
    pub(crate) cancel: bool,
    /// Names everything that the request says but its ids, its credentials and its secrets: the same words
    /// twice have the same name.
    pub(crate) digest: String,
}

/// A conversation, as the Shell calls it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ConversationName {
    pub(crate) session: String,
    pub(crate) conversation: Option<String>,
}

/// What is known of a Shell that shapes its answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ShellProfile {
    /// How it shows text.
    pub(crate) manner: TextStyle,
    /// Whether it renders cards.
    pub(crate) cards: bool,
    /// Whether it carries out directives side by side.
    pub(crate) parallel: bool,
    /// The capabilities it asked for that we know and cannot honour.
    pub(crate) denied: Vec<CapabilityDenial>,
}

/// How a Shell shows text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum TextStyle {
    /// All of it, in Markdown.
    #[default]
    Markdown,
    /// All of it, without markup.
    Plain,
    /// A few short lines without markup: it is read from afar, or on the road.
    Short,
}

/// A capability that is not there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Denial", deny_unknown_fields)]
pub(crate) struct CapabilityDenial {
    /// Which.
    pub(crate) capability: &'static str,
    /// Why, for machines.
    pub(crate) code: &'static str,
    /// Why, for people.
    pub(crate) message: Cow<'static, str>,
}

/// An answer to a question of a run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DirectiveAnswer {
    /// The question, by the id its directive has.
    pub(crate) id: String,
    pub(crate) given: AnswerValue,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum AnswerValue {
    /// It may be done, this time.
    Once,
    /// It may be done, from now on.
    Always,
    /// It may not be done.
    Reject,
    /// The answer to a question of the agent, in words.
    Words(String),
}
