//! Tests of the conversion of tool results.

use serde_json::json;

use super::*;

fn convert(result: Value) -> Result<ToolOutput, ToolError> {
    let result: CallToolResult = serde_json::from_value(result).unwrap();
    convert_result("everything", result, &Secrets::default())
}

fn shown_blocks(output: &ToolOutput) -> Vec<ContentBlock> {
    let content = output.content.iter().flatten();
    content
        .map(|content| match content {
            ToolContent::Content { content } => content.clone(),
            other => panic!("{other:?}"),
        })
        .collect()
}

#[test]
fn every_kind_of_content_is_shown() {
    let output = convert(json!({"content": [
        {"type": "text", "text": "hello"},
        {"type": "image", "mimeType": "image/png", "data": "aGk="},
        {"type": "audio", "mimeType": "audio/wav", "data": "aGk="},
        {"type": "resource", "resource": {"uri": "file:///a", "mimeType": "text/plain", "text": "in a"}},
        {"type": "resource", "resource": {"uri": "file:///b", "blob": "aGk="}},
        {"type": "resource_link", "uri": "file:///c", "name": "c", "size": 3},
    ]}));
    let output = output.unwrap();
    let kinds: Vec<_> = shown_blocks(&output)
        .iter()
        .map(ContentBlock::kind)
        .collect();
    let expected = [
        "text",
        "image",
        "audio",
        "resource",
        "resource",
        "resource_link",
    ];
    assert_eq!(kinds, expected);
    assert_eq!(output.raw, Some(json!("hello\nin a\nfile:///c")));
    let executor = ToolSource::Mcp("everything".to_owned()).executor();
    assert_eq!(output.executor, Some(executor));
}

#[test]
fn structured_content_becomes_the_raw_value() {
    let sum = json!({"sum": 3});
    let output =
        convert(json!({"content": [{"type": "text", "text": "3"}], "structuredContent": sum}));
    let output = output.unwrap();
    assert_eq!(output.raw, Some(sum.clone()));
    assert_eq!(shown_blocks(&output), [ContentBlock::text("3")]);
    let output = convert(json!({"content": [], "structuredContent": sum})).unwrap();
    assert_eq!(shown_blocks(&output), [ContentBlock::text(r#"{"sum":3}"#)]);
}

#[test]
fn error_message_names_the_server() {
    let told = |result| {
        let error = convert(result).unwrap_err();
        assert_eq!(error.category, ErrorCategory::McpServerError);
        error.message
    };
    let text = json!([{"type": "text", "text": "no such file"}]);
    assert_eq!(
        told(json!({"content": text, "isError": true})),
        "MCP server `everything`: no such file"
    );
    assert_eq!(
        told(json!({"content": [], "isError": true})),
        "MCP server `everything`: the tool failed without giving a reason"
    );
}

#[test]
fn oversized_output_is_cut_and_marked() {
    let long = "x".repeat(MOST_TEXT);
    let output = convert(json!({"content": [
        {"type": "text", "text": format!("{long}y")},
        {"type": "text", "text": "more"},
        {"type": "image", "mimeType": "image/png", "data": "A".repeat(MOST_DATA + 1)},
        {"type": "image", "mimeType": "image/png", "data": "aGk="},
    ]}));
    let output = output.unwrap();
    let shown = shown_blocks(&output);
    assert_eq!(shown[0], ContentBlock::text(format!("{long}…")));
    assert_eq!(shown[1], ContentBlock::text("…"));
    assert_eq!(
        shown[2],
        ContentBlock::text("[an image of 4097 KiB, which is not shown]")
    );
    assert_eq!(shown[3].kind(), "image");
    let many = vec![json!({"type": "text", "text": "a"}); MOST_BLOCKS + 1];
    let output = convert(json!({"content": many})).unwrap();
    assert_eq!(shown_len(&output), MOST_BLOCKS + 1);
    let huge = json!({"content": [], "structuredContent": {"a": "x".repeat(MOST_TEXT)}});
    assert_eq!(convert(huge).unwrap().raw, None);
}

fn shown_len(output: &ToolOutput) -> usize {
    shown_blocks(output).len()
}
