//! Routes with an agent that acts on its prompt, and a client that folds the responses as the shipped library
//! does.

use std::sync::Arc;

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{HeaderMap, Request, header},
    response::Response,
};
use harn_model::{AgentEvent, Principal, Seq, SessionId, StopReason, ToolKind, TurnOutcome};
use harn_runtime::{AgentError, Controller, ToolOutput, TurnContext};
use harn_testkit::{ScriptedAgent, TestHub, state_fold};
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::{
    StateConfig,
    assistant::format::StreamFormat,
    room::{NextFrame, Room},
    routes,
};

pub(super) const BOTH: [StreamFormat; 2] = [StreamFormat::Lines, StreamFormat::Events];

/// The test's control over the turns of the agent.
#[derive(Clone)]
pub(super) struct AgentGate {
    waiting: Arc<Semaphore>,
    gate: Arc<Semaphore>,
}

impl AgentGate {
    fn new() -> Self {
        Self {
            waiting: Arc::new(Semaphore::new(0)),
            gate: Arc::new(Semaphore::new(0)),
        }
    }

    /// Waits until a turn reaches the gate.
    pub(super) async fn wait_for_gate(&self) {
        self.waiting.acquire().await.unwrap().forget();
    }

    /// Lets a turn through the gate.
    pub(super) fn open_gate(&self) {
        self.gate.add_permits(1);
    }

    async fn wait_at_gate(&self, cx: &TurnContext) -> Result<(), AgentError> {
        cx.flush().await?;
        self.waiting.add_permits(1);
        tokio::select! {
            through = self.gate.acquire() => through.unwrap().forget(),
            () = cx.cancelled() => return Err(AgentError::Cancelled),
        }
        Ok(())
    }

    async fn run_turn(&self, cx: TurnContext) -> Result<StopReason, AgentError> {
        match cx.prompt_text().as_str() {
            "wait" => {
                cx.say("Working.").await?;
                self.wait_at_gate(&cx).await?;
                cx.say(" Done.").await?;
            }
            "flood" => {
                self.wait_at_gate(&cx).await?;
                for _ in 0..64 {
                    cx.say("0123456789abcdef".repeat(1024)).await?;
                }
                self.wait_at_gate(&cx).await?;
            }
            "write" => {
                cx.say("May I?").await?;
                let tool = cx.tool("write_file").kind(ToolKind::Edit);
                match tool.title("Write a.txt").path("a.txt").ask().await {
                    Ok(tool) => tool.complete(ToolOutput::default()).await?,
                    Err(AgentError::Denied { .. }) => return Ok(StopReason::EndTurn),
                    Err(other) => return Err(other),
                }
                self.wait_at_gate(&cx).await?;
                cx.say("It is in a.txt.").await?;
            }
            "choose" => {
                let port = cx.question("Which port?").choices(["8080", "9090"]);
                let port = port.ask().await?;
                cx.say(format!("Port {}.", port.text())).await?;
            }
            "fail" => return Err(AgentError::failed("the model is out of reach")),
            text => {
                cx.think("What was it?").await?;
                cx.say("You said ").await?;
                cx.say(format!("{text}.")).await?;
            }
        }
        Ok(StopReason::EndTurn)
    }
}

pub(super) struct AssistantStage {
    pub(super) hub: TestHub,
    pub(super) agent: AgentGate,
    pub(super) config: StateConfig,
    pub(super) routes: Router,
}

impl AssistantStage {
    pub(super) fn new() -> Self {
        let agent = AgentGate::new();
        let turns = agent.clone();
        let hub = TestHub::new(ScriptedAgent::new(move |cx| {
            let agent = turns.clone();
            async move { agent.run_turn(cx).await }
        }));
        let config = StateConfig::new(hub.hub().clone(), hub.workspace());
        Self {
            hub,
            agent,
            routes: routes(config.clone()),
            config,
        }
    }

    /// Posts a request of the owner.
    pub(super) async fn post(&self, query: &str, format: StreamFormat, body: Value) -> Response {
        self.post_as(Some(Principal::owner()), query, format, body.to_string())
            .await
    }

    pub(super) async fn post_as(
        &self,
        principal: Option<Principal>,
        query: &str,
        format: StreamFormat,
        body: String,
    ) -> Response {
        let accept = match format {
            StreamFormat::Lines => "*/*",
            StreamFormat::Events => "text/event-stream",
        };
        let request = Request::post(format!("/assistant?{query}"));
        let request = request.header(header::ACCEPT, accept);
        let mut request = request.body(Body::from(body)).unwrap();
        request.extensions_mut().extend(extensions(principal));
        let service = TowerToHyperService::new(self.routes.clone());
        service.call(request).await.unwrap()
    }

    /// Posts commands, and reads the whole reply.
    pub(super) async fn post_commands(
        &self,
        query: &str,
        format: StreamFormat,
        commands: Value,
    ) -> ReceivedReply {
        let response = self.post(query, format, json!({ "commands": commands }));
        ReceivedReply::read(response.await, format).await
    }

    pub(super) fn session(&self, id: &str) -> Controller {
        self.hub.hub().live_session(&SessionId::new(id)).unwrap()
    }

