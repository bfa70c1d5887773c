//! Random events for property tests: the examples of [`every_event`] with other ids, texts, numbers and words. A
//! new kind of event needs no code here.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use harn_model::AgentEvent;
use proptest::{collection::vec, prelude::*, sample::Index, sample::select};
use serde_json::Value;

use crate::every_event;

/// Generates random events.
#[derive(Clone)]
pub struct EventStrategy {
    ids: &'static [&'static str],
    text: BoxedStrategy<String>,
    value: BoxedStrategy<Value>,
    drops_members: bool,
    kept: &'static [&'static str],
}

/// A change of one member of an example.
#[derive(Clone, Debug)]
enum MemberChange {
    Text(String),
    Value(Value),
    /// One of the words that examples have under this key.
    Word(Index),
    Flip,
    Drop,
}

impl EventStrategy {
    /// Returns a strategy with these ids and texts. A few ids are best: they collide, come early, late, twice or
    /// without their counterpart.
    pub fn new(
        ids: &'static [&'static str],
        text: impl Strategy<Value = String> + 'static,
    ) -> Self {
        Self {
            ids,
            text: text.boxed(),
            value: (0..9_u64).prop_map(Value::from).boxed(),
            drops_members: true,
            kept: &[],
        }
    }

    /// Sets the values for members that accept any value; the default is small numbers.
    #[must_use]
    pub fn with_values(mut self, value: impl Strategy<Value = Value> + 'static) -> Self {
        self.value = value.boxed();
        self
    }

    /// Keeps all members that an example has.
    #[must_use]
    pub fn with_all_members(mut self) -> Self {
        self.drops_members = false;
        self
    }

    /// Keeps the members with these names unchanged.
    #[must_use]
    pub fn with_kept(mut self, kept: &'static [&'static str]) -> Self {
        self.kept = kept;
        self
    }

    /// Returns a strategy for the ids.
    pub fn id(&self) -> impl Strategy<Value = &'static str> + Clone + use<> {
        select(self.ids)
    }

    /// Returns a strategy for events of every kind.
    pub fn any_event(&self) -> BoxedStrategy<AgentEvent> {
        let kinds: Vec<_> = AgentEvent::NAMES.iter().map(|kind| (1, *kind)).collect();
        self.events(&kinds)
    }

    /// Returns a strategy for events of these kinds, by their names in the journal, each with its weight.
    pub fn events(&self, kinds: &[(u32, &'static str)]) -> BoxedStrategy<AgentEvent> {
        let words = Arc::new(words());
        let kinds = kinds.iter().map(|(weight, kind)| {
            let (words, kept) = (Arc::clone(&words), self.kept);
            let of_kind = (
                self.examples(kind),
                vec(self.id(), 8),
                vec(self.change(), 0..6),
            );
            let made = of_kind.prop_map(move |(example, ids, changes)| {
                apply_changes(&example, &ids, &changes, (&words, kept))
            });
            (*weight, made.boxed())
        });
        proptest::strategy::Union::new_weighted(kinds.collect()).boxed()
    }

    fn examples(&self, kind: &str) -> BoxedStrategy<AgentEvent> {
        let events = every_event().into_iter().map(|envelope| envelope.event);
        let examples: Vec<_> = events.filter(|event| event.name() == kind).collect();
        assert!(!examples.is_empty(), "unknown event {kind:?}");
        select(examples).boxed()
    }

    fn change(&self) -> impl Strategy<Value = (Index, MemberChange)> + use<> {
        let drops = u32::from(self.drops_members);
        let change = prop_oneof![
            6 => self.text.clone().prop_map(MemberChange::Text),
            3 => self.value.clone().prop_map(MemberChange::Value),
            3 => any::<Index>().prop_map(MemberChange::Word),
            1 => Just(MemberChange::Flip),
            drops => Just(MemberChange::Drop),
        ];
        (any::<Index>(), change)
    }
}

/// Returns the words of all examples, by key.
fn words() -> BTreeMap<String, Vec<Value>> {
    let mut words: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for envelope in every_event() {
        let value = serde_json::to_value(&envelope.event).unwrap_or_default();
        for leaf in leaves(&value) {
            if let Some(Value::String(word)) = value.pointer(&leaf) {
                let words = words.entry(key(&leaf).to_owned()).or_default();
                words.insert(word.clone());
            }
        }
    }
    let words = words.into_iter();
    words
        .map(|(key, words)| (key, words.into_iter().map(Value::from).collect()))
        .collect()
}

/// Applies the changes to an example; skips those that do not leave an event of its kind.
fn apply_changes(
    example: &AgentEvent,
    ids: &[&str],
    changes: &[(Index, MemberChange)],
    (words, kept): (&BTreeMap<String, Vec<Value>>, &[&str]),
) -> AgentEvent {
    let mut event = example.clone();
    let mut value = serde_json::to_value(example).unwrap_or_default();
    let mut take = |changed: Value| match serde_json::from_value::<AgentEvent>(changed.clone()) {
        Ok(new) if new.name() == example.name() => {
            event = new;
            Some(changed)
        }
        Ok(_) | Err(_) => None,
    };
    let is_id = |leaf: &&String| key(leaf) == "id" || key(leaf).ends_with("_id");
    let mut renamed = value.clone();
    for (leaf, id) in leaves(&value).iter().filter(is_id).zip(ids.iter().cycle()) {
        replace(&mut renamed, leaf, Some(Value::from(*id)));
    }
    value = take(renamed).unwrap_or(value);
    for (at, change) in changes {
        let leaves = leaves(&value);
        let Some(leaf) = leaves.get(at.index(leaves.len().max(1))) else {
            continue;
        };
        // An id stays one of the given ids, or is dropped.
        if kept.contains(&key(leaf)) || is_id(&leaf) && !matches!(change, MemberChange::Drop) {
            continue;
        }
        let new = match change {
            MemberChange::Text(text) => Some(Value::from(text.as_str())),
            MemberChange::Value(value) => Some(value.clone()),
            MemberChange::Word(at) => words.get(key(leaf)).map(|words| at.get(words).clone()),
            MemberChange::Flip => {
                let flag = value.pointer(leaf).and_then(Value::as_bool);
                flag.map(|flag| Value::from(!flag))
            }
            MemberChange::Drop => None,
        };
        if new.is_none() && !matches!(change, MemberChange::Drop) {
            continue;
        }
        let mut changed = value.clone();
        replace(&mut changed, leaf, new);
        value = take(changed).unwrap_or(value);
    }
    event
}

/// Returns pointers to all members and items without children.
fn leaves(value: &Value) -> Vec<String> {
    let children: Vec<(String, &Value)> = match value {
        Value::Object(members) => members.iter().map(|(key, it)| (key.clone(), it)).collect(),
        Value::Array(items) => (0..)
            .zip(items)
            .map(|(at, it): (usize, _)| (at.to_string(), it))
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    };
    if children.is_empty() {
        return vec![String::new()];
    }
    let below = children.into_iter().flat_map(|(key, child)| {
        let key = key.replace('~', "~0").replace('/', "~1");
        let below = leaves(child).into_iter();
        below.map(move |pointer| format!("/{key}{pointer}"))
    });
    below.collect()
}

/// Returns the last key of a pointer, still escaped.
fn key(pointer: &str) -> &str {
    pointer.rsplit('/').next().unwrap_or_default()
}

/// Replaces the value at this pointer, or removes it if `new` is `None`.
fn replace(value: &mut Value, pointer: &str, new: Option<Value>) {
    let Some((parents, last)) = pointer.rsplit_once('/') else {
        return;
    };
    let last = last.replace("~1", "/").replace("~0", "~");
    match (value.pointer_mut(parents), new) {
        (Some(Value::Object(members)), Some(new)) => drop(members.insert(last, new)),
        (Some(Value::Object(members)), None) => drop(members.remove(&last)),
        (Some(Value::Array(items)), new) => {
            if let Some(item) = last.parse::<usize>().ok().and_then(|at| items.get_mut(at)) {
                *item = new.unwrap_or_default();
            }
        }
        (Some(_) | None, _) => {}
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::{strategy::ValueTree as _, test_runner::TestRunner};

    use super::*;

    #[test]
    fn events_of_every_kind_are_made_and_differ_from_the_examples() {
        let events = EventStrategy::new(&["a", "b"], Just("text".to_owned())).any_event();
        let mut runner = TestRunner::deterministic();
        let made: Vec<_> = (0..2_000)
            .map(|_| events.new_tree(&mut runner).unwrap().current())
            .collect();
        let kinds: BTreeSet<_> = made.iter().map(AgentEvent::name).collect();
        assert_eq!(kinds.len(), AgentEvent::NAMES.len());
        let examples: Vec<_> = every_event().into_iter().map(|it| it.event).collect();
        let new = made
            .iter()
            .filter(|event| !examples.contains(event))
            .count();
        assert!(new > 1_000, "only {new} of 2,000 events are new");
        let calls = made.iter().filter_map(|event| match event {
            AgentEvent::ToolCall(call) => Some(call.tool_call_id.as_str()),
            _ => None,
        });
        assert_eq!(calls.collect::<BTreeSet<_>>(), BTreeSet::from(["a", "b"]));
    }
}
