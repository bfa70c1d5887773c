//! The wire format of steering: params and results of the methods that reach a running turn. The names are
//! the contract's. `methods` implements them.

use crate::JsonSchema;
use harn_model::{
    Actor, DeliveryMode, PendingDelivery, PendingMessage, PendingReminder, ReminderPropagation,
    ReminderSource, RoleHint,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    HarnMeta,
    agent_event::ActorFields,
    sender::{NonBlankName, RequestSender, SenderParams, resolve_actor},
};
use crate::wire::MessageBlocks;

/// Returns the contract's name of a method that may also arrive with a leading underscore: some SDKs send a
/// host's own methods only with one.
pub fn contract_name(method: &str) -> &str {
    match method.strip_prefix('_') {
        Some(
            name @ ("agent/resume"
            | "session/attach"
            | "session/detach"
            | "session/heartbeat"
            | "session/inject"
            | "session/live_clients"
            | "session/pending_injections"
            | "session/remind"
            | "session/replace_inject"
            | "session/revoke_inject"
            | "session/revoke_reminder"
            | "session/takeover"),
        ) => name,
        _ => method,
    }
}

/// The time of delivery of an injected message.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum InjectMode {
    /// After the current step.
    Steer,
    /// After the agent is done, as its next prompt.
    Queue,
}

impl From<InjectMode> for DeliveryMode {
    fn from(mode: InjectMode) -> Self {
        match mode {
            InjectMode::Steer => Self::FinishStep,
            InjectMode::Queue => Self::AuditOnly,
        }
    }
}

/// A text that is not blank, or content blocks.
#[derive(JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "MessageContent")]
#[expect(dead_code, reason = "only its schema is of use; it is read as a value")]
enum InjectContent {
    Text(#[schemars(length(min = 1))] String),
    Blocks(#[schemars(length(min = 1))] Vec<Value>),
}

/// The params of `session/inject`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InjectParams {
    #[serde(alias = "session_id")]
    pub(crate) session_id: NonBlankName,
    pub(crate) mode: InjectMode,
    #[schemars(with = "InjectContent")]
    pub(crate) content: Option<Value>,
    #[serde(flatten)]
    pub(crate) sender: SenderParams,
}

/// The params of `session/revoke_inject`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RevokeInjectParams {
    #[serde(alias = "session_id")]
    pub(crate) session_id: NonBlankName,
    #[serde(alias = "message_id")]
    pub(crate) message_id: NonBlankName,
    #[serde(flatten)]
    pub(crate) sender: SenderParams,
}

/// The params of `session/replace_inject`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ReplaceInjectParams {
    #[serde(alias = "session_id")]
    pub(crate) session_id: NonBlankName,
    #[serde(alias = "message_id")]
    pub(crate) message_id: NonBlankName,
    /// Parsed only after the server knows that the sender may replace the message.
    #[schemars(with = "InjectContent")]
    pub(crate) content: Option<Value>,
    #[serde(flatten)]
    pub(crate) sender: SenderParams,
}

/// The params of a method that takes only a session: `session/pending_injections`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SessionParams {
    #[serde(alias = "session_id")]
    pub(crate) session_id: NonBlankName,
}

/// The params of `session/revoke_reminder`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RevokeReminderParams {
    #[serde(alias = "session_id")]
    pub(crate) session_id: NonBlankName,
    #[serde(alias = "reminder_id")]
    pub(crate) reminder_id: NonBlankName,
    #[serde(flatten)]
    pub(crate) sender: SenderParams,
}

/// The params of `agent/resume`; the session may be omitted if exactly one is open.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ResumeParams {
    #[serde(default, alias = "session_id")]
    pub(crate) session_id: Option<NonBlankName>,
}