    /// Returns the document of a session from a room of its own, without the clients and the controller.
    pub(super) async fn document(&self, id: &str) -> Value {
        let room = Room::open(self.session(id), "Scripted".to_owned());
        match room.await.unwrap().next(&mut None) {
            NextFrame::Whole(state) => without_presence(serde_json::to_value(&*state).unwrap()),
            other => panic!("{other:?}"),
        }
    }

    /// Waits for the first turns of a session to end, and returns their outcomes.
    pub(super) async fn wait_for_outcomes(&self, id: &str, turns: usize) -> Vec<TurnOutcome> {
        let mut from = self.session(id).subscribe(Seq::ZERO);
        let mut outcomes = Vec::new();
        while outcomes.len() < turns {
            for envelope in from.next().await.unwrap().events() {
                if let AgentEvent::TurnEnded(ended) = &envelope.event {
                    outcomes.push(ended.outcome.clone());
                }
            }
        }
        outcomes
    }
}

fn extensions(principal: Option<Principal>) -> axum::http::Extensions {
    let mut extensions = axum::http::Extensions::new();
    if let Some(principal) = principal {
        extensions.insert(principal);
    }
    extensions
}

/// Removes the clients and the controller from a document.
pub(super) fn without_presence(mut document: Value) -> Value {
    for of_now in ["clients", "controller"] {
        document.as_object_mut().unwrap().remove(of_now);
    }
    document
}

pub(super) fn add_message(text: &str) -> Value {
    let parts = json!([{"type": "text", "text": text}]);
    let message = json!({"role": "user", "parts": parts});
    json!({"type": "add-message", "message": message, "parentId": null, "sourceId": null})
}

/// The reply that a client received.
#[derive(Debug, Default)]
pub(super) struct ReceivedReply {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    /// The first operation of every message, abbreviated.
    pub(super) operations: Vec<String>,
    pub(super) document: Value,
    pub(super) error: Option<String>,
    pub(super) signs_of_life: usize,
}

impl ReceivedReply {
    pub(super) async fn read(response: Response, format: StreamFormat) -> Self {
        let (head, body) = response.into_parts();
        let body = to_bytes(body, usize::MAX).await.unwrap();
        let body = String::from_utf8(body.to_vec()).unwrap();
        let mut told = Self {
            status: head.status.as_u16(),
            headers: head.headers,
            ..Self::default()
        };
        match told.status {
            200 => told.fold(&body, format),
            _ => told.error = Some(body),
        }
        told
    }

    /// Returns the message of a rejection.
    pub(super) fn error_message(&self) -> String {
        let body: Value = serde_json::from_str(self.error.as_ref().unwrap()).unwrap();
        body["error"].as_str().unwrap().to_owned()
    }

    pub(super) fn id(&self) -> &str {
        self.document["session"]["id"].as_str().unwrap()
    }

    /// Returns the messages as role, status and text.
    pub(super) fn message_lines(&self) -> Vec<String> {
        let messages = self.document["messages"].as_array().unwrap().iter();
        let words = messages.map(|message| {
            let word = |name: &str| message[name].as_str().unwrap().to_owned();
            format!("{} {}: {}", word("role"), word("status"), word("content"))
        });
        words.collect()
    }

    fn fold(&mut self, body: &str, format: StreamFormat) {
        match format {
            StreamFormat::Lines => {
                let lines = body.strip_suffix('\n').unwrap();
                lines.split('\n').for_each(|line| self.apply_line(line));
            }
            StreamFormat::Events => {
                let events = body.strip_suffix("\n\n").unwrap();
                let (events, done) = events.rsplit_once("\n\n").unwrap();
                assert_eq!(done, "data: [DONE]");
                events
                    .split("\n\n")
                    .for_each(|event| self.apply_event(event));
            }
        }
    }

    fn apply_line(&mut self, line: &str) {
        match line.split_once(':') {
            None if line.is_empty() => self.signs_of_life += 1,
            Some(("aui-state", operations)) => self.apply_operations(operations.parse().unwrap()),
            Some(("3", words)) => self.error = Some(serde_json::from_str(words).unwrap()),
            Some(_) | None => panic!("a line of another kind: {line}"),
        }
    }

    fn apply_event(&mut self, event: &str) {
        if event == ":" {
            self.signs_of_life += 1;
            return;
        }
        let data = event.strip_prefix("data: ").unwrap();
        let mut data: Value = data.parse().unwrap();
        assert_eq!(data["path"], json!([]));
        match data["type"].as_str() {
            Some("update-state") => self.apply_operations(data["operations"].take()),
            Some("error") => self.error = Some(data["error"].as_str().unwrap().to_owned()),
            Some(_) | None => panic!("an event of another kind: {event}"),
        }
    }

    fn apply_operations(&mut self, operations: Value) {
        assert!(self.error.is_none(), "nothing comes behind an error");
        state_fold::apply_all(&mut self.document, &operations).unwrap();
        let first = &operations[0];
        let kind = first["type"].as_str().unwrap();
        let path: Vec<_> = first["path"].as_array().unwrap().iter().collect();
        let path: Vec<_> = path.iter().map(|step| step.as_str().unwrap()).collect();
        self.operations.push(format!("{kind} /{}", path.join("/")));
    }
}
