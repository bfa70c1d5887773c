//! Requests as the draft describes them, with our extension, only for their schema: a derived parser could
//! not report where a request is wrong. A test compares the schema with what `from_wire` accepts.

#![allow(dead_code, reason = "only its schema is of use")]

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde_json::{Map, Value};

/// A request. Unknown members are ignored at every level.
#[derive(JsonSchema)]
#[schemars(rename = "OpenHarnessRequest", extend("not" = {"required": ["response"]}))]
pub(crate) struct OpenHarnessRequest {
    /// A semantic version with the major version 1.
    #[schemars(regex(pattern = r"^0*1\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$"))]
    protocol_version: String,
    /// The id of the request: a repeat with the same id gets the same response. Echoed.
    #[schemars(length(min = 1, max = 256))]
    request_id: Option<String>,
    /// Any text that helps to find the request in logs. Echoed, and not interpreted.
    #[schemars(length(min = 1, max = 256))]
    correlation_id: Option<String>,
    /// The capabilities that the Shell has and wants, by name. Unknown names are ignored, and so is a value
    /// that means "no".
    capabilities: Option<Map<String, Value>>,
    request: RequestPayload,
}

/// The payload of a request.
#[derive(JsonSchema)]
#[schemars(rename = "RequestPayload")]
struct RequestPayload {
    /// References of the Shell's own. The transport identifies the sender; nothing here is trusted, stored or
    /// repeated.
    auth: Option<RequestAuth>,
    context: Option<RequestContext>,
    /// Not interpreted: our members are in the extensions of the context.
    extensions: Option<Map<String, Value>>,
}

/// References of the Shell's own.
#[derive(JsonSchema)]
#[schemars(rename = "Auth")]
struct RequestAuth {
    tenant_id: Option<String>,
    credential_ref: Option<String>,
    session_id: Option<String>,
}

/// What the user wants, and in which surroundings.
#[derive(JsonSchema)]
#[schemars(rename = "Context")]
struct RequestContext {
    /// The conversation; without one, the request gets its own.
    #[schemars(length(max = 256))]
    session_id: Option<String>,
    /// A thread of the conversation.
    #[schemars(length(max = 256))]
    conversation_id: Option<String>,
    /// What the user wants, as text or as an object that the agent receives as JSON. Required if neither a
    /// continuation nor a hint names a task.
    user_intent: Option<TextOrObject>,
    /// Hints for the agent; all members are passed on, except secret ones.
    task_hint: Option<TaskHint>,
    /// The run to continue, as in `response.continuation`.
    continuation: Option<RequestContinuation>,
    /// The surroundings that the Shell sees; all members are passed on, except secret ones.
    environment_state: Option<EnvironmentState>,
    /// References to the user's attachments.
    attachments: Option<Vec<AttachmentReference>>,
    shell: Option<ShellIdentity>,
    extensions: Option<RequestExtensions>,
}

/// A text, or a structured value.
#[derive(JsonSchema)]
#[schemars(untagged)]
enum TextOrObject {
    /// The value as text.
    Text(String),
    /// The value as an object.
    Object(Map<String, Value>),
}

/// Hints for the agent.
#[derive(JsonSchema)]
struct TaskHint {
    sop_id: Option<String>,
    plugin_id: Option<String>,
    business_key: Option<String>,
}

/// A position in a run, if it names a run or has a token.
#[derive(JsonSchema)]
#[schemars(rename = "RequestContinuation")]
struct RequestContinuation {
    run_id: Option<String>,
    /// A workflow; used if nothing else names a task.
    sop_id: Option<String>,
    continuation_token: Option<String>,
}

/// The surroundings that the Shell sees.
#[derive(JsonSchema)]
struct EnvironmentState {
    privacy_tier: Option<PrivacyTier>,
    os: Option<String>,
    active_window: Option<String>,
    screen_hash: Option<String>,
}

/// Who may see the surroundings.
#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
enum PrivacyTier {
    /// The agent receives them, and its session stores them.
    Public,
    /// Same as `public`; neither is logged.
    Restricted,
    /// The server drops them on receipt.
    Secret,
}

/// A reference to a file, an image or a card: at least one of `ref_id`, `uri` and `asset_id`. An attachment
/// without one, or whose reference is content or longer than 4096 bytes, is left out and denied.
#[derive(JsonSchema)]
#[schemars(rename = "Attachment")]
struct AttachmentReference {
    /// The id of an upload.
    ref_id: Option<String>,
    /// The address of the content; not a `data:` address.
    uri: Option<String>,
    /// The id of an asset.
    asset_id: Option<String>,
    mime_type: Option<String>,
    filename: Option<String>,
    size_bytes: Option<u64>,
}

/// The identity of the Shell.
#[derive(JsonSchema)]
#[schemars(rename = "Shell")]
struct ShellIdentity {
    /// Determines the style of texts for the Shell.
    #[schemars(length(min = 1))]
    shell_kind: Option<String>,
    shell_version: Option<String>,
    /// A BCP 47 language tag.
    locale: Option<String>,
    /// An IANA time zone name.
    timezone: Option<String>,
}

/// Our extension, and those of others, which are ignored.
#[derive(JsonSchema)]
#[schemars(rename = "RequestExtensions")]
struct RequestExtensions {
    #[schemars(rename = "dev.harn")]
    ours: Option<HarnRequestExtension>,
    #[serde(flatten)]
    others: BTreeMap<String, Value>,
}

/// `request.context.extensions["dev.harn"]`: a person's decisions about the run in the continuation.
#[derive(JsonSchema)]
#[schemars(rename = "HarnRequestExtension")]
pub(crate) struct HarnRequestExtension {
    /// Decisions, by the ids of `request_approval` directives and of questions that need a decision.
    approval: Option<OneOrMore<RequestApproval>>,
    /// Answers as text, by the ids of `dev.harn.question` directives.
    answer: Option<OneOrMore<RequestAnswer>>,
    /// Whether to stop the run.
    cancel: Option<bool>,
}

/// One value, or several.
#[derive(JsonSchema)]
#[schemars(untagged)]
enum OneOrMore<T> {
    /// A single value.
    One(T),
    /// A list of values.
    More(Vec<T>),
}

/// A decision about a directive.
#[derive(JsonSchema)]
#[schemars(rename = "RequestApproval")]
struct RequestApproval {
    /// The id of the directive.
    #[schemars(length(min = 1, max = 256))]
    id: String,
    decision: RequestDecision,
}

/// The decision of a person.
#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
#[schemars(rename = "Decided")]
enum RequestDecision {
    /// Allow the action once.
    Once,
    /// Allow the action from now on; only once if that cannot be remembered.
    Always,
    /// Reject the action.
    Reject,
}

/// An answer as text.
#[derive(JsonSchema)]
#[schemars(rename = "RequestAnswer")]
struct RequestAnswer {
    /// The id of the directive.
    #[schemars(length(min = 1, max = 256))]
    id: String,
    text: String,
}
