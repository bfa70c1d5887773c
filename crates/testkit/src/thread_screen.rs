//! Folds notifications of the threads protocol into the screen of a client.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// A client's view of a thread: notifications, folded as clients of this protocol do. A delta is appended to its
/// item, data replaces known data.
///
/// # Panics
///
/// If a notification is invalid: sent twice, without its start, or after its end.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ThreadScreen {
    items: Vec<ThreadScreenItem>,
    active: Option<String>,
    approvals: BTreeMap<String, Value>,
    ends: Vec<Value>,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct ThreadScreenItem {
    id: Value,
    turn: Value,
    kind: Value,
    content: String,
    completed: bool,
    data: Map<String, Value>,
}

impl ThreadScreen {
    /// Folds the params of a notification, with or without a timestamp.
    pub fn fold(&mut self, params: &Value) {
        let text = |name: &str| params[name].as_str().unwrap_or_default().to_owned();
        match params["notification"].as_str().unwrap_or_default() {
            "thread.created" => {}
            "turn.started" => self.active = Some(text("turnId")),
            "turn.completed" | "turn.error" => {
                assert_eq!(self.active.take(), Some(text("turnId")), "{params}");
                assert!(self.items.iter().all(|item| item.completed), "{params}");
                self.ends.push(without_time(params));
            }
            "item.started" => {
                let item = &params["item"];
                assert_eq!(self.active.as_deref(), item["turnId"].as_str());
                assert!(self.find(&item["itemId"]).is_none(), "{params}");
                self.items.push(ThreadScreenItem {
                    id: item["itemId"].clone(),
                    turn: item["turnId"].clone(),
                    kind: item["type"].clone(),
                    data: item["data"].as_object().cloned().unwrap_or_default(),
                    ..ThreadScreenItem::default()
                });
            }
            "item.delta" => {
                let item = self.open_item(params);
                item.content += params["delta"].as_str().unwrap_or_default();
            }
            "item.completed" => self.open_item(params).completed = true,
            "approval.requested" => {
                self.approvals
                    .insert(text("requestId"), without_time(params));
            }
            other => panic!("{other:?} is not a notification"),
        }
    }

    /// Returns whether no turn and no item is in progress.
    pub fn is_settled(&self) -> bool {
        self.active.is_none() && self.items.iter().all(|item| item.completed)
    }

    fn find(&mut self, id: &Value) -> Option<&mut ThreadScreenItem> {
        self.items.iter_mut().find(|item| item.id == *id)
    }

    /// Returns the open item of a delta or an end, with its data merged.
    fn open_item(&mut self, params: &Value) -> &mut ThreadScreenItem {
        let item = self.find(&params["itemId"]);
        let item = item.unwrap_or_else(|| panic!("{params}: no such item"));
        assert!(!item.completed, "{params}");
        if let Some(data) = params["data"].as_object() {
            item.data.extend(data.clone());
        }
        item
    }
}

fn without_time(params: &Value) -> Value {
    let mut params = params.clone();
    if let Value::Object(members) = &mut params {
        members.remove("timestamp");
    }
    params
}
