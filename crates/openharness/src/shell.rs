//! The identity of a Shell, and the text style that follows from it.

use serde_json::{Map, Value};

use crate::{
    capabilities::RequestedCapabilities,
    error::OpenHarnessError,
    from_wire::MessageObject,
    request::{ShellProfile, TextStyle},
};

const MEMBERS: [&str; 4] = ["shell_kind", "shell_version", "locale", "timezone"];

/// The families of Shells that do not receive Markdown.
const FAMILIES: &[(&str, TextStyle)] = &[
    ("command_shell", TextStyle::Plain),
    ("cli", TextStyle::Plain),
    ("terminal", TextStyle::Plain),
    ("tv", TextStyle::Short),
    ("vehicle_hmi", TextStyle::Short),
    ("watch", TextStyle::Short),
];

/// Returns the profile of the Shell that sent a request with these capabilities.
pub(crate) fn read(
    context: &MessageObject<'_>,
    wanted: RequestedCapabilities,
) -> Result<ShellProfile, OpenHarnessError> {
    let Some(shell) = context.object_with_texts("shell", &MEMBERS)? else {
        return Ok(profile(TextStyle::default(), wanted));
    };
    let kind = shell.text("shell_kind")?;
    if kind == Some("") {
        return Err(shell.wrong_member("shell_kind", "must name a kind of Shell, or be left out"));
    }
    Ok(profile(kind.map(text_style).unwrap_or_default(), wanted))
}

fn profile(manner: TextStyle, wanted: RequestedCapabilities) -> ShellProfile {
    ShellProfile {
        manner,
        cards: wanted.cards,
        parallel: wanted.parallel,
        denied: wanted.denied,
    }
}

/// Returns the identity of the Shell for the agent.
pub(crate) fn identity(context: &MessageObject<'_>) -> Result<Option<Value>, OpenHarnessError> {
    let Some(shell) = context.object_with_texts("shell", &MEMBERS)? else {
        return Ok(None);
    };
    let known = shell.members().filter(|(name, _)| MEMBERS.contains(name));
    let known: Map<_, _> = known
        .map(|(name, value)| (name.to_owned(), value.clone()))
        .collect();
    Ok((!known.is_empty()).then_some(Value::Object(known)))
}

/// Returns the text style of a kind of Shell. A kind belongs to a family if its name only adds a prefix with
/// a dot or a suffix with an underscore.
fn text_style(kind: &str) -> TextStyle {
    let kind = kind.trim().to_ascii_lowercase().replace('-', "_");
    let own = kind.rsplit(['.', '/', ':']).next().unwrap_or_default();
    let belongs = |family: &str| {
        own.strip_prefix(family)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
    };
    let family = FAMILIES.iter().find(|(family, _)| belongs(family));
    family.map_or(TextStyle::default(), |(_, manner)| *manner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_shells_have_the_text_style_of_their_family() {
        let table = [
            ("im_bot", TextStyle::Markdown),
            ("im_bot_cli", TextStyle::Markdown),
            ("com.example.kiosk", TextStyle::Markdown),
            ("web", TextStyle::Markdown),
            ("", TextStyle::Markdown),
            ("command_shell", TextStyle::Plain),
            ("Command-Shell", TextStyle::Plain),
            ("command_shell_zsh", TextStyle::Plain),
            ("com.example.command_shell", TextStyle::Plain),
            ("cli", TextStyle::Plain),
            ("client", TextStyle::Markdown),
            ("terminal", TextStyle::Plain),
            ("tv", TextStyle::Short),
            ("tv_4k", TextStyle::Short),
            ("tvguide", TextStyle::Markdown),
            ("com.example.tv", TextStyle::Short),
            ("vehicle_hmi", TextStyle::Short),
            ("vehicle_hmi_rear", TextStyle::Short),
            ("vehicle", TextStyle::Markdown),
            ("watch", TextStyle::Short),
        ];
        for (kind, expected) in table {
            assert_eq!(text_style(kind), expected, "{kind}");
        }
    }
}
