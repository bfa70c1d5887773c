//! Parses YAML into a tree in which every node has its position, with a limit on its depth.
//!
//! Only what JSON can express: no anchors, no tags, one document. Independent of the contents of a file. Hand-written
//! because serde loses the positions inside tagged values, which scenarios consist of.

use std::{borrow::Cow, collections::HashSet, fmt::Display};

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, StrInput};
use serde::de::IgnoredAny;
use serde_json::{Number, Value};

/// A position in a file; both numbers start at 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct YamlPosition {
    /// The line number.
    pub line: usize,
    /// The column, in characters.
    pub column: usize,
}

impl YamlPosition {
    /// The beginning of a file.
    pub const START: Self = Self { line: 1, column: 1 };

    /// Returns the position just after a valid text.
    #[must_use]
    pub fn end_of(text: &[u8]) -> Self {
        let text = String::from_utf8_lossy(text);
        let last = text.rsplit('\n').next().unwrap_or_default();
        Self {
            line: text.matches('\n').count() + 1,
            column: last.chars().count() + 1,
        }
    }
}

impl From<Marker> for YamlPosition {
    fn from(mark: Marker) -> Self {
        Self {
            line: mark.line(),
            column: mark.col() + 1,
        }
    }
}

/// An error in a file, with its position.
#[derive(Debug)]
pub struct YamlFault {
    /// The position of the error.
    pub at: YamlPosition,
    /// The problem, and how to fix it.
    pub reason: String,
}

impl YamlFault {
    /// Creates an error at a position.
    pub fn new(at: YamlPosition, reason: impl Display) -> Self {
        Self {
            at,
            reason: reason.to_string(),
        }
    }
}

/// A value and the position where it begins.
#[derive(Debug)]
pub struct YamlNode {
    /// The position where it begins.
    pub at: YamlPosition,
    /// The value.
    pub data: YamlValue,
}

/// A value that JSON can express.
#[derive(Debug)]
pub enum YamlValue {
    /// The value `null`.
    Null,
    /// A boolean.
    Bool(bool),
    /// A number.
    Number(Number),
    /// A string.
    Text(String),
    /// A list of nodes.
    List(Vec<YamlNode>),
    /// A map, in the order of the file.
    Map(Vec<YamlEntry>),
}

/// A key of a map with its value.
#[derive(Debug)]
pub struct YamlEntry {
    /// The key as a string.
    pub key: String,
    /// The position of the key.
    pub key_at: YamlPosition,
    /// Whether the key is a string; an unquoted number, boolean or null is stored as its text.
    pub key_is_text: bool,
    /// The value of the key.
    pub value: YamlNode,
}

impl YamlNode {
    /// Parses a text of one document.
    pub fn parse(text: &str) -> Result<Self, YamlFault> {
        let text = replace_surrogate_pairs(text);
        let mut tree = YamlTreeBuilder(Parser::new_from_str(&text));
        tree.next()?;
        let root = match tree.next()? {
            (Event::DocumentStart(_), _) => {
                let (event, at) = tree.next()?;
                tree.build_node(event, at, 0)?
            }
            _ => return Err(YamlFault::new(YamlPosition::START, "the file is empty")),
        };
        tree.next()?;
        match tree.next()? {
            (Event::StreamEnd, _) => Ok(root),
            (_, at) => Err(YamlFault::new(
                at,
                "a file must contain one document, not several",
            )),
        }
    }

    /// Converts a JSON value; all nodes have the same position.
    pub fn from_value(value: &Value, at: YamlPosition) -> Self {
        let data = match value {
            Value::Null => YamlValue::Null,
            Value::Bool(value) => YamlValue::Bool(*value),
            Value::Number(number) => YamlValue::Number(number.clone()),
            Value::String(text) => YamlValue::Text(text.clone()),
            Value::Array(items) => YamlValue::List(
                items
                    .iter()
                    .map(|item| Self::from_value(item, at))
                    .collect(),
            ),
            Value::Object(map) => YamlValue::Map(Self::entries_from_map(map, at)),
        };
        Self { at, data }
    }

    fn entries_from_map(map: &serde_json::Map<String, Value>, at: YamlPosition) -> Vec<YamlEntry> {
        let entry = |(key, value): (&String, &Value)| YamlEntry {
            key: key.clone(),
            key_at: at,
            key_is_text: true,
            value: Self::from_value(value, at),
        };
        map.iter().map(entry).collect()
    }