/// The params of `_session/steering`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SteeringParams {
    #[serde(alias = "session_id")]
    pub(crate) session_id: NonBlankName,
    #[schemars(with = "Vec<Value>", length(min = 1))]
    pub(crate) prompt: Option<Value>,
    #[serde(rename = "_harn", default)]
    harn: Option<RequestSender>,
    #[serde(rename = "_meta", default)]
    meta: Option<SteeringMeta>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(expecting = "an object")]
struct SteeringMeta {
    #[serde(default)]
    harn: Option<RequestSender>,
    #[serde(default)]
    steering: Option<SteeringWish>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", expecting = "an object")]
struct SteeringWish {
    #[serde(default)]
    idle_behavior: Option<IdleBehavior>,
}

/// The requested behaviour when no turn runs. Default: a new turn starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum IdleBehavior {
    /// The server does nothing; the client sends a prompt itself.
    PromptRequired,
}

impl SteeringParams {
    /// Returns the requested behaviour when no turn runs.
    pub(crate) fn idle_behavior(&self) -> Option<IdleBehavior> {
        self.meta.as_ref()?.steering?.idle_behavior
    }

    pub(crate) fn actor(self) -> Actor {
        resolve_actor(self.harn, self.meta.and_then(|meta| meta.harn))
    }
}

/// The result of `session/inject`: the message is in the journal.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Injected")]
pub(crate) struct InjectResult<'a> {
    /// The id with which the message is delivered, in `user_message`.
    pub(crate) message_id: &'a str,
    #[schemars(extend("enum" = ["accepted"]))]
    pub(crate) status: &'static str,
    #[serde(rename = "_meta")]
    pub(crate) meta: HarnMeta<InjectResultMeta<'a>>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "InjectedMeta")]
pub(crate) struct InjectResultMeta<'a> {
    /// The sender of the message.
    pub(crate) actor: ActorFields<'a>,
    /// The number of pending messages and reminders.
    pub(crate) pending_count: usize,
}

/// The result of `session/revoke_inject` and `session/replace_inject`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "MessageChanged")]
pub(crate) struct InjectChangeResult<'a> {
    pub(crate) message_id: &'a str,
    #[schemars(extend("enum" = ["already_revoked", "replaced", "revoked"]))]
    pub(crate) status: &'static str,
}

/// The result of `session/remind`: the reminder is in the journal.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Reminded")]
pub(crate) struct RemindResult {
    pub(crate) reminder_id: String,
}

/// The result of `session/revoke_reminder`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "ReminderRevoked")]
pub(crate) struct RevokeReminderResult<'a> {
    pub(crate) reminder_id: &'a str,
    #[schemars(extend("enum" = ["already_revoked", "revoked"]))]
    pub(crate) status: &'static str,
}

/// The result of `session/cancel`, if it is a request.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Cancelled")]
pub(crate) struct CancelResult<'a> {
    pub(crate) session_id: &'a str,
    #[schemars(extend("enum" = ["already_cancelled", "cancelled"]))]
    pub(crate) status: &'static str,
    #[serde(rename = "_meta")]
    pub(crate) meta: HarnMeta<CancelResultMeta<'a>>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "CancelledMeta")]
pub(crate) struct CancelResultMeta<'a> {
    /// The client that cancelled.
    pub(crate) actor: ActorFields<'a>,
}

/// The result of `agent/resume`, if it is a request.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Resumed")]
pub(crate) struct ResumeResult {}

/// The result of `_session/steering`.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "outcome", rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Steered")]
pub(crate) enum SteeringResult {
    /// The running turn receives the message.
    Injected,
    /// No turn ran: the message started one, and no request waits for its end.
    StartedNewTurn,
    /// No turn ran, and the server did nothing.
    PromptRequired { reason: &'static str },
    /// The server rejected the message.
    Failed { reason: String },
}

/// The result of `session/pending_injections`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub(crate) struct PendingInjections<'a> {
    pending_count: usize,
    /// The pending messages and reminders, in the order in which they arrived.
    injections: Vec<PendingInjection<'a>>,
}

