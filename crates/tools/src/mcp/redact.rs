//! Removes the values of a server's settings from texts about it.
//!
//! A server may print its settings into its log or into an error. Neither may contain a key.

use std::sync::Arc;

use harn_model::{McpServerSpec, McpTransport};

use super::arguments::{find_secrets, find_url_secrets};
use crate::markdown::cut;

/// Shorter values are not redacted: they are switches and numbers, which occur in any text.
const SHORTEST: usize = 4;
const MARK: &str = "<secret>";

/// The values that no text may contain. Clones share them.
#[derive(Clone, Default)]
pub(super) struct Secrets {
    /// Longest first, so that a value that contains another one is replaced as a whole.
    values: Arc<[String]>,
}

impl Secrets {
    /// Collects the values of a server: variables and headers, and what looks like a secret in its arguments or its
    /// URL.
    pub(super) fn from_spec(spec: &McpServerSpec) -> Self {
        let mut values = Vec::new();
        let (given, found) = match &spec.transport {
            McpTransport::Stdio { env, args, .. } => (env, find_secrets(args)),
            McpTransport::Http { url, headers } => (headers, find_url_secrets(url)),
            McpTransport::Unsupported(_) => return Self::default(),
        };
        for (_, secret) in given {
            collect(&mut values, secret.reveal());
        }
        for secret in found {
            collect(&mut values, &secret);
        }
        values.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        values.dedup();
        Self {
            values: values.into(),
        }
    }

    /// Returns the text with each value replaced by a mark.
    pub(super) fn redact(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for value in self.values.iter() {
            if text.contains(value.as_str()) {
                text = text.replace(value.as_str(), MARK);
            }
        }
        text
    }

    /// Returns the length of the longest value. A caller that cuts a text keeps this many more bytes until it is
    /// redacted, because half a value is not recognised.
    pub(super) fn longest(&self) -> usize {
        self.values.first().map_or(0, String::len)
    }
}

/// Adds a value in each form in which it may be printed.
fn collect(values: &mut Vec<String>, value: &str) {
    let mut add = |form: &str| {
        if form.len() >= SHORTEST {
            values.push(form.to_owned());
        }
    };
    add(value);
    // The form in which JSON or Rust quotes it.
    if let Ok(quoted) = serde_json::to_string(value) {
        add(quoted.trim_matches('"'));
    }
    // A log is read line by line.
    if value.contains('\n') {
        value.lines().for_each(&mut add);
    }
    // `Bearer KEY`: the key is the secret.
    if let Some((_, key)) = value.rsplit_once(' ') {
        add(key);
    }
}

/// Turns a foreign text into one line without control characters, of at most `most` bytes and a mark.
pub(super) fn one_line(text: &str, most: usize) -> String {
    let mut line = String::new();
    for part in text.split(|c: char| c.is_control()) {
        if part.is_empty() {
            continue;
        }
        if !line.is_empty() && !line.ends_with(' ') {
            line.push(' ');
        }
        line.push_str(part);
    }
    cut(line, most)
}

#[cfg(test)]
mod tests {
    use harn_model::Secret;

    use super::*;

    #[test]
    fn values_are_redacted_in_every_printed_form() {
        let env = [
            ("TOKEN", "hunter2"),
            ("KEY", "hunter2-and-more"),
            ("PEM", "-----BEGIN\nabc\"def\n"),
            ("DEBUG", "1"),
        ];
        let spec = McpServerSpec {
            name: "s".to_owned(),
            transport: McpTransport::Stdio {
                command: "x".to_owned(),
                args: Vec::new(),
                env: env.map(|(k, v)| (k.to_owned(), Secret::new(v))).into(),
            },
        };
        let secrets = Secrets::from_spec(&spec);
        for (text, expected) in [
            ("TOKEN=hunter2.", "TOKEN=<secret>."),
            ("hunter2-and-more", "<secret>"),
            (
                r#"{"pem":"-----BEGIN\nabc\"def\n"}"#,
                r#"{"pem":"<secret>"}"#,
            ),
            ("read abc\"def", "read <secret>"),
            ("1 of 10", "1 of 10"),
        ] {
            assert_eq!(secrets.redact(text), expected);
        }
    }

    #[test]
    fn keys_in_headers_and_urls_are_redacted() {
        let spec = McpServerSpec {
            name: "s".to_owned(),
            transport: McpTransport::Http {
                url: "http://me:opensesame@localhost/mcp?key=abc%2Fdef".to_owned(),
                headers: vec![("authorization".to_owned(), Secret::new("Bearer tok-123"))],
            },
        };
        let secrets = Secrets::from_spec(&spec);
        for (text, expected) in [
            ("sent Bearer tok-123", "sent <secret>"),
            ("bad key tok-123", "bad key <secret>"),
            ("opensesame, abc/def", "<secret>, <secret>"),
            ("GET /mcp?key=abc%2Fdef", "GET /mcp?<secret>"),
        ] {
            assert_eq!(secrets.redact(text), expected);
        }
    }

    #[test]
    fn secrets_in_arguments_are_redacted_and_other_arguments_are_not() {
        let args = ["--token", "hunter2", "--root", "/srv/data", "--verbose"];
        let spec = McpServerSpec {
            name: "s".to_owned(),
            transport: McpTransport::Stdio {
                command: "x".to_owned(),
                args: args.map(str::to_owned).into(),
                env: Vec::new(),
            },
        };
        let secrets = Secrets::from_spec(&spec);
        assert_eq!(
            secrets.redact("usage: x --token hunter2 --root /srv/data --verbose"),
            "usage: x --token <secret> --root /srv/data --verbose"
        );
    }

    #[test]
    fn control_characters_are_removed_and_long_lines_cut() {
        assert_eq!(one_line("a\x1b[31mb\r\nc\0", 99), "a [31mb c");
        assert_eq!(one_line("grüße", 3), "gr…");
    }
}
