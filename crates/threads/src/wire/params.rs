//! What methods take. Read by [`from_wire`](crate::from_wire), which says what is wrong with the rest.

use crate::JsonSchema;
use serde::Serialize;

/// Who the client is; nothing depends on it.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub struct InitializeParams {
    /// What it says of itself.
    pub client_info: Option<ClientInfo>,
}

/// What a client says of itself.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema)]
pub struct ClientInfo {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: Option<String>,
}

/// A thread to be created.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
pub struct ThreadCreateParams {
    /// Its title; without one it gets that of its first prompt.
    pub title: Option<String>,
    /// Where it works; from the server's own directory, which is also what counts without it.
    pub directory: Option<String>,
}

/// Nothing to say.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
pub struct ThreadListParams {}

/// Which thread.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub struct ThreadGetParams {
    /// Its id.
    pub thread_id: String,
}

/// What to say to the agent.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub struct TurnStartParams {
    /// In which thread.
    pub thread_id: String,
    /// What is said; at least one part.
    #[schemars(length(min = 1))]
    pub input: Vec<InputPart>,
    /// The model, from now on, where the agent lets one choose.
    pub model: Option<ModelChoice>,
    /// The agent's way of working, from now on, where it has several.
    pub agent: Option<String>,
}

/// A part of what is said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum InputPart {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// A file the agent may look at.
    File {
        /// Where it is.
        url: String,
        /// What it is called; the end of the address without it.
        #[serde(skip_serializing_if = "Option::is_none")]
        filename: Option<String>,
        /// Media type.
        #[serde(skip_serializing_if = "Option::is_none")]
        mime: Option<String>,
    },
}

/// A model.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema)]
pub struct ModelChoice {
    /// Whose it is; nothing depends on it.
    #[schemars(rename = "providerID")]
    pub provider_id: Option<String>,
    /// Which.
    #[schemars(rename = "modelID")]
    pub model_id: String,
}

/// Which turn to cancel.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub struct TurnCancelParams {
    /// In this thread.
    pub thread_id: String,
    /// Only this turn; without it the one that runs.
    pub turn_id: Option<String>,
}

/// A decision.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub struct ApprovalRespondParams {
    /// What was asked.
    pub request_id: String,
    /// What is decided.
    pub decision: ApprovalDecision,
}

/// What may be decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(rename_all = "snake_case")]
#[schemars(rename = "Decide")]
pub enum ApprovalDecision {
    /// Yes, this time.
    Once,
    /// Yes, from now on, for whatever is exactly like it.
    Always,
    /// No, and to whatever else the thread asks just now.
    Reject,
}
