//! The names of the bridge, and the answers of hosts as their schemas have them: they are read without a type.

use std::collections::BTreeMap;

use harn_model::SkillRef;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{BridgeMethod, BridgeNotification};

#[test]
fn every_method_has_one_name() {
    for method in BridgeMethod::ALL {
        assert_eq!(BridgeMethod::named(method.name()), Some(*method));
    }
    for heard in BridgeNotification::ALL {
        assert_eq!(BridgeMethod::named(heard.name()), None);
    }
}

/// What a host may answer to `skills/list`.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only its schema is of use")]
pub(super) enum SkillsAnswer {
    Bare(Vec<SkillRef>),
    Listed { skills: Vec<SkillRef> },
}

/// What a host may answer to `skills/fetch`. Without `manifest` its members stand beside the others.
#[derive(JsonSchema)]
#[schemars(rename = "HostSkill")]
#[expect(dead_code, reason = "only its schema is of use")]
pub(super) struct SkillAnswer {
    /// Its name.
    name: String,
    /// What it is for.
    description: Option<String>,
    /// Its text.
    body: String,
    /// The rest of what a `SKILL.md` says before its text.
    manifest: Option<Map<String, Value>>,
    /// The same, flat.
    #[serde(flatten)]
    flat: Map<String, Value>,
}

/// What a host may answer.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only its schema is of use")]
pub(super) enum ToolsAnswer {
    Listed { tools: Vec<ToolEntry> },
    Bare(Vec<ToolEntry>),
    Wrapped { result: ToolsListed },
}

/// The list in an envelope.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is of use")]
pub(super) struct ToolsListed {
    tools: Vec<ToolEntry>,
}

/// A tool; of several names for one thing the first one counts.
#[derive(JsonSchema)]
#[schemars(rename = "HostToolEntry")]
#[expect(dead_code, reason = "only its schema is of use")]
pub(super) struct ToolEntry {
    /// Its name.
    name: String,
    /// What it does.
    description: Option<String>,
    /// The same, as older hosts call it.
    short_description: Option<String>,
    /// The JSON Schema of its arguments.
    schema: Option<Map<String, Value>>,
    /// The same, as older hosts call it.
    parameters: Option<Map<String, Value>>,
    /// The same, as older hosts call it.
    input_schema: Option<Map<String, Value>>,
    /// Whether it should not be used any more.
    deprecated: Option<bool>,
}

/// What a host may answer.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only its schema is of use")]
pub(super) enum MatchAnswer {
    Matches { matches: Vec<MatchEntry> },
    Skills { skills: Vec<MatchEntry> },
    Wrapped { result: SkillMatches },
    Bare(Vec<MatchEntry>),
}

/// The list in an envelope.
#[derive(JsonSchema)]
#[schemars(rename = "SkillMatches")]
#[expect(dead_code, reason = "only its schema is of use")]
pub(super) struct SkillMatches {
    matches: Vec<MatchEntry>,
}

/// A skill that fits.
#[derive(JsonSchema)]
#[schemars(rename = "SkillMatchEntry")]
#[expect(dead_code, reason = "only its schema is of use")]
pub(super) struct MatchEntry {
    /// One of the candidates; others are ignored.
    name: String,
    /// How well; higher comes first. 1 if it is not said.
    #[schemars(range(min = 0))]
    score: Option<f64>,
    /// Why, for people.
    reason: Option<String>,
}

/// What a host may answer.
pub(super) type CapabilitiesAnswer = BTreeMap<String, CapabilityEntry>;

/// The operations of a capability.
#[derive(JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "HostCapability")]
#[expect(dead_code, reason = "only its schema is of use")]
pub(super) enum CapabilityEntry {
    Bare(Vec<String>),
    Listed { ops: OperationNames },
    Spelled { operations: OperationNames },
}

/// Names, or an object a name.
#[derive(JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "HostOperationNames")]
#[expect(dead_code, reason = "only its schema is of use")]
pub(super) enum OperationNames {
    Listed(Vec<String>),
    Described(Map<String, Value>),
}

/// What an operation takes and gives.
#[derive(Serialize, JsonSchema)]
#[schemars(inline, deny_unknown_fields)]
#[schemars(rename = "Exchange")]
pub(super) struct OperationExchange<P, R> {
    /// What `args` holds.
    args: P,
    /// What the host answers.
    result: R,
}
