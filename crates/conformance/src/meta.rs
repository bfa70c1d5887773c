//! Checks the content of `_meta.harn` in standard messages against our schemas.

use std::borrow::Cow;

use serde_json::Value;

use super::{
    MessageFindings,
    extensions::{REPLAYED, published_schema, without_members},
    permission,
    shape::LazySchema,
};

static TOOL: LazySchema = LazySchema::extension(|| published_schema("tool-lifecycle-meta"));
static PLAN: LazySchema = LazySchema::extension(|| published_schema("plan-meta"));
static CONTENT: LazySchema = LazySchema::extension(|| published_schema("content-meta"));
static USER: LazySchema = LazySchema::extension(|| published_schema("user-message-meta"));
static STREAM: LazySchema = LazySchema::extension(|| published_schema("stream-meta"));
static CLIENT: LazySchema = LazySchema::extension(|| published_schema("client-capabilities-meta"));
static AGENT: LazySchema = LazySchema::extension(|| published_schema("initialize-meta"));
/// The contract's steering members in the result of `initialize`, beside ACP's members.
static SESSION: LazySchema = LazySchema::extension(|| published_schema("session-capabilities"));

static MCP: LazySchema = LazySchema::extension(|| published_schema("session-mcp-meta"));

const SESSION_PLACE: &str = "/agentCapabilities/session";

/// Returns the result without the member that the contract adds among ACP's.
pub(super) fn without_contract_members<'a>(method: &str, result: &'a Value) -> Cow<'a, Value> {
    if method != "initialize" || result.pointer(SESSION_PLACE).is_none() {
        return Cow::Borrowed(result);
    }
    let mut plain = result.clone();
    if let Some(Value::Object(members)) = plain.get_mut("agentCapabilities") {
        members.remove("session");
    }
    Cow::Owned(plain)
}

/// The JSON pointer to a `_meta.harn`, and its schema.
type MetaSchema = (&'static str, &'static LazySchema);

pub(super) fn check_params(method: &str, params: &Value) -> MessageFindings {
    let places: &[MetaSchema] = match method {
        "initialize" => &[("/clientCapabilities/_meta/harn", &CLIENT)],
        permission::METHOD => &[
            ("/_meta/harn", &permission::META),
            ("/toolCall/_meta/harn", &TOOL),
        ],
        "session/update" => match params["update"]["sessionUpdate"].as_str() {
            Some("tool_call" | "tool_call_update") => {
                &[("/_meta/harn", &STREAM), ("/update/_meta/harn", &TOOL)]
            }
            Some("plan") => &[("/_meta/harn", &STREAM), ("/update/_meta/harn", &PLAN)],
            Some("agent_message_chunk") => &[
                ("/_meta/harn", &STREAM),
                ("/update/content/_meta/harn", &CONTENT),
            ],
            Some("user_message" | "user_message_chunk") => {
                &[("/_meta/harn", &STREAM), ("/update/_meta/harn", &USER)]
            }
            // An update that carries an extension has that extension's schema.
            Some("session_info_update")
                if params.pointer("/update/_meta/harn/sessionUpdate").is_none() =>
            {
                &[("/_meta/harn", &STREAM), ("/update/_meta/harn", &MCP)]
            }
            _ => &[("/_meta/harn", &STREAM)],
        },
        _ => &[],
    };
    check(places, params, "params")
}

pub(super) fn check_result(method: &str, result: &Value) -> MessageFindings {
    let places: &[MetaSchema] = match method {
        "initialize" => &[
            ("/agentCapabilities/_meta/harn", &AGENT),
            (SESSION_PLACE, &SESSION),
        ],
        "session/fork" | "session/load" | "session/new" | "session/resume" => {
            &[("/_meta/harn", &MCP)]
        }
        _ => &[],
    };
    check(places, result, "result")
}

fn check(places: &[MetaSchema], value: &Value, name: &str) -> MessageFindings {
    let mut found = MessageFindings::new();
    for (pointer, shape) in places {
        if let Some(harn) = value.pointer(pointer) {
            found.extend(shape.check(
                &without_members(harn, &[REPLAYED]),
                &format!("{name}{pointer}"),
            ));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_schema_is_published_and_compiles() {
        for shape in [
            &TOOL, &PLAN, &CONTENT, &USER, &CLIENT, &AGENT, &SESSION, &MCP,
        ] {
            assert!(shape.is_known(), "one is not published any more");
        }
    }
}
