//! The description of a session as a whole: title, usage, modes, options, commands.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

/// A change of the title or other facts about the session. Absent means unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionInfo {
    /// A title for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Whether a person chose the title. A title that an agent generates does not replace it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub chosen: bool,
}

/// The fill level of the context and its cost. Unknown is absent, never zero.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens in the context.
    pub used: u64,
    /// Size of the context.
    pub size: u64,
    /// The cost of the session so far, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
}

/// An amount of money.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cost {
    /// The amount.
    pub amount: f64,
    /// ISO 4217 code.
    pub currency: String,
}

/// A mode that a person can choose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mode {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: String,
}

/// A setting of a session with a fixed set of values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigOption {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: String,
    /// Its possible values; never empty.
    pub choices: Vec<ConfigChoice>,
    /// Its initial value; one of `choices`.
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

/// A slash command that a person can type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Command")]
pub struct SlashCommand {
    /// Its name, without the slash.
    pub name: String,
    /// Its description.
    pub description: String,
    /// The input after the name, if there is any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<CommandInput>,
}

/// The input after a command's name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CommandInput {
    /// The placeholder while nothing is typed.
    pub hint: String,
}

/// The content blocks that an agent accepts in a prompt, beyond text and links.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PromptSupport {
    /// Images.
    pub image: bool,
    /// Audio.
    pub audio: bool,
    /// Embedded resources.
    pub embedded: bool,
}
