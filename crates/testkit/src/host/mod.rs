//! A host with the bridge that answers as a test orders: correctly in any form, wrongly, late, twice or not at
//! all. It uses a [`StrictClient`], so the transcript has everything that it does.

mod bridge_agent;
mod forms;

use std::collections::HashMap;

use harn_acp::ext::bridge::BridgeMethod;
use serde_json::{Value, json};

pub use bridge_agent::asking_agent;
pub use forms::{HostAnswerForm, forms};

use crate::{MessageFromAgent, StrictClient};

/// The answer of a host to a request.
#[derive(Clone, Debug)]
pub enum HostAnswer {
    /// This result.
    Result(Value),
    /// An error: the host refuses.
    Denied,
    /// An error: the operation failed.
    Failed,
    /// An error: the host does not know the method.
    Unknown,
    /// No answer.
    Never,
    /// This result, after the request was withdrawn.
    Late(Value),
    /// This result, sent twice.
    Twice(Value),
}

/// A host with the bridge. Without other orders it answers canonically.
#[derive(Default)]
pub struct FakeHost {
    answers: HashMap<BridgeMethod, HostAnswer>,
    asked: Vec<(BridgeMethod, Value)>,
    /// Requests that it answers when they are withdrawn, with their results.
    late: Vec<(Value, Value)>,
}

impl FakeHost {
    /// Returns a host that answers every request canonically.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the answer to a method.
    #[must_use]
    pub fn with_answer(mut self, method: BridgeMethod, answer: HostAnswer) -> Self {
        self.answers.insert(method, answer);
        self
    }

    /// Returns the params of its `initialize`.
    pub fn initialize_params() -> Value {
        json!({
            "protocolVersion": 1,
            "clientCapabilities": {"_meta": {"harn": {"hostBridge": true}}},
            "clientInfo": {"name": "strict", "version": "0.0.0"},
        })
    }

    /// Returns the requests that it received, in order.
    pub fn requests(&self) -> &[(BridgeMethod, Value)] {
        &self.asked
    }

    /// Answers the agent's requests until the client's own request is answered; returns the updates until then and
    /// the result.
    ///
    /// # Panics
    ///
    /// If the agent sends a request that is not of the bridge, or the client's request fails.
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
                    let Some(method) = BridgeMethod::from_name(&method) else {
                        panic!("{method} is not a method of the bridge");
                    };
                    self.answer(client, &id, method, &params).await;
                    self.asked.push((method, params));
                }
                MessageFromAgent::Notification { method, mut params } => match method.as_str() {
                    "session/update" => updates.push(params["update"].take()),
                    "$/cancel_request" => self.answer_withdrawn(client, &params["requestId"]).await,
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
        match answer.unwrap_or_else(|| HostAnswer::Result(forms::canonical_answer(method, params)))
        {
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

    async fn answer_withdrawn(&mut self, client: &mut StrictClient, id: &Value) {
        if let Some(at) = self.late.iter().position(|(late, _)| late == id) {
            let (id, result) = self.late.remove(at);
            client.respond(&id, result).await;
        }
    }
}
