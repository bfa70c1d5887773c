//! The extension types for clients of this project; they decode as well as encode.
//!
//! Vendor data that a client cannot decode counts as missing: a display must not fail on new data.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::ext::VENDOR;

pub use crate::ext::{
    HarnMeta,
    agent_event::{HarnEvent, METHOD as AGENT_EVENT, TurnEndedFields},
    content::ContentMeta,
    idle::{AgentIdleParams, METHOD as AGENT_IDLE},
    lend::RecordCow,
    live::{AttachmentResult, ListedSessionMeta, Liveness},
    mcp::McpMeta,
    permission::{LineageStep, OptionScope, PermissionMeta},
    plan::PlanMeta,
    tool::ToolMeta,
    update::{CarriedUpdate, ExtensionUpdate, LiveClientFields, WorkerFields},
    user::UserMeta,
};

/// The name of the update about the clients of a session.
pub const LIVE_SESSION_CLIENT: &str =
    crate::ext::update::ExtensionUpdateKind::LiveSessionClient.name();

/// Returns the vendor data of a `_meta`.
pub fn vendor_data<'m, T: Deserialize<'m>>(meta: Option<&'m Map<String, Value>>) -> Option<T> {
    T::deserialize(meta?.get(VENDOR)?).ok()
}

/// Creates a `_meta` with vendor data.
pub fn vendor_meta(data: impl Serialize) -> Map<String, Value> {
    // Clients send strings and flags, which always serialize.
    let data = serde_json::to_value(data).unwrap_or_default();
    Map::from_iter([(VENDOR.to_owned(), data)])
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, fs, path::Path};

    use serde::de::DeserializeOwned;

    use super::*;

    /// How often each type was decoded and encoded again.
    #[derive(Default)]
    struct RoundTrips(BTreeMap<&'static str, usize>);

    impl RoundTrips {
        fn check<T: DeserializeOwned + Serialize>(&mut self, name: &'static str, value: &Value) {
            let decoded: T = serde_json::from_value(value.clone())
                .unwrap_or_else(|error| panic!("{name}: {error}: {value}"));
            assert_eq!(serde_json::to_value(decoded).unwrap(), *value, "{name}");
            *self.0.entry(name).or_default() += 1;
        }

        fn check_message(&mut self, message: &Value) {
            let params = &message["params"];
            match message["method"].as_str() {
                Some("session/update") => self.check_update(&params["update"]),
                Some(AGENT_EVENT) => {
                    let mut event = params.clone();
                    let members = event.as_object_mut().unwrap();
                    members.remove("sessionId");
                    members.remove("_meta");
                    // The server adds this flag to events of a replay.
                    members.remove("replayed");
                    self.check::<HarnEvent<'_>>("HarnEvent", &event);
                }
                Some(AGENT_IDLE) => self.check::<AgentIdleParams<'_>>("Idle", params),
                Some("session/request_permission") => {
                    self.check_vendor_data::<PermissionMeta<'_>>("PermissionMeta", params);
                }
                Some(_) => {}
                None => self.check_result(&message["result"]),
            }
        }

        fn check_update(&mut self, update: &Value) {
            match update["sessionUpdate"].as_str().unwrap() {
                "session_info_update" => {
                    let harn = &update["_meta"]["harn"];
                    match (harn.get("sessionUpdate"), harn.get("mcp")) {
                        (Some(_), _) => self.check::<CarriedUpdate<'_>>("CarriedUpdate", harn),
                        (None, Some(_)) => self.check::<McpMeta<'_>>("McpMeta", harn),
                        (None, None) => {}
                    }
                }
                "tool_call" | "tool_call_update" => {
                    self.check_vendor_data::<ToolMeta<'_>>("ToolMeta", update)
                }
                "plan" => self.check_vendor_data::<PlanMeta<'_>>("PlanMeta", update),
                "user_message" | "user_message_chunk" => {
                    self.check_vendor_data::<UserMeta<'_>>("UserMeta", update);
                }
                "agent_message_chunk" => {
                    self.check_vendor_data::<ContentMeta<'_>>("ContentMeta", &update["content"]);
                }
                name => {
                    let mut all = crate::ext::update::ExtensionUpdateKind::ALL.iter().skip(1);
                    if all.any(|extension| extension.name() == name) {
                        self.check::<ExtensionUpdate<'_>>("ExtensionUpdate", update);
                    }
                }
            }
        }

        fn check_result(&mut self, result: &Value) {
            if result.get("active_controller_id").is_some() {
                self.check::<AttachmentResult<'_>>("Changed", result);
            }
            let rows = result["sessions"].as_array();
            for row in rows.into_iter().flatten() {
                self.check_vendor_data::<ListedSessionMeta<'_>>("Listed", row);
            }
        }

        fn check_vendor_data<T: DeserializeOwned + Serialize>(
            &mut self,
            name: &'static str,
            of: &Value,
        ) {
            if let Some(harn) = of["_meta"].get("harn") {
                self.check::<T>(name, harn);
            }
        }
    }

    #[test]
    fn every_extension_in_the_fixtures_is_decoded_and_encoded_again() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/acp");
        let mut trips = RoundTrips::default();
        for file in fs::read_dir(folder).unwrap() {
            let path = file.unwrap().path();
            let text = fs::read_to_string(&path).unwrap();
            let values: Vec<Value> = match path.extension().and_then(|it| it.to_str()) {
                Some("json") => match serde_json::from_str(&text).unwrap() {
                    Value::Array(values) => values,
                    value => vec![value],
                },
                Some("jsonl") => text
                    .lines()
                    .map(|line| serde_json::from_str(line).unwrap())
                    .collect(),
                _ => continue,
            };
            for value in &values {
                match value.get("message") {
                    // Messages of clients are not ours to check.
                    Some(_) if value["to"] == "agent" => {}
                    Some(message) => trips.check_message(message),
                    None => trips.check_message(value),
                }
            }
        }
        let names: Vec<_> = trips.0.keys().copied().collect();
        let all = [
            "CarriedUpdate",
            "Changed",
            "ContentMeta",
            "ExtensionUpdate",
            "HarnEvent",
            "Idle",
            "Listed",
            "McpMeta",
            "PermissionMeta",
            "PlanMeta",
            "ToolMeta",
            "UserMeta",
        ];
        assert_eq!(names, all, "{:?}", trips.0);
    }

    #[test]
    fn an_extension_is_the_same_under_its_own_name_and_carried() {
        let fields = serde_json::json!({"phase": "p", "message": "m"});
        let mut carried = fields.clone();
        carried["sessionUpdate"] = "progress".into();
        let direct = serde_json::json!({"sessionUpdate": "progress", "_meta": vendor_meta(fields)});
        let info = serde_json::json!({
            "sessionUpdate": "session_info_update", "_meta": vendor_meta(&carried)
        });
        let direct: CarriedUpdate<'_> = ExtensionUpdate::deserialize(&direct).unwrap().into();
        let info: CarriedUpdate<'_> = vendor_data(info["_meta"].as_object()).unwrap();
        for decoded in [direct, info] {
            assert_eq!(serde_json::to_value(decoded).unwrap(), carried);
        }
        let unknown = serde_json::json!({"sessionUpdate": "telepathy", "_meta": {}});
        assert!(ExtensionUpdate::deserialize(&unknown).is_err());
    }
}
