//! The tools to search, taken apart into words once: what every ranking looks at.
//!
//! Tools stand in the order of their names, so that equal scores in the order of places are in the order of
//! names.

use std::collections::BTreeMap;

use harn_model::{ToolSource, ToolSpec};
use serde_json::Value;

/// A word stands in the name of a tool.
pub(super) const IN_NAME: u8 = 1;
/// In its description.
pub(super) const IN_DESCRIPTION: u8 = 2;
/// In the name or the description of a parameter.
pub(super) const IN_PARAMETER: u8 = 4;
/// In what tells where it is from.
const IN_TAG: u8 = 0;

/// Tools to search. Building it is the slow part: keep it while the tools stay the same.
#[derive(Debug, Default)]
pub struct ToolIndex {
    pub(super) tools: Vec<IndexedTool>,
    /// The words, and where each stands.
    pub(super) terms: BTreeMap<String, Vec<TermPosting>>,
    pub(super) mean_length: f64,
}

/// A tool as it is searched.
#[derive(Debug)]
pub(super) struct IndexedTool {
    pub(super) name: String,
    pub(super) lower_name: String,
    /// All it says of itself, a line each.
    pub(super) text: String,
    /// Words of the text.
    pub(super) length: u32,
}

/// A tool that has a word.
#[derive(Clone, Copy, Debug)]
pub(super) struct TermPosting {
    pub(super) tool: usize,
    pub(super) count: u32,
    /// In which parts of what it says.
    pub(super) parts: u8,
}

impl ToolIndex {
    /// Takes the tools apart. Of two of the same name, the first counts.
    #[must_use]
    pub fn new<'a>(tools: impl IntoIterator<Item = &'a ToolSpec>) -> Self {
        let mut by_name: BTreeMap<&str, &ToolSpec> = BTreeMap::new();
        for tool in tools {
            by_name.entry(&tool.name).or_insert(tool);
        }
        let mut terms = BTreeMap::new();
        let mut indexed = Vec::with_capacity(by_name.len());
        for (place, tool) in by_name.into_values().enumerate() {
            let mut text = String::new();
            let mut length = 0;
            for (part, line) in lines(tool) {
                for word in tokens(&line.to_lowercase()) {
                    length += 1;
                    note(&mut terms, word, place, part);
                }
                if !text.is_empty() {
                    text.push('\n');
                }
                text.push_str(&line);
            }
            indexed.push(IndexedTool {
                name: tool.name.clone(),
                lower_name: tool.name.to_lowercase(),
                text,
                length,
            });
        }
        let words: f64 = indexed.iter().map(|tool| f64::from(tool.length)).sum();
        Self {
            // Of no tools there is no mean, and nobody to compare with it.
            mean_length: words / indexed.len().max(1) as f64,
            tools: indexed,
            terms,
        }
    }

    /// The names of the tools, sorted.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.tools.iter().map(|tool| &*tool.name)
    }

    /// What a tool says of itself, a line each: its name, what it does, its parameters, its server.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        Some(&self.tools[self.find(name)?].text)
    }

    /// Where the tool of this name is.
    pub(super) fn find(&self, name: &str) -> Option<usize> {
        let found = self.tools.binary_search_by(|tool| (*tool.name).cmp(name));
        found.ok()
    }

    /// The tools that have this word.
    pub(super) fn places(&self, word: &str) -> &[TermPosting] {
        self.terms.get(word).map_or(&[], Vec::as_slice)
    }
}

/// Runs of letters and digits of a text in lower case.
pub(crate) fn tokens(lower: &str) -> impl Iterator<Item = &str> {
    lower
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
}

/// What is searched of a tool, and which part of it that is.
fn lines(tool: &ToolSpec) -> Vec<(u8, String)> {
    let mut lines = vec![(IN_NAME, tool.name.clone())];
    if !tool.description.is_empty() {
        lines.push((IN_DESCRIPTION, tool.description.clone()));
    }
    let parameters = tool
        .schema
        .as_ref()
        .and_then(|schema| schema.get("properties"));
    for (name, about) in parameters.and_then(Value::as_object).into_iter().flatten() {
        let about = about.get("description").and_then(Value::as_str);
        let line = match about.filter(|about| !about.is_empty()) {
            Some(about) => format!("{name}: {about}"),
            None => name.clone(),
        };
        lines.push((IN_PARAMETER, line));
    }
    if let ToolSource::Mcp(server) = &tool.source {
        lines.push((IN_TAG, format!("mcp:{server}")));
        lines.push((IN_TAG, server.clone()));
    }
    lines
}

/// Counts a word of a tool. Tools come one after the other, so the last place is this tool's or another's.
fn note(terms: &mut BTreeMap<String, Vec<TermPosting>>, word: &str, tool: usize, part: u8) {
    let place = TermPosting {
        tool,
        count: 1,
        parts: part,
    };
    let Some(places) = terms.get_mut(word) else {
        terms.insert(word.to_owned(), vec![place]);
        return;
    };
    match places.last_mut().filter(|last| last.tool == tool) {
        Some(last) => {
            last.count += 1;
            last.parts |= part;
        }
        None => places.push(place),
    }
}
