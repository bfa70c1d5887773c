//! A host with the bridge, which answers as it is told: rightly in any form, wrongly, late, twice or not at
//! all. It speaks through a [`StrictClient`], so whatever it does is in the transcript.

mod asking;
mod forms;

use std::collections::HashMap;

use harn_acp::ext::bridge::BridgeMethod;
use serde_json::{Value, json};

pub use asking::asking_agent;
pub use forms::{HostAnswerForm, forms};

use crate::{MessageFromAgent, StrictClient};

/// What a host answers to a request.
#[derive(Clone, Debug)]
pub enum HostAnswer {
    /// This.
    Result(Value),
    /// That it refuses.
    Denied,
    /// That something went wrong.
    Failed,
    /// That it does not know what it is asked.
    Unknown,
    /// Nothing.
    Never,
    /// This, when the request was withdrawn.
    Late(Value),
    /// This, and once more.
    Twice(Value),
}

/// A host with the bridge. Where it is not told otherwise it answers canonically.
#[derive(Default)]
pub struct FakeHost {
    answers: HashMap<BridgeMethod, HostAnswer>,
    asked: Vec<(BridgeMethod, Value)>,
    /// Requests that are answered when they are withdrawn.
    late: Vec<(Value, Value)>,
}

impl FakeHost {
    /// A host that answers everything canonically.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// One that answers this method like this.
    #[must_use]
    pub fn answering(mut self, method: BridgeMethod, answer: HostAnswer) -> Self {
        self.answers.insert(method, answer);
        self
    }

    /// The params of its `initialize`.
    #[must_use]
    pub fn hello() -> Value {
        json!({
            "protocolVersion": 1,
            "clientCapabilities": {"_meta": {"harn": {"hostBridge": true}}},
            "clientInfo": {"name": "strict", "version": "0.0.0"},
        })
    }

    /// What it was asked so far, in order.
    #[must_use]
    pub fn asked(&self) -> &[(BridgeMethod, Value)] {
        &self.asked
    }

    /// Answers what it is asked until a request of its own is answered; returns the updates on the way, and
    /// the result.
    ///
    /// # Panics
    ///
    /// When it is asked something that is not of the bridge, or its request fails.
    pub async fn serve(
        &mut self,
        client: &mut StrictClient,
        request: &Value,
    ) -> (Vec<Value>, Value) {
        let mut updates = Vec::new();
        loop {
            match client.next().await {
                MessageFromAgent::Response { id, result } if id == *request => match result {
                    Ok(result) => return (updates, result),
                    Err(error) => panic!("{error}"),
                },
                MessageFromAgent::Request { id, method, params } => {
                    let Some(method) = BridgeMethod::named(&method) else {
                        panic!("{method} is not of the bridge");
                    };
                    self.answer(client, &id, method, &params).await;
                    self.asked.push((method, params));
                }
                MessageFromAgent::Notification { method, mut params } => match method.as_str() {
                    "session/update" => updates.push(params["update"].take()),
                    "$/cancel_request" => self.withdrawn(client, &params["requestId"]).await,
                    _ => {}
                },
                other @ MessageFromAgent::Response { .. } => panic!("{other:?}"),
            }
        }
    }

    async fn answer(
        &mut self,
        client: &mut StrictClient,
        id: &Value,
        method: BridgeMethod,
        params: &Value,
    ) {
        let answer = self.answers.get(&method).cloned();
        match answer.unwrap_or_else(|| HostAnswer::Result(forms::canonical(method, params))) {
            HostAnswer::Result(result) => client.respond(id, result).await,
            HostAnswer::Denied => client.respond_error(id, -32001, "not here").await,
            HostAnswer::Unknown => client.respond_error(id, -32601, "what?").await,
            HostAnswer::Failed => client.respond_error(id, -32000, "out of order").await,
            HostAnswer::Never => client.leave_unanswered(id),
            HostAnswer::Late(result) => self.late.push((id.clone(), result)),
            HostAnswer::Twice(result) => {
                client.respond(id, result.clone()).await;
                client
                    .send(&json!({"jsonrpc": "2.0", "id": id, "result": result}))
                    .await;
            }
        }
    }

    async fn withdrawn(&mut self, client: &mut StrictClient, id: &Value) {
        if let Some(at) = self.late.iter().position(|(late, _)| late == id) {
            let (id, result) = self.late.remove(at);
            client.respond(&id, result).await;
        }
    }
}
