//! The published schemas of `spec/schemas`, for everything that is not ACP.

use std::{fs, sync::LazyLock};

use harn_tests::repository_path;
use jsonschema::Validator;
use serde_json::{Value, json};

use crate::wire::lines::{Line, What};

/// The schemas, with their validators.
pub(crate) struct Extensions {
    updates: Schema,
    carried: Schema,
    tool_meta: Schema,
    content_meta: Schema,
    plan_meta: Schema,
    stream_meta: Schema,
    events: Schema,
    initialize: Schema,
    session: Schema,
    permission: Schema,
    hitl: Schema,
    idle: Schema,
    steering: Schema,
    live: Schema,
    listed: Schema,
    user_meta: Schema,
    mcp_meta: Schema,
    bridge: Schema,
    operations: Schema,
}

struct Schema {
    document: Value,
    validator: Validator,
}

static LOADED: LazyLock<Extensions> = LazyLock::new(|| Extensions {
    updates: Schema::load("session-update-extensions"),
    carried: Schema::load("session-info-meta"),
    tool_meta: Schema::load("tool-lifecycle-meta"),
    content_meta: Schema::load("content-meta"),
    plan_meta: Schema::load("plan-meta"),
    stream_meta: Schema::load("stream-meta"),
    events: Schema::load("agent-event"),
    initialize: Schema::load("initialize-meta"),
    session: Schema::load("session-capabilities"),
    permission: Schema::load("permission-request"),
    hitl: Schema::load("hitl-requested"),
    idle: Schema::load("agent-idle"),
    steering: Schema::load_any_of("steering-results"),
    live: Schema::load_any_of("live-results"),
    listed: Schema::load("session-list-meta"),
    user_meta: Schema::load("user-message-meta"),
    mcp_meta: Schema::load("session-mcp-meta"),
    bridge: Schema::load_any_of("host-bridge-params"),
    operations: Schema::load_any_of("host-shell-discovery"),
});

impl Schema {
    fn load(name: &str) -> Self {
        let path = repository_path("spec/schemas").join(format!("{name}.schema.json"));
        let text = fs::read_to_string(path).unwrap();
        Self::from_document(serde_json::from_str(&text).unwrap())
    }

    /// Loads a schema whose members describe alternatives.
    fn load_any_of(name: &str) -> Self {
        let mut document = Self::load(name).document;
        document.as_object_mut().unwrap().remove("required");
        Self::from_document(document)
    }

    fn from_document(document: Value) -> Self {
        let validator = jsonschema::validator_for(&document).unwrap();
        Self {
            document,
            validator,
        }
    }

    fn check(&self, value: &Value) -> Result<(), String> {
        let errors: Vec<_> = self
            .validator
            .iter_errors(value)
            .map(|e| e.to_string())
            .collect();
        if errors.is_empty() {
            Ok(())
        } else {
            Err(errors.join("; "))
        }
    }

    /// Returns the tags of its variants.
    fn variants(&self, tag: &'static str) -> impl Iterator<Item = String> {
        let variants = self.document["oneOf"].as_array().unwrap().iter();
        variants.map(move |v| v["properties"][tag]["const"].as_str().unwrap().to_owned())
    }
}

