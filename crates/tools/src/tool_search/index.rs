//! The searchable tools, split into words once for all rankings.
//!
//! Tools are sorted by name, so that sorting equal scores by index sorts them by name.

use std::collections::BTreeMap;

use harn_model::{ToolSource, ToolSpec};
use serde_json::Value;

/// The word occurs in the name of a tool.
pub(super) const IN_NAME: u8 = 1;
/// The word occurs in the description.
pub(super) const IN_DESCRIPTION: u8 = 2;
/// The word occurs in the name or the description of a parameter.
pub(super) const IN_PARAMETER: u8 = 4;
/// The word occurs in the tag of the tool's source.
const IN_TAG: u8 = 0;

/// An index of tools to search. Creating it is slow: reuse it while the tools stay the same.
#[derive(Debug, Default)]
pub struct ToolIndex {
    pub(super) tools: Vec<IndexedTool>,
    /// The words, each with the tools that contain it.
    pub(super) terms: BTreeMap<String, Vec<TermPosting>>,
    pub(super) mean_length: f64,
}

/// A tool in the index.
#[derive(Debug)]
pub(super) struct IndexedTool {
    pub(super) name: String,
    pub(super) lower_name: String,
    /// Its searchable text, one line per part.
    pub(super) text: String,
    /// The number of words of the text.
    pub(super) length: u32,
}

/// The occurrences of a word in one tool.
#[derive(Clone, Copy, Debug)]
pub(super) struct TermPosting {
    pub(super) tool: usize,
    pub(super) count: u32,
    /// A bit set of the parts with the word.
    pub(super) parts: u8,
}

impl ToolIndex {
    /// Indexes the tools. Of two with the same name, the first counts.
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
            for (part, line) in searchable_lines(tool) {
                for word in tokens(&line.to_lowercase()) {
                    length += 1;
                    count_word(&mut terms, word, place, part);
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
            // Without tools there is no mean, and nothing to compare with it.
            mean_length: words / indexed.len().max(1) as f64,
            tools: indexed,
            terms,
        }
    }

    /// Returns the names of the tools, sorted.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.tools.iter().map(|tool| &*tool.name)
    }

    /// Returns the searchable text of a tool, one line per part: its name, description, parameters and server.
    pub fn text(&self, name: &str) -> Option<&str> {
        Some(&self.tools[self.find(name)?].text)
    }

    /// Returns the index of the tool with this name.
    pub(super) fn find(&self, name: &str) -> Option<usize> {
        let found = self.tools.binary_search_by(|tool| (*tool.name).cmp(name));
        found.ok()
    }

    /// Returns the tools that contain this word.
    pub(super) fn postings(&self, word: &str) -> &[TermPosting] {
        self.terms.get(word).map_or(&[], Vec::as_slice)
    }
}

/// Splits a lower-case text into runs of letters and digits.
pub(crate) fn tokens(lower: &str) -> impl Iterator<Item = &str> {
    lower
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
}

/// Returns the searchable lines of a tool, each with its part.
fn searchable_lines(tool: &ToolSpec) -> Vec<(u8, String)> {
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

/// Counts a word of a tool. Tools are indexed one after the other, so only the last posting can be this tool's.
fn count_word(terms: &mut BTreeMap<String, Vec<TermPosting>>, word: &str, tool: usize, part: u8) {
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