impl<'a> PendingInjections<'a> {
    pub(crate) fn new(pending: &'a [PendingDelivery]) -> Self {
        let rows = pending.iter().enumerate().map(|(at, row)| match row {
            PendingDelivery::Message(message) => PendingInjection::User(UserRow::new(at, message)),
            PendingDelivery::Reminder(reminder) => {
                PendingInjection::Reminder(ReminderRow::new(at, reminder))
            }
        });
        Self {
            pending_count: pending.len(),
            injections: rows.collect(),
        }
    }
}

/// A pending message or reminder.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[schemars(rename = "PendingRow")]
enum PendingInjection<'a> {
    User(UserRow<'a>),
    Reminder(ReminderRow<'a>),
}

/// A message that waits for delivery.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct UserRow<'a> {
    id: &'a str,
    message_id: &'a str,
    mode: DeliveryModeWire,
    /// The mode in the words of `session/inject`.
    sent_mode: &'static str,
    position: usize,
    #[schemars(with = "Vec<crate::wire::ContentBlockWire<'_>>")]
    content: MessageBlocks<'a>,
}

impl<'a> UserRow<'a> {
    fn new(position: usize, message: &'a PendingMessage) -> Self {
        Self {
            id: message.message_id.as_str(),
            message_id: message.message_id.as_str(),
            mode: message.mode.into(),
            sent_mode: inject_word(message.mode),
            position,
            content: MessageBlocks(&message.content),
        }
    }
}

/// Returns the mode in the words of `session/inject`. No client sends a message that interrupts.
fn inject_word(mode: DeliveryMode) -> &'static str {
    match mode {
        DeliveryMode::InterruptImmediate => mode.as_str(),
        DeliveryMode::FinishStep => "steer",
        DeliveryMode::AuditOnly => "queue",
    }
}

/// A reminder that waits for delivery.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ReminderRow<'a> {
    id: &'a str,
    reminder_id: &'a str,
    mode: DeliveryModeWire,
    /// The mode in the words of the `session/remind` request.
    sent_mode: &'a str,
    position: usize,
    body: &'a str,
    tags: &'a [String],
    dedupe_key: Option<&'a str>,
    ttl_turns: Option<u64>,
    preserve_on_compact: bool,
    propagate: ReminderPropagation,
    role_hint: RoleHint,
    source: ReminderSource,
    fired_at_turn: u64,
    originating_agent_id: Option<&'a str>,
}

impl<'a> ReminderRow<'a> {
    fn new(position: usize, pending: &'a PendingReminder) -> Self {
        let reminder = &pending.reminder;
        Self {
            id: &reminder.id,
            reminder_id: &reminder.id,
            mode: pending.mode.into(),
            sent_mode: pending
                .sent_mode
                .as_deref()
                .unwrap_or(pending.mode.as_str()),
            position,
            body: &reminder.body,
            tags: &reminder.tags,
            dedupe_key: reminder.dedupe_key.as_deref(),
            ttl_turns: reminder.ttl_turns,
            preserve_on_compact: reminder.preserve_on_compact,
            propagate: reminder.propagate,
            role_hint: reminder.role_hint,
            source: reminder.source,
            fired_at_turn: reminder.fired_at_turn,
            originating_agent_id: reminder.originating_agent_id.as_deref(),
        }
    }
}

/// The time of delivery. `steer` is `finish_step`, `queue` is `audit_only`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "DeliveryMode")]
pub(crate) enum DeliveryModeWire {
    InterruptImmediate,
    FinishStep,
    AuditOnly,
}

impl From<DeliveryMode> for DeliveryModeWire {
    fn from(mode: DeliveryMode) -> Self {
        match mode {
            DeliveryMode::InterruptImmediate => Self::InterruptImmediate,
            DeliveryMode::FinishStep => Self::FinishStep,
            DeliveryMode::AuditOnly => Self::AuditOnly,
        }
    }
}

