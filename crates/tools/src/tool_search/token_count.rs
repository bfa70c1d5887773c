//! How much of a model's context tools take, near enough to decide by.

use harn_model::ToolSpec;
use serde::Serialize;
use serde_json::Value;

use crate::catalogue::json_length;

/// A tool as a model is told of it.
#[derive(Serialize)]
struct ToolDeclaration<'a> {
    name: &'a str,
    description: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<&'a Value>,
}

/// About how many tokens a tool takes: a quarter of the bytes of its JSON, and one.
#[must_use]
pub fn tool_tokens(tool: &ToolSpec) -> u64 {
    let told = ToolDeclaration {
        name: &tool.name,
        description: &tool.description,
        parameters: tool.schema.as_ref(),
    };
    json_length(&told) / 4 + 1
}

/// About how many tokens all of them take.
#[must_use]
pub fn catalogue_tokens(tools: &[ToolSpec]) -> u64 {
    tools.iter().map(tool_tokens).sum()
}

/// Whether tools would fill more than a tenth of the context, so that they are better searched.
#[must_use]
pub fn needed(catalogue_tokens: u64, context_tokens: u64) -> bool {
    catalogue_tokens > context_tokens / 10
}
