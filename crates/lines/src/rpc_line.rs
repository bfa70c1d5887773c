//! The members of a JSON-RPC line, found without building its values: a line that is no message must cost little more
//! than its own length.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::value::RawValue;

/// The most values that a line may have. A value takes up to a hundred bytes in memory and two on the line.
const MOST_VALUES: usize = 512 * 1024;

/// The members of a line that is a JSON object. Of a repeated member, the last one counts.
#[derive(Clone, Copy, Debug, Default)]
pub struct RpcLine<'a> {
    /// The version of the protocol.
    pub jsonrpc: Option<&'a RawValue>,
    /// The id of a request or an answer.
    pub id: Option<&'a RawValue>,
    /// The method of a request or a notification.
    pub method: Option<&'a RawValue>,
    /// The arguments of the method.
    pub params: Option<&'a RawValue>,
    /// The result of a request.
    pub result: Option<&'a RawValue>,
    /// The error of a request.
    pub error: Option<&'a RawValue>,
}

/// The reason why a line has no members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RpcLineFault {
    /// The line is not JSON.
    #[error("the line is not JSON")]
    NotJson,
    /// Arrays and objects are nested too deeply.
    #[error("the line is nested too deeply; the limit is 127 levels")]
    TooDeep,
    /// The line has too many values.
    #[error("the line has more than {MOST_VALUES} values")]
    TooManyValues,
    /// The line is an array.
    #[error("batches are not supported")]
    Batch,
    /// The line is a value of another kind.
    #[error("the line is not an object")]
    NotAnObject,
}

impl<'a> RpcLine<'a> {
    /// Finds the members of a line.
    pub fn read(line: &'a str) -> Result<Self, RpcLineFault> {
        check_values(line)?;
        match line.trim_ascii_start().as_bytes().first() {
            Some(b'{') => serde_json::from_str(line).map_err(|_| RpcLineFault::NotJson),
            Some(b'[') => Err(RpcLineFault::Batch),
            _ => Err(RpcLineFault::NotAnObject),
        }
    }

    /// Whether it is an answer, also one without an id.
    pub fn is_answer(&self) -> bool {
        self.method.is_none() && (self.result.is_some() || self.error.is_some())
    }

    /// Whether it has the version and the kind of members that a request, a notification or an answer has.
    pub fn is_message(&self) -> bool {
        let begins = |value: &RawValue, with: &[u8]| {
            let first = value.get().as_bytes().first();
            first.is_some_and(|first| with.contains(first))
        };
        let version = self.jsonrpc.and_then(text_of);
        let is_request = self.method.is_some_and(|method| begins(method, b"\""))
            && self.params.is_none_or(|params| begins(params, b"{[n"))
            && self.result.is_none()
            && self.error.is_none();
        let is_answer = self.is_answer() && self.id.is_some();
        version.as_deref() == Some("2.0") && (is_request || is_answer)
    }
}

fn text_of(value: &RawValue) -> Option<Cow<'_, str>> {
    #[derive(Deserialize)]
    struct Text<'a>(#[serde(borrow)] Cow<'a, str>);
    serde_json::from_str(value.get())
        .ok()
        .map(|Text(text)| text)
}

impl<'de: 'a, 'a> Deserialize<'de> for RpcLine<'a> {
    fn deserialize<D: Deserializer<'de>>(line: D) -> Result<Self, D::Error> {
        line.deserialize_map(RpcLineVisitor)
    }
}

struct RpcLineVisitor;

