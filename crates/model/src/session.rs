//! What describes a session as a whole: title, usage, modes, options, commands.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

/// A title or other facts about the session changed. Absent means unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionInfo {
    /// A title for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Whether a person chose the title. One that an agent makes up does not replace it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub chosen: bool,
}

/// How full the context is and what it cost. Unknown is absent, never zero.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens in the context.
    pub used: u64,
    /// Size of the context.
    pub size: u64,
    /// What the session cost so far, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
}

/// An amount of money.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cost {
    /// How much.
    pub amount: f64,
    /// ISO 4217 code.
    pub currency: String,
}

/// A way of working a person can choose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mode {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
}

/// A setting of a session with a fixed set of values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigOption {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// What it may be set to; never empty.
    pub choices: Vec<ConfigChoice>,
    /// What it is at first; one of `choices`.
    pub default: String,
}

/// One value of a [`ConfigOption`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigChoice {
    /// The value.
    pub value: String,
    /// Its name.
    pub name: String,
}

/// A slash command a person can type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Command")]
pub struct SlashCommand {
    /// Its name, without the slash.
    pub name: String,
    /// What it does.
    pub description: String,
    /// What follows the name, if anything does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<CommandInput>,
}

/// What follows a command's name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CommandInput {
    /// Shown while nothing is typed.
    pub hint: String,
}

/// Which blocks an agent takes in a prompt, beyond text and links.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PromptSupport {
    /// Pictures.
    pub image: bool,
    /// Sounds.
    pub audio: bool,
    /// Embedded resources.
    pub embedded: bool,
}