    /// Returns the kind of the value, for a message.
    pub fn kind(&self) -> &'static str {
        match self.data {
            YamlValue::Null => "nothing",
            YamlValue::Bool(_) => "true or false",
            YamlValue::Number(_) => "a number",
            YamlValue::Text(_) => "text",
            YamlValue::List(_) => "a list",
            YamlValue::Map(_) => "a map",
        }
    }

    /// Whether it can have no children.
    pub fn is_scalar(&self) -> bool {
        !matches!(self.data, YamlValue::List(_) | YamlValue::Map(_))
    }

    /// Returns the number of its children.
    pub fn child_count(&self) -> usize {
        match &self.data {
            YamlValue::Null | YamlValue::Bool(_) | YamlValue::Number(_) | YamlValue::Text(_) => 0,
            YamlValue::List(items) => items.len(),
            YamlValue::Map(entries) => entries.len(),
        }
    }

    /// Returns one of its children, in the order of the file.
    pub fn child(&self, index: usize) -> Option<&Self> {
        match &self.data {
            YamlValue::Null | YamlValue::Bool(_) | YamlValue::Number(_) | YamlValue::Text(_) => {
                None
            }
            YamlValue::List(items) => items.get(index),
            YamlValue::Map(entries) => entries.get(index).map(|entry| &entry.value),
        }
    }

    /// Converts the tree to JSON, without positions.
    pub fn to_value(&self) -> Value {
        self.map_children(|_, child| Some(child.to_value()))
    }

    /// Converts the node to JSON, without positions; `child` replaces each child or leaves it out.
    pub fn map_children(&self, child: impl Fn(usize, &Self) -> Option<Value>) -> Value {
        match &self.data {
            YamlValue::Null => Value::Null,
            YamlValue::Bool(value) => Value::Bool(*value),
            YamlValue::Number(number) => Value::Number(number.clone()),
            YamlValue::Text(text) => Value::String(text.clone()),
            YamlValue::List(items) => {
                let items = items.iter().enumerate();
                Value::Array(items.filter_map(|(i, item)| child(i, item)).collect())
            }
            YamlValue::Map(entries) => {
                let pairs = entries.iter().enumerate().filter_map(|(i, entry)| {
                    child(i, &entry.value).map(|value| (entry.key.clone(), value))
                });
                Value::Object(pairs.collect())
            }
        }
    }
}

struct YamlTreeBuilder<'t>(Parser<'t, StrInput<'t>>);

/// Deep enough for every scenario, shallow enough for every stack.
const MAX_DEPTH: usize = 128;

impl<'t> YamlTreeBuilder<'t> {
    fn next(&mut self) -> Result<(Event<'t>, YamlPosition), YamlFault> {
        match self.0.next() {
            Some(Ok((event, span))) => Ok((event, span.start.into())),
            Some(Err(error)) => Err(YamlFault::new(
                (*error.marker()).into(),
                format_args!("invalid YAML: {}", error.info()),
            )),
            None => Err(YamlFault::new(
                YamlPosition::START,
                "the file ends too early",
            )),
        }
    }

    fn build_node(
        &mut self,
        event: Event<'t>,
        at: YamlPosition,
        depth: usize,
    ) -> Result<YamlNode, YamlFault> {
        if depth > MAX_DEPTH {
            let reason = format_args!("values are nested more than {MAX_DEPTH} deep");
            return Err(YamlFault::new(at, reason));
        }
        let data = match event {
            Event::Scalar(_, _, _, Some(_))
            | Event::SequenceStart(_, Some(_))
            | Event::MappingStart(_, Some(_)) => {
                return Err(YamlFault::new(
                    at,
                    "tags are not supported; write plain values",
                ));
            }
            Event::Alias(_) => return Err(YamlFault::new(at, NO_ANCHORS)),
            Event::Scalar(_, _, anchor, None)
            | Event::SequenceStart(anchor, None)
            | Event::MappingStart(anchor, None)
                if anchor != 0 =>
            {
                return Err(YamlFault::new(at, NO_ANCHORS));
            }
            Event::Scalar(text, ScalarStyle::Plain, _, None) => parse_plain(text),
            Event::Scalar(text, _, _, None) => YamlValue::Text(text.into_owned()),
            Event::SequenceStart(_, None) => self.build_list(depth)?,
            Event::MappingStart(_, None) => self.build_map(depth)?,
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd
            | Event::SequenceEnd
            | Event::MappingEnd => return Err(YamlFault::new(at, "a value is missing here")),
        };
        Ok(YamlNode { at, data })
    }