/// The params of `session/cancel`. The sender is parsed separately: the turn stops even if the sender is malformed.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CancelParams {
    #[serde(alias = "session_id")]
    pub(crate) session_id: NonBlankName,
    #[serde(flatten)]
    #[schemars(with = "SenderParams")]
    pub(crate) rest: Value,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fits<T: serde::de::DeserializeOwned>(params: &Value) -> bool {
        serde_json::from_value::<T>(params.clone()).is_ok()
    }

    #[test]
    fn only_contract_methods_accept_a_leading_underscore() {
        assert_eq!(contract_name("_session/inject"), "session/inject");
        assert_eq!(contract_name("_agent/resume"), "agent/resume");
        for own in [
            "session/inject",
            "__session/inject",
            "_session/steering",
            "_session/cancel",
            "_session/prompt",
        ] {
            assert_eq!(contract_name(own), own);
        }
    }

    #[test]
    fn steering_reads_its_actor_like_the_other_methods() {
        let read = |params: Value| serde_json::from_value::<SteeringParams>(params).unwrap();
        let actor = json!({"actor": {"clientId": "pad", "role": "owner"}});
        for params in [
            json!({"sessionId": "s", "_harn": actor}),
            json!({"sessionId": "s", "_meta": {"harn": actor}}),
            json!({"sessionId": "s", "_harn": {}, "_meta": {"harn": actor, "steering": {}}}),
        ] {
            let actor = read(params).actor();
            assert_eq!((&*actor.client_id, &*actor.role), ("pad", "host_owner"));
        }
    }

    #[test]
    fn params_reject_missing_blank_and_mistyped_members() {
        let with = |name: &str, value: Value| {
            let mut params = json!({
                "sessionId": "s", "mode": "steer", "content": "c", "messageId": "m", "reminderId": "r",
                "prompt": [],
            });
            params[name] = value;
            params
        };
        let all = |params: &Value| {
            [
                fits::<InjectParams>(params),
                fits::<RevokeInjectParams>(params),
                fits::<ReplaceInjectParams>(params),
                fits::<SessionParams>(params),
                fits::<RevokeReminderParams>(params),
                fits::<ResumeParams>(params),
                fits::<CancelParams>(params),
                fits::<SteeringParams>(params),
            ]
        };
        assert_eq!(all(&with("more", json!(1))), [true; 8]);
        for odd in [json!(1), json!(" "), json!({})] {
            assert_eq!(all(&with("sessionId", odd)), [false; 8]);
        }
        // `agent/resume` accepts params without a session.
        let resume_only = [false, false, false, false, false, true, false, false];
        assert_eq!(all(&with("sessionId", Value::Null)), resume_only);
        for odd in [json!(1), json!(""), Value::Null] {
            let params = with("messageId", odd);
            assert!(!fits::<RevokeInjectParams>(&params) && !fits::<ReplaceInjectParams>(&params));
        }
        for odd in [json!(1), json!(""), Value::Null] {
            assert!(!fits::<RevokeReminderParams>(&with("reminderId", odd)));
        }
        for odd in [
            json!("interrupt_immediate"),
            json!("Steer"),
            json!(1),
            Value::Null,
        ] {
            assert!(!fits::<InjectParams>(&with("mode", odd)));
        }
        for (wish, fit) in [
            (
                json!({"steering": {"idleBehavior": "promptRequired"}}),
                true,
            ),
            (json!({"steering": {}}), true),
            (json!({"steering": {"idleBehavior": "startNewTurn"}}), false),
            (json!({"steering": true}), false),
        ] {
            assert_eq!(
                fits::<SteeringParams>(&with("_meta", wish.clone())),
                fit,
                "{wish}"
            );
        }
        let other_names = json!({"session_id": "s", "message_id": "m", "reminder_id": "r"});
        assert!(fits::<RevokeInjectParams>(&other_names));
        assert!(fits::<RevokeReminderParams>(&other_names));
    }
}
