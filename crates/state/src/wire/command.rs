//! What a client may want of a session.

use std::collections::BTreeMap;

use crate::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

/// Something that a client wants. What comes of it is seen in the document.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
#[schemars(rename = "Command")]
pub enum ClientCommand {
    /// Says something to the agent: now, or when what runs has ended.
    Submit {
        /// What.
        prompt: String,
    },
    /// Stops what runs, and nothing that waits.
    Cancel {},
    /// Says something to the agent in the middle of its work; where it does not work, now.
    Steer {
        /// What.
        message: String,
    },
    /// Lets a tool call run that waits for a decision.
    Approve {
        /// Which call.
        tool_call_id: String,
        /// By which of the options; without it, by the one that holds once.
        #[serde(default)]
        option_id: Option<String>,
    },
    /// Refuses a tool call that waits for a decision.
    Deny {
        /// Which call.
        tool_call_id: String,
        /// Why, for the agent.
        #[serde(default)]
        reason: Option<String>,
        /// By which of the options; without it, by the one that holds once.
        #[serde(default)]
        option_id: Option<String>,
    },
    /// Goes over to another session.
    Resume {
        /// Which.
        session_id: String,
        /// What to say there, if anything.
        #[serde(default)]
        prompt: Option<String>,
    },
    /// Changes settings of the session.
    Configure {
        /// Which, and to what.
        config: SettingChanges,
    },
    /// Answers what a person is asked.
    Answer {
        /// Which question.
        question_id: String,
        /// The answer to a question.
        #[serde(default)]
        answer: Option<String>,
        /// Whether what is to be approved is.
        #[serde(default)]
        approved: Option<bool>,
        /// Whether what is to be taken over is.
        #[serde(default)]
        accepted: Option<bool>,
        /// Why.
        #[serde(default)]
        reason: Option<String>,
    },
    /// Takes a message back that is still pending.
    Withdraw {
        /// Which.
        message_id: String,
    },
    /// Takes control of the session from whoever has it.
    Takeover {},
    /// Gives control of the session up.
    Handback {},
}

/// Settings, by name.
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
