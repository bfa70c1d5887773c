//! Steps that use files, commands and the host's own tools.

use harn_model::ToolKind;
use harn_tools::yaml::{Fault, Node};
use serde_json::{Map, Value};

use super::{fields, filled, required, text};
use crate::script::{scenario::Act, typed::typed};

/// Operations of a host that change nothing; whatever else it is asked for may.
const READING: [&str; 3] = [
    "process.list_shells",
    "process.get_default_shell",
    "process.shell_invocation",
];

pub(super) fn tool(node: &Node) -> Result<Act, Fault> {
    const WHAT: &str = "host_tool";
    let [name, args, kind] = fields(node, WHAT, ["name", "args", "kind"])?;
    Ok(Act::HostTool {
        name: filled(required(node, WHAT, "name", name)?, "name")?,
        args: args.map_or(Value::Null, Node::to_value),
        kind: self::kind(kind)?.unwrap_or(ToolKind::Other),
    })
}

pub(super) fn call(node: &Node) -> Result<Act, Fault> {
    const WHAT: &str = "host_call";
    let [op, args, kind] = fields(node, WHAT, ["op", "args", "kind"])?;
    let op = filled(required(node, WHAT, "op", op)?, "op")?;
    let usual = match op.as_str() {
        "process.exec" => ToolKind::Execute,
        op if READING.contains(&op) => ToolKind::Read,
        _ => ToolKind::Other,
    };
    Ok(Act::HostCall {
        op,
        args: args.map_or_else(|| Value::Object(Map::new()), Node::to_value),
        kind: self::kind(kind)?.unwrap_or(usual),
    })
}

fn kind(node: Option<&Node>) -> Result<Option<ToolKind>, Fault> {
    node.map(|node| typed(node, "kind")).transpose()
}

pub(super) fn write(node: &Node) -> Result<Act, Fault> {
    const WHAT: &str = "write";
    let [path, content] = fields(node, WHAT, ["path", "text"])?;
    Ok(Act::Write {
        path: filled(required(node, WHAT, "path", path)?, "path")?,
        text: text(required(node, WHAT, "text", content)?, "text")?,
    })
}

pub(super) fn run(node: &Node) -> Result<Act, Fault> {
    const WHAT: &str = "run";
    let [command] = fields(node, WHAT, ["command"])?;
    let command = filled(required(node, WHAT, "command", command)?, "command")?;
    Ok(Act::Run(command))
}
