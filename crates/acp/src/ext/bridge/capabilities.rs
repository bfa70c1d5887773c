//! `host/capabilities`: the operations of a host, in each form in which a host may list them.

use std::collections::BTreeSet;

use crate::JsonSchema;
use harn_model::HostCapabilities;
use serde::Serialize;
use serde_json::Value;

use super::{BridgeAnswerError, BridgeMethod, BridgeRequest, into_name};

/// The params of `host/capabilities`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub(crate) struct AskCapabilities<'a> {
    /// The session that the request belongs to.
    pub(crate) session_id: &'a str,
}

impl BridgeRequest for AskCapabilities<'_> {
    const METHOD: BridgeMethod = BridgeMethod::Capabilities;
    type Answer = HostCapabilities;

    fn read(answer: Value) -> Result<HostCapabilities, BridgeAnswerError> {
        let Value::Object(mut capabilities) = answer else {
            return Err(BridgeAnswerError::NotAnObject);
        };
        // Every answer may contain `_meta`.
        capabilities.remove("_meta");
        let read = capabilities
            .into_iter()
            .map(|(capability, said)| Ok((capability, parse_operations(said)?)));
        Ok(HostCapabilities(
            read.collect::<Result<_, BridgeAnswerError>>()?,
        ))
    }
}

fn parse_operations(said: Value) -> Result<BTreeSet<String>, BridgeAnswerError> {
    let said = match said {
        Value::Object(mut members) => {
            let said = members.remove("ops").or(members.remove("operations"));
            said.ok_or(BridgeAnswerError::Capability)?
        }
        said => said,
    };
    match said {
        Value::Array(operations) => {
            let operations = operations.into_iter();
            let operations =
                operations.map(|it| into_name(Some(it)).ok_or(BridgeAnswerError::Operation));
            operations.collect()
        }
        // The value of an operation does not matter, unless it denies the operation.
        Value::Object(operations) => {
            let offered = |said: &Value| !matches!(said, Value::Null | Value::Bool(false));
            let operations = operations.into_iter().filter(|(_, said)| offered(said));
            Ok(operations.map(|(operation, _)| operation).collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            Err(BridgeAnswerError::Capability)
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn capabilities_accept_five_forms_of_lists() {
        for said in [
            json!(["exec", "list_shells"]),
            json!({"ops": ["list_shells", "exec"]}),
            json!({"operations": ["exec", "list_shells"]}),
            json!({"ops": {"exec": {}, "list_shells": {"since": 2}}}),
            json!({"operations": {"exec": {}, "list_shells": true, "reboot": false}}),
        ] {
            let answer = json!({"process": said, "_meta": {"any": 1}});
            let read = AskCapabilities::read(answer).unwrap();
            assert_eq!(read.0.len(), 1);
            assert!(read.has("process", "exec") && read.has("process", "list_shells"));
            assert!(!read.has("process", "reboot") && !read.has("files", "exec"));
        }
        assert_eq!(
            AskCapabilities::read(json!({})),
            Ok(HostCapabilities::default())
        );
    }

    #[test]
    fn malformed_capabilities_are_rejected() {
        let read = |answer| AskCapabilities::read(answer).unwrap_err();
        assert_eq!(read(json!(["process"])), BridgeAnswerError::NotAnObject);
        assert_eq!(read(json!(null)), BridgeAnswerError::NotAnObject);
        for said in [json!(true), json!("exec"), json!({}), json!({"ops": 7})] {
            assert_eq!(
                read(json!({"process": said})),
                BridgeAnswerError::Capability
            );
        }
        for said in [json!([7]), json!({"ops": [""]})] {
            assert_eq!(read(json!({"process": said})), BridgeAnswerError::Operation);
        }
    }
}
