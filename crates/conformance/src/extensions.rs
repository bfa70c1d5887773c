//! Session updates and agent events: finds the type of each and checks it against its schema, ACP's or ours.
//!
//! Our schemas are read from the published ones by name, so an addition there is known here.

use std::{borrow::Cow, sync::LazyLock};

use serde_json::{Value, json};

use super::{
    ConformanceRule, MessageFindings, acp_shapes,
    methods::AcpMethod,
    quote_name,
    shape::{LazySchema, tag_values},
};
use harn_acp::ext::{VENDOR, published_schemas::SCHEMAS};

static UPDATES: LazySchema =
    LazySchema::extension(|| published_schema("session-update-extensions"));
static EVENTS: LazySchema = LazySchema::extension(|| published_schema("agent-event"));
/// The contract's message for a whole user message, which ACP has from version 2 on.
static USER_MESSAGE: LazySchema = LazySchema::acp("UserMessage");

/// Marks a replayed message; the contract allows it on any message.
pub(super) const REPLAYED: &str = "replayed";

/// Returns a published schema. If there is none, a schema that accepts anything.
pub(super) fn published_schema(name: &str) -> Value {
    let file = format!("{name}.schema.json");
    let text = SCHEMAS.iter().find(|(name, _)| *name == file);
    text.and_then(|(_, text)| serde_json::from_str(text).ok())
        .unwrap_or(Value::Bool(true))
}

/// The names of ACP's updates, of the extension updates and of the agent events.
struct MessageNames {
    standard: Vec<String>,
    extensions: Vec<String>,
    kinds: Vec<String>,
}

static NAMES: LazyLock<MessageNames> = LazyLock::new(|| MessageNames {
    standard: acp_shapes::definition("SessionUpdate")
        .map_or_else(Vec::new, |schema| tag_values(schema, "sessionUpdate")),
    extensions: tag_values(
        &published_schema("session-update-extensions"),
        "sessionUpdate",
    ),
    kinds: tag_values(&published_schema("agent-event"), "kind"),
});

/// A session update, with its own name or carried by a standard update.
pub(super) struct RecordedUpdate<'a> {
    /// The discriminator: the inner one if a standard update carries an extension.
    pub(super) name: &'a str,
    /// Whether a standard update carries it.
    pub(super) carried: bool,
    pub(super) root: &'a Value,
    /// `_meta.harn`; for a carried extension, without the inner discriminator.
    pub(super) harn: Option<Cow<'a, Value>>,
}

impl<'a> RecordedUpdate<'a> {
    /// Returns none if the update has no discriminator.
    pub(super) fn read(params: &'a Value) -> Option<Self> {
        let root = params.get("update")?;
        let outer = root.get("sessionUpdate")?.as_str()?;
        let harn = root.get("_meta").and_then(|meta| meta.get(VENDOR));
        let inner = harn.and_then(|harn| harn.get("sessionUpdate")?.as_str());
        Some(match inner {
            Some(name) if outer == "session_info_update" => Self {
                name,
                carried: true,
                root,
                harn: harn.map(|harn| without_members(harn, &["sessionUpdate"])),
            },
            _ => Self {
                name: outer,
                carried: false,
                root,
                harn: harn.map(Cow::Borrowed),
            },
        })
    }

    pub(super) fn is_tool(&self) -> bool {
        !self.carried && matches!(self.name, "tool_call" | "tool_call_update")
    }

    pub(super) fn is_extension(&self) -> bool {
        self.carried
            || (!self.is_standard() && NAMES.extensions.iter().any(|known| known == self.name))
    }

    fn is_standard(&self) -> bool {
        !self.carried && NAMES.standard.iter().any(|known| known == self.name)
    }

    /// Returns a field of the extension.
    pub(super) fn field(&self, name: &str) -> Option<&Value> {
        self.harn.as_deref()?.get(name)
    }

    /// Returns a field of the extension that is a string.
    pub(super) fn string_field(&self, name: &str) -> Option<&str> {
        self.field(name)?.as_str()
    }

    /// Checks the update against its schemas; `method` has ACP's schema of the params.
    pub(super) fn check(&self, params: &Value, method: &AcpMethod) -> MessageFindings {
        let mut found = MessageFindings::new();
        if self.is_standard() || self.carried {
            found.extend(method.params.check(params, "params"));
        }
        if self.is_extension() {
            // The published schema describes the whole update.
            let update = match (&self.harn, self.carried) {
                (Some(harn), true) => Cow::Owned(json!({
                    "sessionUpdate": self.name,
                    "_meta": { VENDOR: without_members(harn, &[REPLAYED]) },
                })),
                (Some(harn), false) if harn.get(REPLAYED).is_some() => {
                    let mut update = self.root.clone();
                    update["_meta"][VENDOR] = without_members(harn, &[REPLAYED]).into_owned();
                    Cow::Owned(update)
                }
                _ => Cow::Borrowed(self.root),
            };
            if NAMES.extensions.iter().any(|known| known == self.name) {
                found.extend(UPDATES.check(&update, "params/update"));
            } else {
                found.push(unknown_update_finding(self.name));
            }
            if !self.carried {
                found.extend(check_surrounding_params(params));
            }
        } else if self.name == "user_message" {
            found.extend(USER_MESSAGE.check(self.root, "params/update"));
            found.extend(check_surrounding_params(params));
        } else if !self.is_standard() {
            found.push(unknown_update_finding(self.name));
        }
        found
    }
}

fn unknown_update_finding(name: &str) -> (ConformanceRule, String) {
    let message = format!("unknown update {}", quote_name(name));
    (ConformanceRule::UnknownUpdate, message)
}

/// Checks the params around an update that ACP's own schema does not cover.
fn check_surrounding_params(params: &Value) -> MessageFindings {
    let mut found = MessageFindings::new();
    if !params.get("sessionId").is_some_and(Value::is_string) {
        found.push((
            ConformanceRule::WrongShape,
            "`params` lacks `sessionId`".to_owned(),
        ));
    }
    for name in params
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, _)| name)
    {
        if !matches!(name.as_str(), "sessionId" | "update" | "_meta") {
            let message = format!("`params` must not have {}", quote_name(name));
            found.push((ConformanceRule::UnknownMember, message));
        }
    }
    found
}

/// Checks the params of an agent event.
pub(super) fn check_event(params: &Value) -> MessageFindings {
    match params.get("kind").and_then(Value::as_str) {
        Some(kind) if !NAMES.kinds.iter().any(|known| known == kind) => {
            let message = format!("unknown agent event {}", quote_name(kind));
            vec![(ConformanceRule::UnknownUpdate, message)]
        }
        _ => EVENTS.check(&without_members(params, &[REPLAYED]), "params"),
    }
}

/// Returns the value without these members.
pub(super) fn without_members<'a>(value: &'a Value, names: &[&str]) -> Cow<'a, Value> {
    match value {
        Value::Object(members) if names.iter().any(|name| members.contains_key(*name)) => {
            let mut members = members.clone();
            members.retain(|name, _| !names.contains(&name.as_str()));
            Cow::Owned(Value::Object(members))
        }
        _ => Cow::Borrowed(value),
    }
}
