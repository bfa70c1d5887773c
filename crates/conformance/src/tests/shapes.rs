//! `acp-shapes.json` matches the types of the SDK, without their descriptions.

use std::fmt::Write as _;

use agent_client_protocol::v1::schema as acp;
use expect_test::expect_file;
use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value};

/// The contract's message for a whole user message, which ACP has from version 2 on.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "only its schema is used")]
struct UserMessage {
    session_update: String,
    message_id: String,
    content: Vec<acp::ContentBlock>,
    #[serde(rename = "_meta")]
    meta: Option<Map<String, Value>>,
}

/// Returns the definitions of these types and of all types they need, sorted.
macro_rules! definitions {
    ($($ty:ident)*) => {{
        let mut generator = SchemaGenerator::new(SchemaSettings::draft2020_12());
        generator.subschema_for::<UserMessage>();
        $(generator.subschema_for::<acp::$ty>();)*
        generator.take_definitions(true)
    }};
}

#[test]
fn shapes_match_the_sdk() {
    let mut definitions: Vec<_> = definitions! {
        ArchiveSessionRequest ArchiveSessionResponse
        AuthenticateRequest AuthenticateResponse
        CancelNotification
        CancelRequestNotification
        CloseSessionRequest CloseSessionResponse
        CompleteElicitationNotification
        CreateElicitationRequest CreateElicitationResponse
        CreateTerminalRequest CreateTerminalResponse
        DeleteSessionRequest DeleteSessionResponse
        Error
        ForkSessionRequest ForkSessionResponse
        InitializeRequest InitializeResponse
        KillTerminalRequest KillTerminalResponse
        ListSessionsRequest ListSessionsResponse
        LoadSessionRequest LoadSessionResponse
        LogoutRequest LogoutResponse
        NewSessionRequest NewSessionResponse
        PromptRequest PromptResponse
        ReadTextFileRequest ReadTextFileResponse
        ReleaseTerminalRequest ReleaseTerminalResponse
        RequestPermissionRequest RequestPermissionResponse
        ResumeSessionRequest ResumeSessionResponse
        SessionNotification
        SetSessionConfigOptionRequest SetSessionConfigOptionResponse
        SetSessionModeRequest SetSessionModeResponse
        SetSessionTitleRequest SetSessionTitleResponse
        TerminalOutputRequest TerminalOutputResponse
        UnarchiveSessionRequest UnarchiveSessionResponse
        WaitForTerminalExitRequest WaitForTerminalExitResponse
        WriteTextFileRequest WriteTextFileResponse
    }
    .into_iter()
    .collect();
    definitions.sort_by(|(one, _), (other, _)| one.cmp(other));
    let mut text = String::from("{\n");
    for (at, (name, schema)) in definitions.iter_mut().enumerate() {
        strip_annotations(schema);
        let comma = if at == 0 { "" } else { ",\n" };
        write!(text, "{comma}\"{name}\": {schema}").unwrap();
    }
    text.push_str("\n}\n");
    // After an update of the SDK: UPDATE_EXPECT=1 cargo test -p harn-conformance shapes
    expect_file!["../acp-shapes.json"].assert_eq(&text);
}

/// Reduces a schema to the keywords that validate a value.
fn strip_annotations(schema: &mut Value) {
    let Value::Object(members) = schema else {
        return;
    };
    members.retain(|keyword, _| match keyword.as_str() {
        "$ref"
        | "additionalProperties"
        | "allOf"
        | "anyOf"
        | "const"
        | "enum"
        | "items"
        | "maximum"
        | "maxItems"
        | "maxLength"
        | "minItems"
        | "minLength"
        | "minimum"
        | "not"
        | "oneOf"
        | "pattern"
        | "properties"
        | "required"
        | "type"
        | "unevaluatedProperties" => true,
        "default" | "deprecated" | "description" | "discriminator" | "format" | "title" => false,
        other if other.starts_with("x-") => false,
        other => panic!("say above whether a value is held against `{other}`"),
    });
    for (keyword, inner) in members.iter_mut() {
        match (keyword.as_str(), inner) {
            ("properties", Value::Object(all)) => all.values_mut().for_each(strip_annotations),
            ("additionalProperties" | "items" | "not" | "unevaluatedProperties", one) => {
                strip_annotations(one)
            }
            ("allOf" | "anyOf" | "oneOf", Value::Array(all)) => {
                all.iter_mut().for_each(strip_annotations)
            }
            _ => {}
        }
    }
}
