//! TOML as the tree that front matter is read from, so that what both may say is decoded once.

use serde_json::Number;
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use crate::yaml::{Data, Entry, Node, Pos};

/// The entries of a table, in the order of their names.
pub(super) fn entries(table: &DeTable<'_>, text: &str) -> Vec<Entry> {
    let entry = |(key, value): (&Spanned<_>, &Spanned<DeValue<'_>>)| {
        let name: &str = AsRef::<str>::as_ref(key.get_ref());
        Entry {
            key: name.to_owned(),
            key_at: place(text, key.span().start),
            key_is_text: true,
            value: node(value, text),
        }
    };
    table.iter().map(entry).collect()
}

fn node(value: &Spanned<DeValue<'_>>, text: &str) -> Node {
    let number = |digits: &str| match digits.parse::<Number>() {
        Ok(number) => Data::Number(number),
        Err(_) => Data::Text(digits.to_owned()),
    };
    let data = match value.get_ref() {
        DeValue::String(text) => Data::Text(text.to_string()),
        DeValue::Integer(digits) => number(digits.as_str()),
        DeValue::Float(digits) => number(digits.as_str()),
        DeValue::Boolean(value) => Data::Bool(*value),
        DeValue::Datetime(moment) => Data::Text(moment.to_string()),
        DeValue::Array(items) => Data::List(items.iter().map(|item| node(item, text)).collect()),
        DeValue::Table(table) => Data::Map(entries(table, text)),
    };
    let at = place(text, value.span().start);
    Node { at, data }
}

fn place(text: &str, at: usize) -> Pos {
    Pos::after(text.as_bytes().get(..at).unwrap_or_default())
}
