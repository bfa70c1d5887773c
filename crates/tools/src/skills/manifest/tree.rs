//! Converts TOML into the tree of front matter, so that one decoder reads both.

use serde_json::Number;
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use crate::yaml::{YamlEntry, YamlNode, YamlPosition, YamlValue};

/// Returns the entries of a table, sorted by name.
pub(super) fn entries(table: &DeTable<'_>, text: &str) -> Vec<YamlEntry> {
    let entry = |(key, value): (&Spanned<_>, &Spanned<DeValue<'_>>)| {
        let name: &str = AsRef::<str>::as_ref(key.get_ref());
        YamlEntry {
            key: name.to_owned(),
            key_at: position(text, key.span().start),
            key_is_text: true,
            value: node(value, text),
        }
    };
    table.iter().map(entry).collect()
}

fn node(value: &Spanned<DeValue<'_>>, text: &str) -> YamlNode {
    let number = |digits: &str| match digits.parse::<Number>() {
        Ok(number) => YamlValue::Number(number),
        Err(_) => YamlValue::Text(digits.to_owned()),
    };
    let data = match value.get_ref() {
        DeValue::String(text) => YamlValue::Text(text.to_string()),
        DeValue::Integer(digits) => number(digits.as_str()),
        DeValue::Float(digits) => number(digits.as_str()),
        DeValue::Boolean(value) => YamlValue::Bool(*value),
        DeValue::Datetime(moment) => YamlValue::Text(moment.to_string()),
        DeValue::Array(items) => {
            YamlValue::List(items.iter().map(|item| node(item, text)).collect())
        }
        DeValue::Table(table) => YamlValue::Map(entries(table, text)),
    };
    let at = position(text, value.span().start);
    YamlNode { at, data }
}

fn position(text: &str, at: usize) -> YamlPosition {
    YamlPosition::end_of(text.as_bytes().get(..at).unwrap_or_default())
}
