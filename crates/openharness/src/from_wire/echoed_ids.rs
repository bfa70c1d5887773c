//! Finds the ids of a rejected message: the error response repeats them, whatever else is wrong.

use serde::{
    Deserializer,
    de::{IgnoredAny, MapAccess, Visitor},
};
use serde_json::Value;

use super::object::parse_id;
use crate::request::EchoedIds;

/// Returns the ids of a message that is at least JSON.
pub(super) fn ids_in_message(message: &Value) -> EchoedIds {
    let found = |name: &str| parse_id(message.get(name)?);
    EchoedIds {
        request_id: found("request_id"),
        correlation_id: found("correlation_id"),
    }
}

/// Returns the ids of a body up to the point where it breaks.
pub(super) fn ids_in_broken_body(body: &[u8]) -> EchoedIds {
    let mut echo = EchoedIds::default();
    let mut json = serde_json::Deserializer::from_slice(body);
    // The caller knows already that the body is broken.
    let _ = json.deserialize_map(EchoedIdsVisitor(&mut echo));
    echo
}

struct EchoedIdsVisitor<'a>(&'a mut EchoedIds);

impl<'de> Visitor<'de> for EchoedIdsVisitor<'_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut members: M) -> Result<(), M::Error> {
        while let Some(name) = members.next_key::<String>()? {
            match name.as_str() {
                "request_id" => self.0.request_id = parse_id(&members.next_value()?),
                "correlation_id" => self.0.correlation_id = parse_id(&members.next_value()?),
                _ => {
                    members.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}
