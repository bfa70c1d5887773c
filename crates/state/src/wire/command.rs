//! The commands of a client.

use std::collections::BTreeMap;

use crate::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

/// A command of a client. Its effect shows in the document.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
#[schemars(rename = "Command")]
pub enum ClientCommand {
    /// Sends a prompt to the agent: its turn starts now, or after the turns before it.
    Submit {
        /// The text of the prompt.
        prompt: String,
    },
    /// Cancels the running turn, and nothing that is queued.
    Cancel {},
    /// Sends a message to the agent during its turn; without a running turn, it is a prompt.
    Steer {
        /// The text of the message.
        message: String,
    },
    /// Allows a tool call that waits for a decision.
    Approve {
        /// The id of the call.
        tool_call_id: String,
        /// The id of the chosen option; without it, the one that allows once.
        #[serde(default)]
        option_id: Option<String>,
    },
    /// Denies a tool call that waits for a decision.
    Deny {
        /// The id of the call.
        tool_call_id: String,
        /// The reason, for the agent.
        #[serde(default)]
        reason: Option<String>,
        /// The id of the chosen option; without it, the one that rejects once.
        #[serde(default)]
        option_id: Option<String>,
    },
    /// Switches to another session.
    Resume {
        /// The id of the session.
        session_id: String,
        /// A prompt for that session, if any.
        #[serde(default)]
        prompt: Option<String>,
    },
    /// Changes settings of the session.
    Configure {
        /// The settings and their new values.
        config: SettingChanges,
    },
    /// Answers a question to a person.
    Answer {
        /// The id of the question.
        question_id: String,
        /// The answer to a question.
        #[serde(default)]
        answer: Option<String>,
        /// Whether the request is approved.
        #[serde(default)]
        approved: Option<bool>,
        /// Whether the escalation is accepted.
        #[serde(default)]
        accepted: Option<bool>,
        /// The reason for the answer.
        #[serde(default)]
        reason: Option<String>,
    },
    /// Withdraws a message that is still pending.
    Withdraw {
        /// The id of the message.
        message_id: String,
    },
    /// Takes control of the session, also from another client.
    Takeover {},
    /// Gives up control of the session.
    Handback {},
}

/// New values of settings, by name.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Configure")]
pub struct SettingChanges {
    /// The session's mode.
    #[serde(default)]
    pub permission_mode: Option<String>,
    /// The session's title.
    #[serde(default)]
    pub title: Option<String>,
    /// Options of the agent, by id.
    #[serde(flatten)]
    pub options: BTreeMap<String, Value>,
}
