//! Requests as the draft describes them and our extension completes them, for their schema alone: a derived
//! reader could not say where a request is wrong. A test holds the schema against what `from_wire` takes.

#![allow(dead_code, reason = "only its schema is of use")]

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde_json::{Map, Value};

/// A request. Whatever else it holds, at any level, is ignored.
#[derive(JsonSchema)]
#[schemars(rename = "OpenHarnessRequest", extend("not" = {"required": ["response"]}))]
pub(crate) struct OpenHarnessRequest {
    /// A semantic version of the first major line.
    #[schemars(regex(pattern = r"^0*1\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$"))]
    protocol_version: String,
    /// Names the request: what is sent again under the same id gets the same answer. Echoed.
    #[schemars(length(min = 1, max = 256))]
    request_id: Option<String>,
    /// Anything that helps to find it in logs. Echoed, and not looked at.
    #[schemars(length(min = 1, max = 256))]
    correlation_id: Option<String>,
    /// What the Shell can do and wants, by the names of capabilities. Unknown names are ignored, and so is
    /// a value that says no.
    capabilities: Option<Map<String, Value>>,
    request: RequestPayload,
}

/// What is asked.
#[derive(JsonSchema)]
#[schemars(rename = "RequestPayload")]
struct RequestPayload {
    /// References of the Shell's own. Who asks is told from the transport; nothing here is trusted, kept or
    /// repeated.
    auth: Option<RequestAuth>,
    context: Option<RequestContext>,
    /// Not looked at: what is ours stands in the extensions of the context.
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

/// What is wanted, where, and by whom.
#[derive(JsonSchema)]
#[schemars(rename = "Context")]
struct RequestContext {
    /// The conversation; one of its own where there is none.
    #[schemars(length(max = 256))]
    session_id: Option<String>,
    /// A thread of it.
    #[schemars(length(max = 256))]
    conversation_id: Option<String>,
    /// What the user wants, in words or as an object that the agent gets as JSON. Needed where neither a
    /// continuation nor a hint says what to do.
    user_intent: Option<TextOrObject>,
    /// Hints for the agent; whatever it holds is passed on.
    task_hint: Option<TaskHint>,
    /// The run that it goes on with, as `response.continuation` named it.
    continuation: Option<RequestContinuation>,
    /// What the Shell sees around it; whatever it holds is passed on, unless it is secret.
    environment_state: Option<EnvironmentState>,
    /// References to what the user points at.
    attachments: Option<Vec<AttachmentReference>>,
    shell: Option<ShellIdentity>,
    extensions: Option<RequestExtensions>,
}

/// Words, or something structured.
#[derive(JsonSchema)]
#[schemars(untagged)]
enum TextOrObject {
    /// Words.
    Text(String),
    /// Anything else that can be said.
    Object(Map<String, Value>),
}

/// Hints for the agent.
#[derive(JsonSchema)]
struct TaskHint {
    sop_id: Option<String>,
    plugin_id: Option<String>,
    business_key: Option<String>,
}

/// A place in a run. One that names neither run nor token is none.
#[derive(JsonSchema)]
#[schemars(rename = "RequestContinuation")]
struct RequestContinuation {
    run_id: Option<String>,
    /// A workflow; looked at where nothing else says what to do.
    sop_id: Option<String>,
    continuation_token: Option<String>,
}

/// What the Shell sees around it.
#[derive(JsonSchema)]
struct EnvironmentState {
    privacy_tier: Option<PrivacyTier>,
    os: Option<String>,
    active_window: Option<String>,
    screen_hash: Option<String>,
}

/// Who may see it.
#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
enum PrivacyTier {
    /// Anybody: passed on to the agent, and kept with its session.
    Public,
    /// The same; neither is logged.
    Restricted,
    /// Nobody: dropped on receipt.
    Secret,
}

/// A reference to a file, a picture or a card: at least one of `ref_id`, `uri` and `asset_id`. One that has none, or
/// whose reference is content or longer than 4096 bytes, is left out and denied.
#[derive(JsonSchema)]
#[schemars(rename = "Attachment")]
struct AttachmentReference {
    /// Of an upload.
    ref_id: Option<String>,
    /// Where it can be had; no `data:` address.
    uri: Option<String>,
    /// Of an asset.
    asset_id: Option<String>,
    mime_type: Option<String>,
    filename: Option<String>,
    size_bytes: Option<u64>,
}

/// What the Shell is.
#[derive(JsonSchema)]
#[schemars(rename = "Shell")]
struct ShellIdentity {
    /// Decides how text is written for it.
    #[schemars(length(min = 1))]
    shell_kind: Option<String>,
    shell_version: Option<String>,
    /// BCP 47.
    locale: Option<String>,
    /// IANA.
    timezone: Option<String>,
}

/// Ours, and those of others, which are ignored.
#[derive(JsonSchema)]
#[schemars(rename = "RequestExtensions")]
struct RequestExtensions {
    #[schemars(rename = "dev.harn")]
    ours: Option<HarnRequestExtension>,
    #[serde(flatten)]
    others: BTreeMap<String, Value>,
}

/// `request.context.extensions["dev.harn"]`: what a person decided about the run that the continuation names.
#[derive(JsonSchema)]
#[schemars(rename = "HarnRequestExtension")]
pub(crate) struct HarnRequestExtension {
    /// Decisions, by the ids of `request_approval` directives and of questions that are decided.
    approval: Option<OneOrMore<RequestApproval>>,
    /// Answers in words, by the ids of `dev.harn.question` directives.
    answer: Option<OneOrMore<RequestAnswer>>,
    /// Stops the run.
    cancel: Option<bool>,
}

/// One, or several.
#[derive(JsonSchema)]
#[schemars(untagged)]
enum OneOrMore<T> {
    /// One.
    One(T),
    /// Several.
    More(Vec<T>),
}

/// A decision.
#[derive(JsonSchema)]
#[schemars(rename = "RequestApproval")]
struct RequestApproval {
    /// That of the directive.
    #[schemars(length(min = 1, max = 256))]
    id: String,
    decision: RequestDecision,
}

/// What was decided.
#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
#[schemars(rename = "Decided")]
enum RequestDecision {
    /// It may be done, this time.
    Once,
    /// It may be done, from now on; only this time where that cannot be remembered.
    Always,
    /// It may not be done.
    Reject,
}

/// An answer in words.
#[derive(JsonSchema)]
#[schemars(rename = "RequestAnswer")]
struct RequestAnswer {
    /// That of the directive.
    #[schemars(length(min = 1, max = 256))]
    id: String,
    text: String,
}
