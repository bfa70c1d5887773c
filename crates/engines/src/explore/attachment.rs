//! Resources and links that are attached to a prompt. Pure.

use harn_model::{Resource, ResourceLink};

/// A resource or link of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PromptAttachment {
    /// An embedded resource with its text.
    Text { name: String, text: String },
    /// A file to read, at a line if the link names one.
    File { path: String, line: Option<u32> },
    /// An attachment that this agent cannot read.
    Unreadable { name: String },
}

impl PromptAttachment {
    pub(super) fn from_resource(resource: &Resource) -> Self {
        let name = match file_path(&resource.uri) {
            Some((path, _)) => path,
            None => resource.uri.clone(),
        };
        match &resource.text {
            Some(text) => Self::Text {
                name,
                text: text.clone(),
            },
            None => Self::Unreadable { name },
        }
    }

    pub(super) fn from_link(link: &ResourceLink) -> Self {
        match file_path(&link.uri) {
            Some((path, line)) => Self::File { path, line },
            None => Self::Unreadable {
                name: link.uri.clone(),
            },
        }
    }
}

/// Parses the path of a `file:` URI and the line in its fragment: `file:///a%20b.rs#L3`.
fn file_path(uri: &str) -> Option<(String, Option<u32>)> {
    let rest = uri.strip_prefix("file://")?;
    let rest = rest.strip_prefix("localhost").unwrap_or(rest);
    if !rest.starts_with('/') {
        return None;
    }
    let (rest, fragment) = rest.split_once('#').unwrap_or((rest, ""));
    let path = rest.split_once('?').map_or(rest, |(path, _)| path);
    let digits = fragment.trim_start_matches('L');
    let digits = digits.split(|c: char| !c.is_ascii_digit()).next();
    let line = digits.and_then(|digits| digits.parse().ok());
    Some((percent_decode(path)?, line.filter(|line| *line > 0)))
}

fn percent_decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || char::from(rest.next()?).to_digit(16);
        let value = digit()? * 16 + digit()?;
        bytes.push(u8::try_from(value).ok()?);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_uris_become_paths() {
        let path = |uri: &str| file_path(uri);
        let at = |path: &str, line| Some((path.to_owned(), line));
        assert_eq!(path("file:///a/b.rs"), at("/a/b.rs", None));
        assert_eq!(
            path("file://localhost/a%20b/%C3%B6.rs"),
            at("/a b/ö.rs", None)
        );
        assert_eq!(path("file:///a.rs#L12"), at("/a.rs", Some(12)));
        assert_eq!(path("file:///a.rs?symbol=x#L12:20"), at("/a.rs", Some(12)));
        assert_eq!(path("file:///a.rs#L0"), at("/a.rs", None));
        assert_eq!(path("file:///a%2"), None);
        assert_eq!(path("file:///a%zz"), None);
        assert_eq!(path("file:///a%ff"), None);
        assert_eq!(path("file://elsewhere/a"), None);
        assert_eq!(path("https://example.org/a"), None);
    }

    #[test]
    fn resource_without_text_is_unreadable() {
        let resource = |text: Option<&str>| Resource {
            uri: "file:///w/a.txt".to_owned(),
            mime_type: None,
            text: text.map(str::to_owned),
            blob: None,
        };
        let name = "/w/a.txt".to_owned();
        let text = "hello".to_owned();
        let embedded = PromptAttachment::from_resource(&resource(Some("hello")));
        assert_eq!(
            embedded,
            PromptAttachment::Text {
                name: name.clone(),
                text
            }
        );
        assert_eq!(
            PromptAttachment::from_resource(&resource(None)),
            PromptAttachment::Unreadable { name }
        );
    }
}