impl Extensions {
    pub(crate) fn load() -> &'static Self {
        &LOADED
    }

    pub(crate) fn discriminators(&self) -> impl Iterator<Item = String> {
        self.updates.variants("sessionUpdate")
    }

    pub(crate) fn kinds(&self) -> impl Iterator<Item = String> {
        self.events.variants("kind")
    }

    /// Returns the schema for the results of a method of the contract.
    fn result_schema(&self, method: &str) -> Option<&Schema> {
        let mut both = [&self.steering, &self.live].into_iter();
        both.find(|schema| schema.document["properties"].get(method).is_some())
    }

    /// Returns the methods between the agent and a host with the bridge.
    pub(crate) fn bridge_methods(&self) -> impl Iterator<Item = String> {
        let methods = self.bridge.document["properties"].as_object().unwrap();
        methods.keys().cloned()
    }

    /// Checks a request of the bridge against its schema, and the arguments of an operation, too.
    fn check_bridge(&self, method: &str, params: &Value) -> Result<(), String> {
        self.bridge.check(&json!({ method: params }))?;
        let Some(operation) = params["name"].as_str().filter(|_| method == "host/call") else {
            return Ok(());
        };
        let members = self.operations.document["properties"][operation]["properties"].clone();
        let args = json!({
            "$defs": self.operations.document["$defs"], "properties": {"args": members["args"]},
        });
        Schema::from_document(args).check(params)
    }

    /// Checks the line of an extension against its schema, and that its data is under `_meta.harn`.
    pub(crate) fn check(&self, line: &Line) -> Result<(), String> {
        match line.what {
            What::AgentEvent => self.events.check(&line.value),
            What::Update => {
                let update = &line.value["update"];
                let members: Vec<_> = update.as_object().unwrap().keys().collect();
                if members != ["sessionUpdate", "_meta"] {
                    return Err(format!("{members:?} beside `_meta`"));
                }
                check_only_harn(&update["_meta"])?;
                check_meta_of(&line.value, Some(&self.stream_meta))?;
                self.updates.check(update)
            }
            _ => Err("this is no extension of ours".to_owned()),
        }
    }

    /// Checks that the data of a standard line beyond ACP is under `_meta.harn` and matches its schema.
    pub(crate) fn check_meta(&self, line: &Line) -> Result<(), String> {
        let update = &line.value["update"];
        match &line.what {
            What::Notification(method) if method == "harn.hitl.requested" => {
                self.hitl.check(&line.value)
            }
            // A question to a person has no record here: it is in the `hitl_request` update.
            What::Request(method) if method == "session/request_permission" && is_hitl(line) => {
                Ok(())
            }
            What::Request(method) if method == "session/request_permission" => {
                self.permission.check(&line.value)
            }
            What::Notification(method) if method == "agent/idle" => self.idle.check(&line.value),
            What::Response(method) if method == "initialize" => {
                let capabilities = &line.value["agentCapabilities"];
                self.session.check(&capabilities["session"])?;
                check_meta_of(capabilities, Some(&self.initialize))
            }
            What::Response(method) if method == "session/list" => {
                let mut rows = line.value["sessions"].as_array().unwrap().iter();
                rows.try_for_each(|row| check_meta_of(row, Some(&self.listed)))
            }
            What::Response(method) if OPENS.contains(&method.as_str()) => {
                check_meta_of(&line.value, Some(&self.mcp_meta))
            }
            What::Response(method) => match self.result_schema(method) {
                Some(schema) => {
                    let result = line.value.clone();
                    let by_method = serde_json::Map::from_iter([(method.clone(), result)]);
                    schema.check(&by_method.into())
                }
                None => Ok(()),
            },
            What::Update => {
                let schema = match update["sessionUpdate"].as_str() {
                    Some("tool_call" | "tool_call_update") => Some(&self.tool_meta),
                    Some("session_info_update") => {
                        let carries = &update["_meta"]["harn"]["sessionUpdate"];
                        let schema = if carries.is_null() {
                            &self.mcp_meta
                        } else {
                            &self.carried
                        };
                        Some(schema)
                    }
                    Some("plan") => Some(&self.plan_meta),
                    Some("user_message_chunk") => Some(&self.user_meta),
                    _ => None,
                };
                check_meta_of(update, schema)?;
                check_meta_of(&line.value, Some(&self.stream_meta))?;
                check_meta_of(&update["content"], Some(&self.content_meta))
            }
            What::Request(method) if self.bridge.document["properties"].get(method).is_some() => {
                self.check_bridge(method, &line.value)
            }
            What::Request(_) | What::Notification(_) | What::Error | What::AgentEvent => Ok(()),
        }
    }
}

/// The methods that open a session, whose results have the state of its MCP servers.
const OPENS: [&str; 4] = [
    "session/fork",
    "session/load",
    "session/new",
    "session/resume",
];

fn check_meta_of(carrier: &Value, schema: Option<&Schema>) -> Result<(), String> {
    let Some(meta) = carrier.get("_meta") else {
        return Ok(());
    };
    check_only_harn(meta)?;
    let schema = schema.ok_or("`_meta` that no schema describes")?;
    schema.check(&meta["harn"])
}

fn check_only_harn(meta: &Value) -> Result<(), String> {
    let members: Vec<_> = meta.as_object().unwrap().keys().collect();
    match members.as_slice() {
        [one] if *one == "harn" => Ok(()),
        _ => Err(format!("`_meta` holds {members:?}")),
    }
}

/// Returns whether a permission request asks a person about something other than a tool call.
fn is_hitl(line: &Line) -> bool {
    let call = line.value["toolCall"]["toolCallId"].as_str();
    call.is_some_and(|id| id.starts_with("hitl_"))
}
