//! Deserialises model types from YAML nodes; an error has the position of the wrong node.
//!
//! Serde reads tagged enums from a buffer, so its own errors have no position, and it drops unknown fields
//! silently. This module finds both by retrying with fewer or replaced nodes.

use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use harn_tools::yaml::{YamlFault, YamlNode, YamlValue};

/// Reads `node` as a `T`. `what` names it in a message.
pub(super) fn parse_typed<T: DeserializeOwned + Serialize>(
    node: &YamlNode,
    what: &str,
) -> Result<T, YamlFault> {
    let read = |value: Value| serde_json::from_value::<T>(value).map_err(|e| e.to_string());
    let parsed = read(node.to_value()).map_err(|error| {
        let culprit = find_culprit(node, &error, |value| read(value).err());
        YamlFault::new(culprit.at, format_args!("{what}: {error}"))
    })?;
    let unknown = UnknownFieldSearch {
        root: node,
        rewrite: |value| serde_json::to_value(read(value).ok()?).ok(),
    };
    let back = serde_json::to_value(&parsed).unwrap_or_default();
    match unknown.find(node, &back, &mut Vec::new()) {
        None => Ok(parsed),
        Some(YamlFault { at, reason }) => Err(YamlFault::new(at, format_args!("{what}: {reason}"))),
    }
}

/// Returns the innermost node that causes `error`: the first that, added to those before it, produces the error.
fn find_culprit<'n>(
    root: &'n YamlNode,
    error: &str,
    fails: impl Fn(Value) -> Option<String>,
) -> &'n YamlNode {
    let mut path = Vec::new();
    let mut node = root;
    loop {
        let (mut low, mut high) = (0, node.child_count());
        while low < high {
            let kept = low.midpoint(high);
            if fails(truncate_at(root, &path, kept)).as_deref() == Some(error) {
                high = kept;
            } else {
                low = kept + 1;
            }
        }
        let index = low.wrapping_sub(1);
        match node.child(index) {
            // The error is a missing field: no child causes it, so return the parent.
            Some(child) if child.is_scalar() && error.starts_with("missing field") => return node,
            Some(child) => {
                path.push(index);
                node = child;
            }
            None => return node,
        }
    }
}

/// Returns the value of `node` in which the node at `path` keeps only its first `kept` children.
fn truncate_at(node: &YamlNode, path: &[usize], kept: usize) -> Value {
    node.map_children(|i, child| match path.split_first() {
        None => (i < kept).then(|| child.to_value()),
        Some((at, rest)) if i == *at => Some(truncate_at(child, rest, kept)),
        Some(_) => Some(child.to_value()),
    })
}

/// The search for a field that deserialisation drops.
struct UnknownFieldSearch<'n, R> {
    root: &'n YamlNode,
    /// Deserialises a value and serialises it again.
    rewrite: R,
}

impl<R: Fn(Value) -> Option<Value>> UnknownFieldSearch<'_, R> {
    /// Compares the given node with the rewritten value, depth first in the order of the file.
    fn find(&self, given: &YamlNode, back: &Value, path: &mut Vec<usize>) -> Option<YamlFault> {
        for index in 0..given.child_count() {
            let child = given.child(index)?;
            path.push(index);
            let fault = match (counterpart(given, index, back), &given.data) {
                (Some(back), _) => self.find(child, back, path),
                (None, YamlValue::Map(entries)) if !self.is_known(path) => entries
                    .get(index)
                    .map(|e| YamlFault::new(e.key_at, format_args!("unknown field {:?}", e.key))),
                (None, _) => None,
            };
            path.pop();
            if fault.is_some() {
                return fault;
            }
        }
        None
    }

    /// Returns whether a field is known. A known field may be missing from the rewritten value because it is
    /// empty. So this tries a value that no field expects: a known field rejects or keeps it, an unknown one drops
    /// it.
    fn is_known(&self, path: &[usize]) -> bool {
        let Some(back) = (self.rewrite)(replace_at(self.root, path)) else {
            return true;
        };
        let (mut node, mut value) = (self.root, &back);
        for index in path {
            match (counterpart(node, *index, value), node.child(*index)) {
                (Some(found), Some(child)) => (node, value) = (child, found),
                _ => return false,
            }
        }
        true
    }
}

/// Returns the value that corresponds to a child of `node`.
fn counterpart<'v>(node: &YamlNode, index: usize, value: &'v Value) -> Option<&'v Value> {
    match &node.data {
        YamlValue::Map(entries) => value.get(&entries.get(index)?.key),
        YamlValue::List(_) => value.get(index),
        YamlValue::Null | YamlValue::Bool(_) | YamlValue::Number(_) | YamlValue::Text(_) => None,
    }
}

/// Returns the value of `node` with an unexpected value at `path`.
fn replace_at(node: &YamlNode, path: &[usize]) -> Value {
    match path.split_first() {
        None => json!({ "\u{1}": [[]] }),
        Some((at, rest)) => node.map_children(|i, child| {
            Some(if i == *at {
                replace_at(child, rest)
            } else {
                child.to_value()
            })
        }),
    }
}
