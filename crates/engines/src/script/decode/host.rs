//! Steps that use files, commands and the host's own tools.

use harn_model::ToolKind;
use harn_tools::yaml::{Fault, Node};
use serde_json::{Map, Value};

use super::{Fields, filled, text};
use crate::script::{scenario::Act, typed::typed};

/// Operations of a host that change nothing; whatever else it is asked for may.
const READING: [&str; 3] = [
    "process.list_shells",
    "process.get_default_shell",
    "process.shell_invocation",
];

pub(super) fn tool(node: &Node) -> Result<Act, Fault> {
    let fields = Fields::of(node, "host_tool", "name, args, kind")?;
    Ok(Act::HostTool {
        name: fields.required("name", filled)?,
        args: fields.get("args").map_or(Value::Null, Node::to_value),
        kind: fields.optional("kind", typed)?.unwrap_or(ToolKind::Other),
    })
}

pub(super) fn call(node: &Node) -> Result<Act, Fault> {
    let fields = Fields::of(node, "host_call", "op, args, kind")?;
    let op = fields.required("op", filled)?;
    let usual = match op.as_str() {
        "process.exec" => ToolKind::Execute,
        op if READING.contains(&op) => ToolKind::Read,
        _ => ToolKind::Other,
    };
    let args = fields.get("args").map(Node::to_value);
    Ok(Act::HostCall {
        op,
        args: args.unwrap_or_else(|| Value::Object(Map::new())),
        kind: fields.optional("kind", typed)?.unwrap_or(usual),
    })
}

pub(super) fn write(node: &Node) -> Result<Act, Fault> {
    let fields = Fields::of(node, "write", "path, text")?;
    Ok(Act::Write {
        path: fields.required("path", filled)?,
        text: fields.required("text", text)?,
    })
}

pub(super) fn run(node: &Node) -> Result<Act, Fault> {
    let fields = Fields::of(node, "run", "command")?;
    Ok(Act::Run(fields.required("command", filled)?))
}
