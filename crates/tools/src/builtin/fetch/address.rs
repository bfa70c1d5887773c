//! Web addresses that `fetch` accepts, and the redirects it may follow. Pure; the rules decide whether an address
//! may be reached.

use harn_model::ErrorCategory;
use harn_runtime::ToolError;
use reqwest::Url;

/// A web address without credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FetchAddress(Url);

impl FetchAddress {
    /// Parses an address. The error does not repeat the input.
    pub(super) fn parse(given: &str) -> Result<Self, ToolError> {
        let unfit =
            |message: &str| ToolError::with_category(ErrorCategory::SchemaValidation, message);
        let parsed = Url::parse(given.trim());
        let mut url =
            parsed.map_err(|error| unfit(&format!("`url` is not an address: {error}")))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(unfit("`url` must begin with http:// or https://"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            let wrong = "`url` contains a user or a password; such addresses are not fetched";
            return Err(unfit(wrong));
        }
        url.set_fragment(None);
        Ok(Self(url))
    }

    pub(super) fn as_str(&self) -> &str {
        self.0.as_str()
    }

    pub(super) fn url(&self) -> Url {
        self.0.clone()
    }

    /// Returns the target of a redirect if it is on the same host and no less secure.
    pub(super) fn follow(&self, location: &str) -> Result<Self, ToolError> {
        let joined = self.0.join(location);
        let joined =
            joined.map_err(|_| ToolError::new("the server redirects without a valid address"))?;
        let next = Self::parse(joined.as_str())?;
        let safer = self.0.scheme() == "http" && next.0.scheme() == "https";
        let ports = (self.0.port(), next.0.port());
        let same_server = self.0.host_str() == next.0.host_str()
            && (self.0.scheme() == next.0.scheme() && ports.0 == ports.1
                || safer && ports == (None, None));
        if same_server {
            return Ok(next);
        }
        Err(ToolError::new(format!(
            "the server redirects to {}; fetch that if it is what you want",
            next.as_str()
        )))
    }
}

/// Returns whether a media type is text.
pub(super) fn is_text(content_type: &str) -> bool {
    let kind = content_type.split(';').next().unwrap_or_default().trim();
    let kind = kind.to_ascii_lowercase();
    match kind.split_once('/') {
        None => false,
        Some(("text", _)) => true,
        Some((
            "application",
            "json" | "xml" | "javascript" | "ecmascript" | "yaml" | "x-yaml" | "toml" | "x-ndjson"
            | "x-sh" | "sql" | "graphql",
        )) => true,
        Some((_, name)) => {
            let ends = ["+json", "+xml", "+yaml", "+text"];
            ends.iter().any(|end| name.ends_with(end))
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(told: Result<FetchAddress, ToolError>, expected: &Expect) {
        expected.assert_eq(&match told {
            Ok(address) => address.as_str().to_owned(),
            Err(error) => error.message,
        });
    }

    #[test]
    fn only_web_addresses_without_credentials_parse() {
        let parse = FetchAddress::parse;
        check(
            parse(" https://a.example/x?q=1#part "),
            &expect!["https://a.example/x?q=1"],
        );
        check(
            parse("file:///etc/passwd"),
            &expect!["`url` must begin with http:// or https://"],
        );
        check(
            parse("a.example"),
            &expect!["`url` is not an address: relative URL without a base"],
        );
        for secret in [
            "https://ada:hunter2@a.example/",
            "https://hunter2@a.example/",
        ] {
            check(
                parse(secret),
                &expect!["`url` contains a user or a password; such addresses are not fetched"],
            );
        }
    }

    #[test]
    fn redirects_stay_on_their_host() {
        let from =
            |address: &str, location: &str| FetchAddress::parse(address).unwrap().follow(location);
        check(
            from("http://a.example/x", "/y"),
            &expect!["http://a.example/y"],
        );
        check(
            from("http://a.example/x", "https://a.example/x"),
            &expect!["https://a.example/x"],
        );
        check(
            from("https://a.example/x", "http://a.example/x"),
            &expect![
                "the server redirects to http://a.example/x; fetch that if it is what you want"
            ],
        );
        check(
            from("http://a.example/x", "//b.example/"),
            &expect![
                "the server redirects to http://b.example/; fetch that if it is what you want"
            ],
        );
        check(
            from("http://a.example:8080/x", "http://a.example:22/"),
            &expect![
                "the server redirects to http://a.example:22/; fetch that if it is what you want"
            ],
        );
        check(
            from("http://a.example/x", "http://ada:hunter2@a.example/"),
            &expect!["`url` contains a user or a password; such addresses are not fetched"],
        );
        check(
            from("http://a.example/x", "file:///etc/passwd"),
            &expect!["`url` must begin with http:// or https://"],
        );
    }

    #[test]
    fn is_text_detects_media_types_of_text() {
        for (kind, expected) in [
            ("text/html; charset=utf-8", true),
            ("Application/JSON", true),
            ("application/ld+json", true),
            ("image/svg+xml", true),
            ("image/png", false),
            ("application/octet-stream", false),
            ("text", false),
        ] {
            assert_eq!(is_text(kind), expected, "{kind}");
        }
    }
}
