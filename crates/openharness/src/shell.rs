//! What a Shell says it is, and how it is spoken to for that.

use serde_json::{Map, Value};

use crate::{
    asked::{Manner, Shell},
    capabilities::Wanted,
    error::Fault,
    from_wire::Object,
};

const MEMBERS: [&str; 4] = ["shell_kind", "shell_version", "locale", "timezone"];

/// Families that are not spoken to in Markdown.
const FAMILIES: &[(&str, Manner)] = &[
    ("command_shell", Manner::Plain),
    ("cli", Manner::Plain),
    ("terminal", Manner::Plain),
    ("tv", Manner::Short),
    ("vehicle_hmi", Manner::Short),
    ("watch", Manner::Short),
];

/// The Shell of a request that wants this.
pub(crate) fn read(context: &Object<'_>, wanted: Wanted) -> Result<Shell, Fault> {
    let Some(shell) = context.texts("shell", &MEMBERS)? else {
        return Ok(speaks(Manner::default(), wanted));
    };
    let kind = shell.text("shell_kind")?;
    if kind == Some("") {
        return Err(shell.wrong("shell_kind", "has to name a kind of Shell, or be left out"));
    }
    Ok(speaks(kind.map(manner).unwrap_or_default(), wanted))
}

fn speaks(manner: Manner, wanted: Wanted) -> Shell {
    Shell {
        manner,
        cards: wanted.cards,
        parallel: wanted.parallel,
        denied: wanted.denied,
    }
}

/// What an agent is told of the Shell.
pub(crate) fn identity(context: &Object<'_>) -> Result<Option<Value>, Fault> {
    let Some(shell) = context.texts("shell", &MEMBERS)? else {
        return Ok(None);
    };
    let known = shell.members().filter(|(name, _)| MEMBERS.contains(name));
    let known: Map<_, _> = known
        .map(|(name, value)| (name.to_owned(), value.clone()))
        .collect();
    Ok((!known.is_empty()).then_some(Value::Object(known)))
}

/// How a kind of Shell shows text. One that only adds to the name of a family, before it with a dot or after
/// it with an underscore, is of that family.
fn manner(kind: &str) -> Manner {
    let kind = kind.trim().to_ascii_lowercase().replace('-', "_");
    let own = kind.rsplit(['.', '/', ':']).next().unwrap_or_default();
    let belongs = |family: &str| {
        own.strip_prefix(family)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
    };
    let family = FAMILIES.iter().find(|(family, _)| belongs(family));
    family.map_or(Manner::default(), |(_, manner)| *manner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_spoken_to_as_their_family() {
        let table = [
            ("im_bot", Manner::Markdown),
            ("im_bot_cli", Manner::Markdown),
            ("com.example.kiosk", Manner::Markdown),
            ("web", Manner::Markdown),
            ("", Manner::Markdown),
            ("command_shell", Manner::Plain),
            ("Command-Shell", Manner::Plain),
            ("command_shell_zsh", Manner::Plain),
            ("com.example.command_shell", Manner::Plain),
            ("cli", Manner::Plain),
            ("client", Manner::Markdown),
            ("terminal", Manner::Plain),
            ("tv", Manner::Short),
            ("tv_4k", Manner::Short),
            ("tvguide", Manner::Markdown),
            ("com.example.tv", Manner::Short),
            ("vehicle_hmi", Manner::Short),
            ("vehicle_hmi_rear", Manner::Short),
            ("vehicle", Manner::Markdown),
            ("watch", Manner::Short),
        ];
        for (kind, expected) in table {
            assert_eq!(manner(kind), expected, "{kind}");
        }
    }
}
