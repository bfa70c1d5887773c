//! The schemas of `spec/schemas` as they lie there, for what is not ACP.

use std::{fs, sync::LazyLock};

use harn_tests::repository;
use jsonschema::Validator;
use serde_json::Value;

use crate::lines::{Line, What};

/// The three schemas, with their validators.
pub(crate) struct Extensions {
    updates: Schema,
    tool_meta: Schema,
    events: Schema,
}

struct Schema {
    document: Value,
    validator: Validator,
}

static LOADED: LazyLock<Extensions> = LazyLock::new(|| Extensions {
    updates: Schema::load("session-update-extensions"),
    tool_meta: Schema::load("tool-lifecycle-meta"),
    events: Schema::load("agent-event"),
});

impl Schema {
    fn load(name: &str) -> Self {
        let path = repository("spec/schemas").join(format!("{name}.schema.json"));
        let text = fs::read_to_string(path).unwrap();
        let document = serde_json::from_str(&text).unwrap();
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

    /// The words that tell its variants apart.
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

    /// An extension's line fits its schema, and all it says is in the vendor's corner.
    pub(crate) fn check(&self, line: &Line) -> Result<(), String> {
        match line.what {
            What::AgentEvent => self.events.check(&line.value),
            What::Update => {
                let update = &line.value["update"];
                let members: Vec<_> = update.as_object().unwrap().keys().collect();
                if members != ["sessionUpdate", "_meta"] {
                    return Err(format!("{members:?} beside `_meta`"));
                }
                only_harn(&update["_meta"])?;
                self.updates.check(update)
            }
            _ => Err("this is no extension of ours".to_owned()),
        }
    }

    /// What a standard line carries beside ACP is in the vendor's corner, and fits where there is a schema.
    pub(crate) fn check_meta(&self, line: &Line) -> Result<(), String> {
        let carrier = match &line.what {
            What::Update => &line.value["update"],
            What::Request(_) => &line.value["toolCall"],
            What::Response(_) => &line.value["agentCapabilities"],
            What::Notification(_) | What::Error | What::AgentEvent => return Ok(()),
        };
        let Some(meta) = carrier.get("_meta") else {
            return Ok(());
        };
        only_harn(meta)?;
        match carrier["sessionUpdate"].as_str() {
            Some("tool_call" | "tool_call_update") => self.tool_meta.check(&meta["harn"]),
            _ => Ok(()),
        }
    }
}

fn only_harn(meta: &Value) -> Result<(), String> {
    let members: Vec<_> = meta.as_object().unwrap().keys().collect();
    match members.as_slice() {
        [one] if *one == "harn" => Ok(()),
        _ => Err(format!("`_meta` holds {members:?}")),
    }
}
