//! Estimates how much of a model's context the tools take.

use harn_model::ToolSpec;
use serde::Serialize;
use serde_json::Value;

use crate::catalogue::json_length;

/// A tool in the form that a model receives.
#[derive(Serialize)]
struct ToolDeclaration<'a> {
    name: &'a str,
    description: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<&'a Value>,
}

/// Estimates the tokens of a tool: a quarter of the bytes of its JSON, plus one.
pub fn tool_tokens(tool: &ToolSpec) -> u64 {
    let told = ToolDeclaration {
        name: &tool.name,
        description: &tool.description,
        parameters: tool.schema.as_ref(),
    };
    json_length(&told) / 4 + 1
}

/// Estimates the tokens of all tools.
pub fn catalogue_tokens(tools: &[ToolSpec]) -> u64 {
    tools.iter().map(tool_tokens).sum()
}

/// Returns whether the tools would fill more than a tenth of the context, so that tool search pays off.
pub fn is_search_needed(catalogue_tokens: u64, context_tokens: u64) -> bool {
    catalogue_tokens > context_tokens / 10
}
