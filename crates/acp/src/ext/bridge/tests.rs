//! Tests of the bridge's names, and the schema types of the hosts' answers, which the program parses without
//! types.

use std::collections::BTreeMap;

use harn_model::SkillRef;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{BridgeMethod, BridgeNotification};

#[test]
fn every_method_has_one_name() {
    for method in BridgeMethod::ALL {
        assert_eq!(BridgeMethod::from_name(method.name()), Some(*method));
    }
    for heard in BridgeNotification::ALL {
        assert_eq!(BridgeMethod::from_name(heard.name()), None);
    }
}

/// A host's answer to `skills/list`.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only its schema is of use")]
pub(super) enum SkillsAnswer {
    Bare(Vec<SkillRef>),
    Listed { skills: Vec<SkillRef> },
}

/// A host's answer to `skills/fetch`. Without `manifest`, its members are beside the others.
#[derive(JsonSchema)]
#[schemars(rename = "HostSkill")]
#[expect(dead_code, reason = "only its schema is of use")]
pub(super) struct SkillAnswer {
    /// The name of the skill.
    name: String,
    /// The purpose of the skill.
    description: Option<String>,
    /// The text of the skill.
    body: String,
    /// The other fields of the header of a `SKILL.md`.
    manifest: Option<Map<String, Value>>,
    /// The manifest's members, if `manifest` is absent.
    #[serde(flatten)]
    flat: Map<String, Value>,
}

/// A host's answer to `host/tools/list`.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only its schema is of use")]
pub(super) enum ToolsAnswer {
    Listed { tools: Vec<ToolEntry> },
    Bare(Vec<ToolEntry>),
    Wrapped { result: ToolsListed },
}

/// The list inside an envelope.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is of use")]
pub(super) struct ToolsListed {
    tools: Vec<ToolEntry>,
}

/// A tool; of several names for one member, the first one counts.
#[derive(JsonSchema)]
#[schemars(rename = "HostToolEntry")]
#[expect(dead_code, reason = "only its schema is of use")]
pub(super) struct ToolEntry {
    /// The name of the tool.
    name: String,
    /// The description of the tool.
    description: Option<String>,
    /// The description, as older hosts call it.
    short_description: Option<String>,
    /// The JSON Schema of its arguments.
    schema: Option<Map<String, Value>>,
    /// The JSON Schema, as older hosts call it.
    parameters: Option<Map<String, Value>>,
    /// The JSON Schema, as older hosts call it.
    input_schema: Option<Map<String, Value>>,
    /// Whether the tool is deprecated.
    deprecated: Option<bool>,
}

/// A host's answer to `skill/match`.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only its schema is of use")]
pub(super) enum MatchAnswer {
    Matches { matches: Vec<MatchEntry> },
    Skills { skills: Vec<MatchEntry> },
    Wrapped { result: SkillMatches },
    Bare(Vec<MatchEntry>),
}

/// The list inside an envelope.
#[derive(JsonSchema)]
#[schemars(rename = "SkillMatches")]
#[expect(dead_code, reason = "only its schema is of use")]
pub(super) struct SkillMatches {
    matches: Vec<MatchEntry>,
}

/// A skill that matches.
#[derive(JsonSchema)]
#[schemars(rename = "SkillMatchEntry")]
#[expect(dead_code, reason = "only its schema is of use")]
pub(super) struct MatchEntry {
    /// The name of a candidate; other names are ignored.
    name: String,
    /// The quality of the match, the best first; 1 by default.
    #[schemars(range(min = 0))]
    score: Option<f64>,
    /// The reason of the match, for people.
    reason: Option<String>,
}

/// A host's answer to `host/capabilities`.
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

/// A list of names, or an object with one member per name.
#[derive(JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "HostOperationNames")]
#[expect(dead_code, reason = "only its schema is of use")]
pub(super) enum OperationNames {
    Listed(Vec<String>),
    Described(Map<String, Value>),
}

/// The arguments and the result of an operation.
#[derive(Serialize, JsonSchema)]
#[schemars(inline, deny_unknown_fields)]
#[schemars(rename = "Exchange")]
pub(super) struct OperationExchange<P, R> {
    /// The content of `args`.
    args: P,
    /// The host's answer.
    result: R,
}
