//! The query of a request: percent-decoded names and values. Unknown names are ignored, so that a later version
//! may add some.

use axum::{extract::Query, http::Uri};
use percent_encoding::percent_decode_str;

use crate::error::StateError;

pub(crate) struct QueryParams(Vec<(String, String)>);

impl QueryParams {
    /// Parses the part of a URL after the question mark.
    pub(crate) fn parse(query: &str) -> Result<Self, StateError> {
        // The decoder below replaces invalid UTF-8, which would yield a name that no client sent. The separators
        // are ASCII, so checking the whole query checks every name and value.
        let text = percent_decode_str(query).decode_utf8();
        text.map_err(|_| StateError::NoQuery)?;
        let uri = format!("/?{query}").parse::<Uri>();
        let uri = uri.map_err(|_| StateError::NoQuery)?;
        let pairs = Query::<Vec<(String, String)>>::try_from_uri(&uri);
        let Query(pairs) = pairs.map_err(|_| StateError::NoQuery)?;
        Ok(Self(pairs))
    }

    /// Returns a value that may be missing. A repeated name is an error: other programs on the way may read the
    /// other value.
    pub(crate) fn optional(&self, name: &'static str) -> Result<Option<&str>, StateError> {
        let mut values = self.0.iter().filter(|(given, _)| given == name);
        let value = values.next().map(|(_, value)| value.as_str());
        match values.next() {
            Some(_) => Err(StateError::Twice(name)),
            None => Ok(value),
        }
    }

    /// Returns a value that must be present and not empty.
    pub(crate) fn required(
        &self,
        name: &'static str,
        wanted: &'static str,
    ) -> Result<&str, StateError> {
        let value = self.optional(name)?.filter(|value| !value.is_empty());
        value.ok_or(StateError::BadQuery { name, wanted })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_decoded() {
        let given = QueryParams::parse("call=a%2Fb%26c&q=caf%C3%A9+au%20lait&empty=&bare&x=1&x=2");
        let given = given.unwrap();
        assert_eq!(given.optional("call").unwrap(), Some("a/b&c"));
        assert_eq!(given.optional("q").unwrap(), Some("café au lait"));
        assert_eq!(given.optional("empty").unwrap(), Some(""));
        assert_eq!(given.optional("bare").unwrap(), Some(""));
        assert_eq!(given.optional("missing").unwrap(), None);
        assert!(matches!(given.optional("x"), Err(StateError::Twice("x"))));
        assert!(matches!(
            given.required("empty", "something"),
            Err(StateError::BadQuery { name: "empty", .. })
        ));
        assert!(
            QueryParams::parse("")
                .unwrap()
                .optional("q")
                .unwrap()
                .is_none()
        );
    }

    #[test]
    fn malformed_queries_are_rejected() {
        assert!(matches!(
            QueryParams::parse("q=a b\n"),
            Err(StateError::NoQuery)
        ));
        for bytes in [
            "q=%ff",
            "q=caf%C3",
            "%ff=1",
            "q=%C3%28",
            "q=%ED%A0%80",
            "a=1&b=%Fe&c=2",
        ] {
            let refused = QueryParams::parse(bytes);
            assert!(matches!(refused, Err(StateError::NoQuery)), "{bytes}");
        }
        // An encoded replacement character is itself, and so is an invalid escape.
        for (query, value) in [
            ("q=%EF%BF%BD", "\u{fffd}"),
            ("q=100%", "100%"),
            ("q=%zz", "%zz"),
        ] {
            let given = QueryParams::parse(query).unwrap();
            assert_eq!(given.optional("q").unwrap(), Some(value), "{query}");
        }
    }
}
