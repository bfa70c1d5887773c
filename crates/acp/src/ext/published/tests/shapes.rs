//! Types that only the published schemas need: the methods by name, and shapes that are read without a type.

use harn_model::{ReminderPropagation, RoleHint};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::{
    EventId,
    ext::{
        live::{
            AttachParams, AttachmentResult, DetachParams, HeartbeatParams, LiveClients,
            TakeoverParams,
        },
        sender::{NonBlankName, SenderParams},
        steering::{
            CancelParams, CancelResult, InjectChangeResult, InjectParams, InjectResult,
            PendingInjections, RemindResult, ReplaceInjectParams, ResumeParams, ResumeResult,
            RevokeInjectParams, RevokeReminderParams, RevokeReminderResult, SessionParams,
            SteeringParams, SteeringResult,
        },
    },
};

/// `_meta.harn` of the params of a line that has an id.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub(super) struct StreamMeta {
    /// The place of the line in its session's stream: what to send as `lastEventId` to go on after it.
    #[schemars(with = "String")]
    event_id: EventId,
}

/// What each method takes.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is of use")]
pub(super) struct SteeringMethodParams {
    #[serde(rename = "session/inject")]
    inject: InjectParams,
    #[serde(rename = "session/revoke_inject")]
    revoke_inject: RevokeInjectParams,
    #[serde(rename = "session/replace_inject")]
    replace_inject: ReplaceInjectParams,
    #[serde(rename = "session/pending_injections")]
    pending_injections: SessionParams,
    #[serde(rename = "session/remind")]
    remind: RemindParams,
    #[serde(rename = "session/revoke_reminder")]
    revoke_reminder: RevokeReminderParams,
    #[serde(rename = "session/cancel")]
    cancel: CancelParams,
    #[serde(rename = "agent/resume")]
    resume: ResumeParams,
    #[serde(rename = "_session/steering")]
    steering: SteeringParams,
}

/// What each method answers.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct SteeringMethodResults<'a> {
    #[serde(rename = "session/inject")]
    inject: InjectResult<'a>,
    #[serde(rename = "session/revoke_inject")]
    revoke_inject: InjectChangeResult<'a>,
    #[serde(rename = "session/replace_inject")]
    replace_inject: InjectChangeResult<'a>,
    #[serde(rename = "session/pending_injections")]
    pending_injections: PendingInjections<'a>,
    #[serde(rename = "session/remind")]
    remind: RemindResult,
    #[serde(rename = "session/revoke_reminder")]
    revoke_reminder: RevokeReminderResult<'a>,
    #[serde(rename = "session/cancel")]
    cancel: CancelResult<'a>,
    #[serde(rename = "agent/resume")]
    resume: ResumeResult,
    #[serde(rename = "_session/steering")]
    steering: SteeringResult,
}

/// The params of the methods, for the schema.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is of use")]
pub(super) struct LiveMethodParams {
    #[serde(rename = "session/attach")]
    attach: AttachParams,
    #[serde(rename = "session/detach")]
    detach: DetachParams,
    #[serde(rename = "session/heartbeat")]
    heartbeat: HeartbeatParams,
    #[serde(rename = "session/live_clients")]
    live_clients: SessionParams,
    #[serde(rename = "session/takeover")]
    takeover: TakeoverParams,
}

/// Their results, for the schema.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct LiveMethodResults<'a> {
    #[serde(rename = "session/attach")]
    attach: AttachmentResult<'a>,
    #[serde(rename = "session/detach")]
    detach: AttachmentResult<'a>,
    #[serde(rename = "session/heartbeat")]
    heartbeat: AttachmentResult<'a>,
    #[serde(rename = "session/live_clients")]
    live_clients: LiveClients<'a>,
    #[serde(rename = "session/takeover")]
    takeover: AttachmentResult<'a>,
}

/// `session/remind`: a reminder at the root, or in `reminder`.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only its schema is of use")]
enum RemindParams {
    /// In `reminder`.
    Nested(RemindNestedParams),
    /// At the root.
    Root(RemindRootParams),
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "RemindNested")]
#[expect(dead_code, reason = "only its schema is of use")]
struct RemindNestedParams {
    /// May be left out where one session is open.
    #[serde(default)]
    session_id: Option<NonBlankName>,
    /// When it is delivered; `audit_only` where nothing is said.
    #[serde(default)]
    mode: Option<SentMode>,
    reminder: ReminderParams,
    #[serde(flatten)]
    sender: SenderParams,
}

#[derive(JsonSchema)]
#[schemars(rename = "RemindAtRoot")]
#[expect(dead_code, reason = "only its schema is of use")]
struct RemindRootParams {
    /// May be left out where one session is open.
    #[serde(rename = "sessionId", default)]
    session_id: Option<NonBlankName>,
    /// When it is delivered; `audit_only` where nothing is said.
    #[serde(default)]
    mode: Option<SentMode>,
    #[serde(flatten)]
    reminder: ReminderParams,
}

/// When a reminder is delivered, in the words that are read.
#[derive(JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "ReminderMode")]
#[expect(dead_code, reason = "only its schema is of use")]
enum SentMode {
    InterruptImmediate,
    Interrupt,
    FinishStep,
    AfterCurrentOperation,
    Steer,
    AuditOnly,
    Queue,
    WaitForCompletion,
}

/// Something for the agent to keep in mind.
#[derive(JsonSchema)]
#[schemars(rename = "ReminderSaid")]
#[expect(dead_code, reason = "only its schema is of use")]
struct ReminderParams {
    /// What it says.
    #[schemars(length(min = 1))]
    body: String,
    /// Its id; one is made where there is none.
    #[serde(default)]
    id: Option<NonBlankName>,
    #[serde(default)]
    tags: Option<Vec<NonBlankName>>,
    /// A later one with this key takes its place.
    #[serde(default)]
    dedupe_key: Option<String>,
    /// How many turns it lasts; for ever where nothing is said.
    #[serde(default)]
    #[schemars(range(min = 1))]
    ttl_turns: Option<u64>,
    /// Whether it outlives a compaction.
    #[serde(default)]
    preserve_on_compact: bool,
    /// Which workers hear of it.
    #[serde(default)]
    propagate: ReminderPropagation,
    /// The role it should be rendered in.
    #[serde(default)]
    role_hint: RoleHint,
    /// `bridge`, where anything is said.
    #[serde(default)]
    #[schemars(extend("enum" = ["bridge"]))]
    source: Option<String>,
    #[serde(default)]
    fired_at_turn: u64,
    /// Whatever the host wants to keep with it.
    #[serde(rename = "_meta", default)]
    meta: Option<Map<String, Value>>,
}
