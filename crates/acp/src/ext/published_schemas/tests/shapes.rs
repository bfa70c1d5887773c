//! Types that only the published schemas need: the methods by name, and params that the program parses
//! without types.

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

/// `_meta.harn` of the params of a line that has an event id.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub(super) struct StreamMeta {
    /// The position of the line in its session's stream. A client sends it as `lastEventId` to resume after
    /// this line.
    #[schemars(with = "String")]
    event_id: EventId,
}

/// The params of the steering methods.
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

/// The results of the steering methods.
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

/// The params of the live-session methods.
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

/// The results of the live-session methods.
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

/// The params of `session/remind`: a reminder at the root, or in `reminder`.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only its schema is of use")]
enum RemindParams {
    /// The reminder is in `reminder`.
    Nested(RemindNestedParams),
    /// The reminder is at the root.
    Root(RemindRootParams),
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "RemindNested")]
#[expect(dead_code, reason = "only its schema is of use")]
struct RemindNestedParams {
    /// The session; may be omitted if exactly one is open.
    #[serde(default)]
    session_id: Option<NonBlankName>,
    /// The time of delivery; `audit_only` by default.
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
    /// The session; may be omitted if exactly one is open.
    #[serde(rename = "sessionId", default)]
    session_id: Option<NonBlankName>,
    /// The time of delivery; `audit_only` by default.
    #[serde(default)]
    mode: Option<SentMode>,
    #[serde(flatten)]
    reminder: ReminderParams,
}

/// The time of delivery of a reminder, with all accepted aliases.
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

/// A reminder for the agent.
#[derive(JsonSchema)]
#[schemars(rename = "ReminderSaid")]
#[expect(dead_code, reason = "only its schema is of use")]
struct ReminderParams {
    /// The text of the reminder.
    #[schemars(length(min = 1))]
    body: String,
    /// The id of the reminder; the server creates one by default.
    #[serde(default)]
    id: Option<NonBlankName>,
    #[serde(default)]
    tags: Option<Vec<NonBlankName>>,
    /// The deduplication key: a later reminder with the same key replaces this one.
    #[serde(default)]
    dedupe_key: Option<String>,
    /// The number of turns that the reminder lasts; unlimited by default.
    #[serde(default)]
    #[schemars(range(min = 1))]
    ttl_turns: Option<u64>,
    /// Whether the reminder survives a compaction.
    #[serde(default)]
    preserve_on_compact: bool,
    /// The workers that receive the reminder.
    #[serde(default)]
    propagate: ReminderPropagation,
    /// The role in which the reminder should be rendered.
    #[serde(default)]
    role_hint: RoleHint,
    /// The source; only `bridge` is accepted.
    #[serde(default)]
    #[schemars(extend("enum" = ["bridge"]))]
    source: Option<String>,
    #[serde(default)]
    fired_at_turn: u64,
    /// Additional data of the host.
    #[serde(rename = "_meta", default)]
    meta: Option<Map<String, Value>>,
}