    fn build_list(&mut self, depth: usize) -> Result<YamlValue, YamlFault> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd, _) => return Ok(YamlValue::List(items)),
                (event, at) => items.push(self.build_node(event, at, depth + 1)?),
            }
        }
    }

    fn build_map(&mut self, depth: usize) -> Result<YamlValue, YamlFault> {
        let mut entries = Vec::new();
        let mut seen = HashSet::new();
        loop {
            let (key, key_at, key_is_text) = match self.next()? {
                (Event::MappingEnd, _) => return Ok(YamlValue::Map(entries)),
                (Event::Scalar(key, style, 0, None), at) => {
                    let plain_text = || matches!(parse_plain(key.clone()), YamlValue::Text(_));
                    let is_text = style != ScalarStyle::Plain || plain_text();
                    (key.into_owned(), at, is_text)
                }
                (_, at) => return Err(YamlFault::new(at, "a key must be plain text")),
            };
            if !seen.insert(key.clone()) {
                let reason = format_args!("the key {key:?} is given twice");
                return Err(YamlFault::new(key_at, reason));
            }
            let (event, at) = self.next()?;
            let value = self.build_node(event, at, depth + 1)?;
            entries.push(YamlEntry {
                key,
                key_at,
                key_is_text,
                value,
            });
        }
    }
}

const NO_ANCHORS: &str = "anchors and aliases are not supported; write the value out";

/// Returns the value of an unquoted word, by YAML's core schema. Infinity and not-a-number stay text, because JSON,
/// and so the journal, cannot express them.
fn parse_plain(text: Cow<'_, str>) -> YamlValue {
    match &*text {
        "" | "~" | "null" | "Null" | "NULL" => YamlValue::Null,
        "true" | "True" | "TRUE" => YamlValue::Bool(true),
        "false" | "False" | "FALSE" => YamlValue::Bool(false),
        word => match parse_number(word) {
            Some(number) => YamlValue::Number(number),
            None => YamlValue::Text(text.into_owned()),
        },
    }
}

fn parse_number(word: &str) -> Option<Number> {
    for (prefix, radix) in [("0x", 16), ("0o", 8)] {
        if let Some(digits) = word.strip_prefix(prefix) {
            let digits = Some(digits).filter(|d| d.chars().all(|c| c.is_digit(radix)))?;
            return u64::from_str_radix(digits, radix).ok().map(Number::from);
        }
    }
    let numeric = |c: char| c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '+' | '-');
    if !word.chars().all(numeric) {
        return None;
    }
    if let Ok(whole) = word.parse::<i64>() {
        return Some(whole.into());
    }
    if let Ok(whole) = word.parse::<u64>() {
        return Some(whole.into());
    }
    word.parse().ok().and_then(Number::from_f64)
}

/// Replaces surrogate pairs, which JSON writes as two escapes and YAML does not know, by their character. Columns
/// after a pair count the character once.
fn replace_surrogate_pairs(text: &str) -> Cow<'_, str> {
    let surrogates = text.contains("\\ud") || text.contains("\\uD");
    if !surrogates || serde_json::from_str::<IgnoredAny>(text).is_err() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        // The text is valid JSON, where a backslash begins an escape: a surrogate pair, or two characters to keep.
        let (written, len) = match decode_surrogate_pair(rest) {
            Some(c) => (c.to_string(), "\\uXXXX\\uXXXX".len()),
            None => (rest.chars().take(2).collect(), 2),
        };
        out.push_str(&written);
        rest = rest.get(len..).unwrap_or_default();
    }
    out.push_str(rest);
    Cow::Owned(out)
}

fn decode_surrogate_pair(escapes: &str) -> Option<char> {
    let unit = |at: usize| {
        let digits = escapes.get(at..at + 6)?.strip_prefix("\\u")?;
        u16::from_str_radix(digits, 16).ok()
    };
    let units = [unit(0)?, unit(6)?];
    let mut decoded = char::decode_utf16(units);
    match (decoded.next(), decoded.next()) {
        (Some(Ok(c)), None) => Some(c),
        _ => None,
    }
}
