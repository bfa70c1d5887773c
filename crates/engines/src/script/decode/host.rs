//! Decodes the steps that use files, commands and the host's own tools.

use harn_model::ToolKind;
use harn_tools::yaml::{YamlFault, YamlNode};
use serde_json::{Map, Value};

use super::{MapFields, non_empty_text, text};
use crate::script::{scenario::ScenarioAction, typed_yaml::parse_typed};

/// Operations of a host that change nothing; any other operation may.
const READING: [&str; 3] = [
    "process.list_shells",
    "process.get_default_shell",
    "process.shell_invocation",
];

pub(super) fn tool(node: &YamlNode) -> Result<ScenarioAction, YamlFault> {
    let fields = MapFields::parse(node, "host_tool", "name, args, kind")?;
    Ok(ScenarioAction::HostTool {
        name: fields.required("name", non_empty_text)?,
        args: fields.get("args").map_or(Value::Null, YamlNode::to_value),
        kind: fields
            .optional("kind", parse_typed)?
            .unwrap_or(ToolKind::Other),
    })
}

pub(super) fn call(node: &YamlNode) -> Result<ScenarioAction, YamlFault> {
    let fields = MapFields::parse(node, "host_call", "op, args, kind")?;
    let op = fields.required("op", non_empty_text)?;
    let usual = match op.as_str() {
        "process.exec" => ToolKind::Execute,
        op if READING.contains(&op) => ToolKind::Read,
        _ => ToolKind::Other,
    };
    let args = fields.get("args").map(YamlNode::to_value);
    Ok(ScenarioAction::HostCall {
        op,
        args: args.unwrap_or_else(|| Value::Object(Map::new())),
        kind: fields.optional("kind", parse_typed)?.unwrap_or(usual),
    })
}

pub(super) fn write(node: &YamlNode) -> Result<ScenarioAction, YamlFault> {
    let fields = MapFields::parse(node, "write", "path, text")?;
    Ok(ScenarioAction::Write {
        path: fields.required("path", non_empty_text)?,
        text: fields.required("text", text)?,
    })
}

pub(super) fn run(node: &YamlNode) -> Result<ScenarioAction, YamlFault> {
    let fields = MapFields::parse(node, "run", "command")?;
    Ok(ScenarioAction::Run(
        fields.required("command", non_empty_text)?,
    ))
}
