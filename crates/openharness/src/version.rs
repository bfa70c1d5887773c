//! The accepted protocol versions: all of major version 1, treated as 1.0.0.

use crate::{error::OpenHarnessError, from_wire::MessageObject};

/// The version that every response has.
pub(crate) const OURS: &str = "1.0.0";
/// The versions that every response lists.
pub(crate) const SUPPORTED: [&str; 1] = [OURS];

const FIELD: &str = "protocol_version";
const PROBLEM: &str = "must be a semantic version, such as \"1.0.0\"";

/// Checks that the version of a message is supported.
pub(crate) fn check(message: &MessageObject<'_>) -> Result<(), OpenHarnessError> {
    let text = match message.text(FIELD) {
        Ok(Some(text)) => text,
        Ok(None) | Err(_) => return Err(message.wrong_member(FIELD, PROBLEM)),
    };
    match parse_major(text) {
        None => Err(message.wrong_member(FIELD, PROBLEM)),
        Some("1") => Ok(()),
        Some(_) => Err(OpenHarnessError::Version),
    }
}

/// Returns the major version of a text with the form of the draft's schema: three numbers, an optional
/// pre-release and an optional build.
fn parse_major(text: &str) -> Option<&str> {
    let (text, build) = text
        .split_once('+')
        .map_or((text, None), |(a, b)| (a, Some(b)));
    let (numbers, draft) = text
        .split_once('-')
        .map_or((text, None), |(a, b)| (a, Some(b)));
    let word = |text: &str| {
        let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'.' || b == b'-';
        !text.is_empty() && text.bytes().all(plain)
    };
    let numeric = |text: &&str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let mut parts = numbers.split('.');
    let major = parts.next().filter(numeric)?;
    parts.next().filter(numeric)?;
    parts.next().filter(numeric)?;
    let whole = parts.next().is_none();
    let fits = whole && draft.is_none_or(word) && build.is_none_or(word);
    fits.then(|| major.trim_start_matches('0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn major_version_is_parsed_from_a_valid_version() {
        let table = [
            ("1.0.0", Some("1")),
            ("1.12.3", Some("1")),
            ("1.0.0-draft", Some("1")),
            ("1.0.0-rc.1+build.5", Some("1")),
            ("1.0.0+a-b", Some("1")),
            ("2.0.0", Some("2")),
            ("0.9.0", Some("")),
            ("10.0.0", Some("10")),
            ("1.0", None),
            ("1", None),
            ("v1.0.0", None),
            ("1.0.0.0", None),
            ("1.0.x", None),
            ("1..0", None),
            ("1.0.0-", None),
            ("1.0.0+", None),
            ("1.0.0-ä", None),
            (" 1.0.0", None),
            ("1.0.0\n", None),
            ("", None),
        ];
        for (text, expected) in table {
            assert_eq!(parse_major(text), expected, "{text:?}");
        }
    }
}
