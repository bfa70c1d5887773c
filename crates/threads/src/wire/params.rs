//! The params of methods. [`from_wire`](crate::from_wire) parses them and reports errors.

use crate::JsonSchema;
use serde::Serialize;

/// The params of `initialize`; nothing depends on them.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub struct InitializeParams {
    /// The name and version of the client.
    pub client_info: Option<ClientInfo>,
}

/// The name and version of a client.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema)]
pub struct ClientInfo {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: Option<String>,
}

/// The params of `thread.create`.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
pub struct ThreadCreateParams {
    /// Its title; without one it gets that of its first prompt.
    pub title: Option<String>,
    /// Its working directory, relative to the server's directory, which is also the default.
    pub directory: Option<String>,
}

/// The params of `thread.list`: there are none.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
pub struct ThreadListParams {}

/// The params of `thread.get`.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub struct ThreadGetParams {
    /// The id of the thread.
    pub thread_id: String,
}

/// The params of `turn.start`.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub struct TurnStartParams {
    /// The id of the thread.
    pub thread_id: String,
    /// The prompt; at least one part.
    #[schemars(length(min = 1))]
    pub input: Vec<InputPart>,
    /// The model from now on, if the agent offers a choice.
    pub model: Option<ModelChoice>,
    /// The agent's way of working from now on, if it has several.
    pub agent: Option<String>,
}

/// A part of a prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum InputPart {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// A file that the agent may read.
    File {
        /// Its URL.
        url: String,
        /// Its name; without one, the last segment of the URL.
        #[serde(skip_serializing_if = "Option::is_none")]
        filename: Option<String>,
        /// Its media type.
        #[serde(skip_serializing_if = "Option::is_none")]
        mime: Option<String>,
    },
}

/// The choice of a model.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema)]
pub struct ModelChoice {
    /// The provider of the model; nothing depends on it.
    #[schemars(rename = "providerID")]
    pub provider_id: Option<String>,
    /// The id of the model.
    #[schemars(rename = "modelID")]
    pub model_id: String,
}

/// The params of `turn.cancel`.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub struct TurnCancelParams {
    /// The id of the thread.
    pub thread_id: String,
    /// The id of the turn; without it, the running one.
    pub turn_id: Option<String>,
}

/// The params of `approval.respond`.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub struct ApprovalRespondParams {
    /// The id of the question.
    pub request_id: String,
    /// The decision about it.
    pub decision: ApprovalDecision,
}

/// A decision about a tool call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(rename_all = "snake_case")]
#[schemars(rename = "Decide")]
pub enum ApprovalDecision {
    /// Allows it this time.
    Once,
    /// Allows it from now on, for exactly the same subject.
    Always,
    /// Rejects it, and everything else that the thread asks at the moment.
    Reject,
}
