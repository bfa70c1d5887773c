//! The query of a request: names and values, percent-decoded. Names that nobody asks for are ignored, so that
//! a later version may have more.

use axum::{extract::Query, http::Uri};
use percent_encoding::percent_decode_str;

use crate::error::StateError;

pub(crate) struct QueryParams(Vec<(String, String)>);

impl QueryParams {
    /// Reads a query as it stands behind the question mark.
    pub(crate) fn parse(query: &str) -> Result<Self, StateError> {
        // What is decoded below would be patched up, and so be a name that nobody gave. What separates names and
        // values is ASCII, so that it makes no difference whether each is decoded by itself.
        let text = percent_decode_str(query).decode_utf8();
        text.map_err(|_| StateError::NoQuery)?;
        let uri = format!("/?{query}").parse::<Uri>();
        let uri = uri.map_err(|_| StateError::NoQuery)?;
        let pairs = Query::<Vec<(String, String)>>::try_from_uri(&uri);
        let Query(pairs) = pairs.map_err(|_| StateError::NoQuery)?;
        Ok(Self(pairs))
    }

    /// A value that may be missing. Two of a name are an error: others on the way may take the other one.
    pub(crate) fn optional(&self, name: &'static str) -> Result<Option<&str>, StateError> {
        let mut values = self.0.iter().filter(|(given, _)| given == name);
        let value = values.next().map(|(_, value)| value.as_str());
        match values.next() {
            Some(_) => Err(StateError::Twice(name)),
            None => Ok(value),
        }
    }

    /// A value that has to be there, and to say something.
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
    fn what_is_no_query_is_refused() {
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
        // A replacement character that was meant is one, and what is no escape is itself.
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
