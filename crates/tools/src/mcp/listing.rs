//! Lists the tools of a server page by page, within limits.

use harn_model::{SideEffectLevel, ToolAnnotations, ToolKind};
use rmcp::model::{
    ClientRequest, ListToolsRequest, PaginatedRequestParams, ServerResult, Tool,
    ToolAnnotations as Hints,
};
use serde_json::Value;

use super::{
    connection_error::McpConnectionError,
    link::{McpLink, McpRequestError},
};
use crate::markdown::cut;

const MOST_PAGES: usize = 100;
const MOST_TOOLS: usize = 1000;
/// How many bytes the descriptions and schemas of all tools may take together.
const MOST_BYTES: usize = 4 * 1024 * 1024;
const LONGEST_DESCRIPTION: usize = 16 * 1024;

/// A tool as its server describes it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct OfferedTool {
    /// The server's own name for the tool.
    pub(super) name: String,
    pub(super) description: String,
    pub(super) schema: Value,
    pub(super) annotations: ToolAnnotations,
}

/// The tools of one server.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ToolListing {
    pub(super) tools: Vec<OfferedTool>,
    /// Whether the server has more tools than the limits allow.
    pub(super) cut: bool,
}

/// Requests all tools. Requests to a server that is not `is_local` count as leaving this machine.
pub(super) async fn list_tools(
    link: &McpLink,
    is_local: bool,
) -> Result<ToolListing, McpConnectionError> {
    let mut listed = ToolListing::default();
    let mut bytes = 0;
    let mut cursor = None;
    for _ in 0..MOST_PAGES {
        let params = PaginatedRequestParams::default().with_cursor(cursor);
        let request = ListToolsRequest::with_param(params);
        let answer = link.ask(ClientRequest::ListToolsRequest(request)).await;
        let page = match answer {
            Ok(ServerResult::ListToolsResult(page)) => page,
            Ok(_) => {
                let why = "its answer to `tools/list` has the wrong type";
                return Err(McpConnectionError::Ended(why.to_owned()));
            }
            Err(McpRequestError::Refused(error)) => {
                return Err(McpConnectionError::Refused(error.message.into_owned()));
            }
            Err(McpRequestError::NotSent(why)) => return Err(McpConnectionError::Unreachable(why)),
            Err(McpRequestError::Gone) => {
                return Err(McpConnectionError::Ended("it disconnected".to_owned()));
            }
        };
        for tool in page.tools {
            let offered = offered_tool(tool, is_local);
            bytes += offered.description.len() + offered.schema.to_string().len();
            if listed.tools.len() == MOST_TOOLS || bytes > MOST_BYTES {
                listed.cut = true;
                return Ok(listed);
            }
            listed.tools.push(offered);
        }
        cursor = page.next_cursor;
        if cursor.is_none() {
            return Ok(listed);
        }
    }
    listed.cut = true;
    Ok(listed)
}

fn offered_tool(tool: Tool, is_local: bool) -> OfferedTool {
    let hints = tool.annotations.unwrap_or_default();
    let described = tool.description.map(|text| text.into_owned());
    let titled = || tool.title.or_else(|| hints.title.clone());
    let description = described.or_else(titled).unwrap_or_default();
    let schema = std::sync::Arc::unwrap_or_clone(tool.input_schema);
    OfferedTool {
        name: tool.name.into_owned(),
        description: cut(description, LONGEST_DESCRIPTION),
        schema: Value::Object(schema),
        annotations: annotations_from_hints(&hints, is_local),
    }
}

/// Maps a server's hints about a tool to annotations. Hints are unverified: rules and modes decide what they are
/// worth. A missing hint counts as the worst case, a write that reaches other machines, as MCP also defines.
fn annotations_from_hints(hints: &Hints, is_local: bool) -> ToolAnnotations {
    let reads = hints.read_only_hint == Some(true);
    let closed = is_local && hints.open_world_hint == Some(false);
    let (kind, side_effect_level) = match (reads, closed) {
        (true, true) => (ToolKind::Read, SideEffectLevel::ReadOnly),
        (true, false) => (ToolKind::Fetch, SideEffectLevel::Network),
        (false, true) => (ToolKind::Other, SideEffectLevel::WorkspaceWrite),
        (false, false) => (ToolKind::Other, SideEffectLevel::Network),
    };
    ToolAnnotations {
        kind,
        side_effect_level,
        ..ToolAnnotations::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_hints_count_as_a_network_write() {
        use SideEffectLevel::{Network, ReadOnly, WorkspaceWrite};
        for (reads, open, kind, level) in [
            (None, None, ToolKind::Other, Network),
            (Some(false), Some(true), ToolKind::Other, Network),
            (None, Some(false), ToolKind::Other, WorkspaceWrite),
            (Some(true), None, ToolKind::Fetch, Network),
            (Some(true), Some(false), ToolKind::Read, ReadOnly),
            (Some(true), Some(true), ToolKind::Fetch, Network),
        ] {
            let hints = Hints::from_raw(None, reads, None, None, open);
            let known = annotations_from_hints(&hints, true);
            assert_eq!((known.kind, known.side_effect_level), (kind, level));
            // A request to another machine leaves this one, whatever the hints claim.
            let known = annotations_from_hints(&hints, false);
            assert_eq!(known.side_effect_level, Network);
            assert_eq!(known.kind == ToolKind::Fetch, reads == Some(true));
        }
    }
}
