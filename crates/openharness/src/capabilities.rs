//! The capabilities that a Shell may request, and those that the server supports. Unknown names are ignored.

use std::borrow::Cow;

use serde_json::Value;

use crate::{error::OpenHarnessError, from_wire::MessageObject, request::CapabilityDenial};

/// A Shell may carry out independent directives in parallel.
pub(crate) const PARALLEL: &str = "openharness.actions.parallel";
/// The server accepts attachments as references.
pub(crate) const ATTACHMENTS: &str = "openharness.attachments.upload";
/// A run that needs a decision asks for it.
pub(crate) const APPROVAL: &str = "openharness.ui.approval";
/// The server sends cards beside text.
pub(crate) const CARDS: &str = "openharness.ui.rich_cards";

pub(crate) const SUPPORTED: [&str; 4] = [PARALLEL, ATTACHMENTS, APPROVAL, CARDS];

/// The known capabilities that the server does not support.
const DENIED: [CapabilityDenial; 1] = [CapabilityDenial {
    capability: "openharness.streaming",
    code: "not_supported",
    message: Cow::Borrowed("Answers are sent whole; follow a long run with its continuation."),
}];

/// The capabilities that a Shell requests.
#[derive(Default)]
pub(crate) struct RequestedCapabilities {
    pub(crate) cards: bool,
    pub(crate) parallel: bool,
    pub(crate) denied: Vec<CapabilityDenial>,
}

/// Reads the requested capabilities of a message.
pub(crate) fn read(message: &MessageObject<'_>) -> Result<RequestedCapabilities, OpenHarnessError> {
    let Some(capabilities) = message.object("capabilities")? else {
        return Ok(RequestedCapabilities::default());
    };
    let wants = |key: &str| {
        let mut members = capabilities.members();
        members.any(|(name, value)| name == key && is_wanted(value))
    };
    let mut denied = DENIED.to_vec();
    denied.retain(|it| wants(it.capability));
    Ok(RequestedCapabilities {
        cards: wants(CARDS),
        parallel: wants(PARALLEL),
        denied,
    })
}

/// Returns whether a value requests its capability. Each Shell chooses the form of the value, so every value
/// counts that is not a form of "no".
fn is_wanted(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(flag) => *flag,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !matches!(text.trim(), "" | "false"),
        Value::Array(_) | Value::Object(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read_capabilities(capabilities: Value) -> RequestedCapabilities {
        let message = json!({ "capabilities": capabilities });
        read(&MessageObject::root(&message).unwrap()).unwrap()
    }

    #[test]
    fn value_other_than_no_requests_the_capability() {
        for value in [json!(true), json!(1), json!("v2"), json!({}), json!(["a"])] {
            assert!(read_capabilities(json!({ CARDS: value })).cards, "{value}");
        }
        for value in [
            json!(false),
            json!(null),
            json!(0),
            json!(""),
            json!("false"),
        ] {
            assert!(!read_capabilities(json!({ CARDS: value })).cards, "{value}");
        }
    }

    #[test]
    fn only_known_unsupported_capabilities_are_denied() {
        let denied = |capabilities| -> Vec<_> {
            let denied = read_capabilities(capabilities).denied.into_iter();
            denied.map(|it| (it.capability, it.code)).collect()
        };
        let streaming = ("openharness.streaming", "not_supported");
        assert_eq!(
            denied(json!({"openharness.streaming": {"mode": "sse"}})),
            [streaming]
        );
        assert_eq!(denied(json!({"openharness.streaming": false})), []);
        assert_eq!(denied(json!({"com.example.holograms": true})), []);
        let all = json!({ PARALLEL: true, ATTACHMENTS: true, APPROVAL: true, CARDS: true });
        assert_eq!(denied(all), []);
    }
}