impl<'de> Visitor<'de> for RpcLineVisitor {
    type Value = RpcLine<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut members: M) -> Result<Self::Value, M::Error> {
        let mut line = RpcLine::default();
        while let Some(name) = members.next_key::<String>()? {
            let member = match name.as_str() {
                "jsonrpc" => &mut line.jsonrpc,
                "id" => &mut line.id,
                "method" => &mut line.method,
                "params" => &mut line.params,
                "result" => &mut line.result,
                "error" => &mut line.error,
                _ => {
                    members.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            *member = Some(members.next_value()?);
        }
        Ok(line)
    }
}

/// Checks that a line is JSON which does not take much more memory than the line itself.
fn check_values(line: &str) -> Result<(), RpcLineFault> {
    let mut json = serde_json::Deserializer::from_str(line);
    let mut left = MOST_VALUES;
    let checked = ValueCount(&mut left).deserialize(&mut json);
    let checked = checked.and_then(|()| json.end());
    checked.map_err(|error| match left {
        0 => RpcLineFault::TooManyValues,
        _ if error.to_string().starts_with("recursion limit") => RpcLineFault::TooDeep,
        _ => RpcLineFault::NotJson,
    })
}

/// Visits a value and everything in it, and counts down.
struct ValueCount<'c>(&'c mut usize);

impl<'de> DeserializeSeed<'de> for ValueCount<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<(), D::Error> {
        *self.0 = self.0.saturating_sub(1);
        if *self.0 == 0 {
            return Err(D::Error::custom("too many values"));
        }
        value.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValueCount<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut values: S) -> Result<(), S::Error> {
        while values.next_element_seed(ValueCount(self.0))?.is_some() {}
        Ok(())
    }

    fn visit_map<M: MapAccess<'de>>(self, mut members: M) -> Result<(), M::Error> {
        while members.next_key::<IgnoredAny>()?.is_some() {
            members.next_value_seed(ValueCount(self.0))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(line: &str) -> Option<RpcLineFault> {
        RpcLine::read(line).err()
    }

    #[test]
    fn members_are_found_and_the_last_one_counts() {
        let line =
            r#" {"id":1,"jsonrpc":"2.0","x":[{}],"method":"m","params":{"a":[1]},"id":"b"} "#;
        let found = RpcLine::read(line).unwrap();
        assert!(found.is_message() && !found.is_answer());
        assert_eq!(found.id.unwrap().get(), r#""b""#);
        assert_eq!(found.params.unwrap().get(), r#"{"a":[1]}"#);
        let escaped = RpcLine::read(r#"{"jsonrpc":"2\u002e0","m\u0065thod":"m"}"#).unwrap();
        assert!(escaped.is_message());
    }

    #[test]
    fn only_requests_notifications_and_answers_are_messages() {
        for (line, is_message, is_answer) in [
            (
                r#"{"jsonrpc":"2.0","method":"m","params":null}"#,
                true,
                false,
            ),
            (r#"{"jsonrpc":"2.0","id":null,"result":1}"#, true, true),
            (r#"{"jsonrpc":"2.0","error":{}}"#, false, true),
            (r#"{"method":"m"}"#, false, false),
            (r#"{"jsonrpc":"2.0","method":1}"#, false, false),
            (r#"{"jsonrpc":"2.0","method":"m","params":1}"#, false, false),
            (r#"{"jsonrpc":"2.0","method":"m","result":1}"#, false, false),
            ("{}", false, false),
        ] {
            let found = RpcLine::read(line).unwrap();
            assert_eq!(
                (found.is_message(), found.is_answer()),
                (is_message, is_answer),
                "{line}"
            );
        }
    }

    #[test]
    fn each_fault_has_its_reason() {
        assert_eq!(fault("{\"a\":1"), Some(RpcLineFault::NotJson));
        assert_eq!(fault("{} {}"), Some(RpcLineFault::NotJson));
        assert_eq!(fault(r#"{"a":"\ud800"}"#), Some(RpcLineFault::NotJson));
        assert_eq!(fault("[]"), Some(RpcLineFault::Batch));
        assert_eq!(fault("17"), Some(RpcLineFault::NotAnObject));
        let deep = "[".repeat(1000) + &"]".repeat(1000);
        assert_eq!(fault(&deep), Some(RpcLineFault::TooDeep));
        let many = format!("{{\"params\":[{}1]}}", "1,".repeat(MOST_VALUES));
        assert_eq!(fault(&many), Some(RpcLineFault::TooManyValues));
        let long = format!("{{\"params\":[{:?}]}}", "1,".repeat(MOST_VALUES));
        assert_eq!(fault(&long), None);
    }
}
