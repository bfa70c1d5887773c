//! Random batches: events of every kind, with any text and any JSON that an event accepts.

use harn_model::{AgentEvent, Envelope, Seq};
use harn_testkit::EventStrategy;
use proptest::{
    collection::{btree_map, vec},
    option,
    prelude::*,
};
use serde_json::Value;

/// Generates batches of envelopes in the order a session appends them; none is empty.
pub(crate) fn batches(most: usize) -> impl Strategy<Value = Vec<Vec<Envelope>>> {
    let ids = &["id-0", "id-1", "id-2", "id-3"];
    let events = EventStrategy::new(ids, text()).with_values(json());
    let envelope = (events.any_event(), option::of(events.id()), 0..u64::MAX);
    vec(vec(envelope, 1..8), 1..most).prop_map(|batches| {
        let mut seq = Seq::ZERO;
        let mut place = |(event, turn, at): (AgentEvent, Option<&str>, u64)| {
            seq = seq.next();
            Envelope {
                seq,
                at,
                turn: turn.map(Into::into),
                event,
            }
        };
        batches
            .into_iter()
            .map(|batch| batch.into_iter().map(&mut place).collect())
            .collect()
    })
}

/// Generates any text, often with characters that a line format has to escape.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[\\n\\r\\t\\\\\"{}\\[\\],:\\x00\\x7f\u{2028}\u{1F600}]{0,12}",
        "[a-z ]{0,60}",
    ]
}

fn finite_number() -> impl Strategy<Value = f64> {
    any::<f64>().prop_filter("JSON has no other", |n| n.is_finite())
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        finite_number().prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 16, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            btree_map(text(), inner, 0..4).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}
