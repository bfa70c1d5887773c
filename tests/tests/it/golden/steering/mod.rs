//! Messages and reminders for a running turn, the rights to change them, and every race.

mod editors;
mod invalid_params;
mod messages;
mod owners;
mod pending;
mod reminders;

use std::sync::Arc;

use harn_model::{Seam, StopReason};
use harn_runtime::{AgentError, TurnContext};
use harn_testkit::{ScriptedAgent, StrictClient, TestHub};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::golden::{initialize, open};

/// A client with a session whose agent waits for `go`.
struct Stage {
    test: TestHub,
    client: StrictClient,
    session: Value,
    go: Arc<Notify>,
}

impl Stage {
    async fn with_turn<F, Fut>(turn: F) -> Self
    where
        F: Fn(TurnContext, Arc<Notify>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<StopReason, AgentError>> + Send + 'static,
    {
        let go = Arc::new(Notify::new());
        let told = go.clone();
        let test = TestHub::new(ScriptedAgent::new(move |cx| turn(cx, told.clone())));
        let mut client = test.connect();
        initialize(&mut client).await;
        let session = open(&mut client, &test).await;
        Self {
            test,
            client,
            session,
            go,
        }
    }

    /// Adds the session id to the params.
    fn session_params(&self, rest: Value) -> Value {
        let mut params = rest;
        params["sessionId"] = self.session.clone();
        params
    }

    /// Sends the prompt that starts the turn; returns the id of the request.
    async fn begin(&mut self) -> Value {
        let id = crate::golden::prompt(&mut self.client, &self.session, "Go").await;
        self.client.expect_update_of("agent_message_chunk").await;
        id
    }

    /// Sends a request that succeeds; returns the response and checks the `control_outcome` after it.
    async fn send_control(&mut self, method: &str, params: Value) -> Value {
        let params = self.session_params(params);
        let answer = self.client.request(method, params).await;
        let told = self.client.expect_event_of("control_outcome").await;
        assert_eq!(told["method"], method);
        assert_ne!(told["status"], "rejected");
        answer
    }

    /// Sends a request that is rejected; returns the error and checks the `control_outcome` after it.
    async fn send_rejected_control(&mut self, method: &str, params: Value) -> Value {
        let params = self.session_params(params);
        let error = self.client.request_error(method, params).await;
        let told = self.client.expect_event_of("control_outcome").await;
        assert_eq!(told["method"], method);
        assert_eq!(told["status"], "rejected");
        assert_eq!(told["reason"], error["data"]["reason"]);
        error
    }

    /// Injects a text; returns its id.
    async fn inject(&mut self, mode: &str, text: &str) -> Value {
        let params = json!({"mode": mode, "content": text});
        let answer = self.send_control("session/inject", params).await;
        assert_eq!(answer["status"], "accepted");
        answer["messageId"].clone()
    }

    async fn pending(&mut self) -> Value {
        let params = self.session_params(json!({}));
        let pending = self
            .client
            .request("session/pending_injections", params)
            .await;
        let rows = pending["injections"].as_array().unwrap();
        assert_eq!(pending["pendingCount"], rows.len());
        for (at, row) in rows.iter().enumerate() {
            assert_eq!(row["position"], at);
        }
        pending["injections"].clone()
    }
}

/// Sends a text, waits for `go`, and repeats the messages it receives at a seam. Repeats any later prompt.
async fn listen(cx: TurnContext, go: Arc<Notify>) -> Result<StopReason, AgentError> {
    if cx.prompt_text() != "Go" {
        cx.say(format!("You said: {}", cx.prompt_text())).await?;
        return Ok(StopReason::EndTurn);
    }
    cx.say("Reading. ").await?;
    go.notified().await;
    for heard in cx.seam(Seam::PostToolDispatch).await? {
        cx.say(format!("I heard: {} ", heard.text())).await?;
    }
    go.notified().await;
    Ok(StopReason::EndTurn)
}

fn code_and_reason(error: &Value) -> (&Value, &Value) {
    (&error["code"], &error["data"]["reason"])
}
