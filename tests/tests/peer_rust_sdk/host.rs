//! A host on the Rust SDK: starts the agent, answers permissions, records the delivered messages and the lines
//! on the wire, and fails on any warning.

use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use agent_client_protocol::{
    AcpAgent, AcpAgentConfig, Agent, Client, ConnectTo, Error, LineDirection,
    schema::ProtocolVersion,
    v1::{
        ConnectionTo,
        schema::{
            AgentNotification, CancelRequestNotification, ClientCapabilities, InitializeRequest,
            InitializeResponse, Meta, RequestPermissionOutcome, RequestPermissionRequest,
            RequestPermissionResponse, SelectedPermissionOutcome, SessionNotification, ToolCallId,
        },
    },
};
use anyhow::{Context, Result, ensure};
use harn_tests::{binary, repository_path};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::Notify;

/// Only turns a hang into a failure: no test here measures time.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) type Connection = ConnectionTo<Agent>;

/// A folder to work in, with the state beside it.
pub(crate) struct Place(TempDir);

impl Place {
    pub(crate) fn new() -> Result<Self> {
        Ok(Self(TempDir::with_prefix("harn-peer-rs-")?))
    }

    pub(crate) fn cwd(&self) -> PathBuf {
        self.0.path().to_owned()
    }

    /// Returns the state directory.
    pub(crate) fn state_dir(&self) -> PathBuf {
        self.0.path().join("state")
    }

    fn agent(&self, scenario: &str) -> Result<AcpAgentConfig> {
        let scenario = repository_path(scenario).canonicalize()?;
        let state = self.state_dir();
        Ok(AcpAgentConfig::new(binary()?)
            .args(["acp", "--profile", "acp", "--engine"])
            .arg(format!("script:{}", scenario.display()))
            .arg("--state-dir")
            .arg(state.display().to_string()))
    }
}

/// The records of a connection, and how the host answers.
pub(crate) struct Host {
    /// The profile it requests; `None` leaves the plain ACP of the command line.
    wish: Option<&'static str>,
    /// The scenario of the agent, as a file of the repository.
    scenario: &'static str,
    wire: Arc<Mutex<Vec<Value>>>,
    outgoing: Arc<Mutex<Vec<String>>>,
    updates: Arc<Mutex<Vec<Value>>>,
    events: Arc<Mutex<Vec<Value>>>,
    complaints: Complaints,
    asked: Arc<Mutex<Vec<Value>>>,
    /// The calls of withdrawn questions.
    withdrawn: Arc<Mutex<Vec<ToolCallId>>>,
    choice: Arc<Mutex<&'static str>>,
    /// Whether an answer waits for [`Host::release`].
    holds: Arc<AtomicBool>,
    go_on: Arc<Notify>,
    /// Notifies on every delivered message.
    came: Arc<Notify>,
    /// Notifies when the turn that waits for a cancel has begun.
    pub(crate) working: Arc<Notify>,
}

impl Default for Host {
    fn default() -> Self {
        Self {
            wish: None,
            scenario: "fixtures/scenarios/peer.yaml",
            wire: Arc::default(),
            outgoing: Arc::default(),
            updates: Arc::default(),
            events: Arc::default(),
            complaints: Complaints::default(),
            asked: Arc::default(),
            withdrawn: Arc::default(),
            choice: Arc::new(Mutex::new("allow_once")),
            holds: Arc::default(),
            go_on: Arc::default(),
            came: Arc::default(),
            working: Arc::default(),
        }
    }
}

impl Host {
    /// Returns a host for the tour.
    pub(crate) fn on_tour(wish: Option<&'static str>) -> Self {
        Self {
            wish,
            scenario: "fixtures/scenarios/tour.yaml",
            ..Self::default()
        }
    }

    /// Returns a host that requests a profile, steers, and delays its answers.
    pub(crate) fn steering(profile: &'static str) -> Self {
        Self {
            wish: Some(profile),
            scenario: "peers/steer.yaml",
            holds: Arc::new(AtomicBool::new(true)),
            ..Self::default()
        }
    }

    /// Starts the agent, initializes, runs `visit`, lets the SDK end the process, and fails if either side
    /// logged a warning.
    pub(crate) async fn visit_without_complaints<T>(
        &self,
        place: &Place,
        visit: impl AsyncFnOnce(Connection, InitializeResponse) -> Result<T, Error>,
    ) -> Result<T> {
        let result = self.visit(place, visit).await?;
        let said = self.take_complaints();
        ensure!(said.is_empty(), "somebody complained: {said:#?}");
        Ok(result)
    }

    /// The same, but leaves warnings to the caller.
    pub(crate) async fn visit<T>(
        &self,
        place: &Place,
        visit: impl AsyncFnOnce(Connection, InitializeResponse) -> Result<T, Error>,
    ) -> Result<T> {
        let agent = AcpAgent::new(place.agent(self.scenario)?).with_debug(self.wire_recorder());
        self.visit_over(agent, visit).await
    }

    /// The same, over any transport.
    pub(crate) async fn visit_over<T>(
        &self,
        agent: impl ConnectTo<Client>,
        visit: impl AsyncFnOnce(Connection, InitializeResponse) -> Result<T, Error>,
    ) -> Result<T> {
        let listening = self.complaints.collect_log();
        let (updates, working) = (self.updates.clone(), self.working.clone());
        let events = self.events.clone();
        let (asked, choice) = (self.asked.clone(), self.choice.clone());
        let (holds, go_on) = (self.holds.clone(), self.go_on.clone());
        let withdrawn = self.withdrawn.clone();
        let came = || self.came.clone();
        let (came_update, came_event, came_ask) = (came(), came(), came());

        let met = Client
            .v1()
            .name("harn-peer")
            .on_receive_notification(
                async move |notification: SessionNotification, _: Connection| {
                    let update = to_value(&notification.update)?;
                    if update["content"]["text"] == "working" {
                        working.notify_one();
                    }
                    lock(&updates).push(update);
                    came_update.notify_waiters();
                    Ok(())
                },
                agent_client_protocol::on_receive_notification!(),
            )
            // The next handler takes every notification, and knows only those of ACP.
            .on_receive_notification(
                async move |_: CancelRequestNotification, _: Connection| Ok(()),
                agent_client_protocol::on_receive_notification!(),
            )
            .on_receive_notification(
                async move |notification: AgentNotification, _: Connection| {
                    if let AgentNotification::ExtNotification(event) = notification {
                        let params: Value = serde_json::from_str(event.params.get())
                            .map_err(Error::into_internal_error)?;
                        lock(&events).push(json!([&*event.method, params]));
                        came_event.notify_waiters();
                    }
                    Ok(())
                },
                agent_client_protocol::on_receive_notification!(),
            )
            .on_receive_request(
                async move |request: RequestPermissionRequest, responder, agent: Connection| {
                    lock(&asked).push(to_value(&request)?);
                    came_ask.notify_waiters();
                    let outcome = SelectedPermissionOutcome::new(*lock(&choice));
                    let answer =
                        RequestPermissionResponse::new(RequestPermissionOutcome::Selected(outcome));
                    if !holds.load(Ordering::Relaxed) {
                        return responder.respond(answer);
                    }
                    // A handler that waits would block everything behind it.
                    let (go_on, withdrawn) = (go_on.clone(), withdrawn.clone());
                    agent.spawn(async move {
                        let cancelled = responder.cancellation();
                        tokio::select! {
                            () = go_on.notified() => {}
                            () = cancelled.cancelled() => lock(&withdrawn).push(request.tool_call.tool_call_id),
                        }
                        responder.respond(answer)
                    })
                },
                agent_client_protocol::on_receive_request!(),
            )
            .connect_with(agent, async |agent: Connection| {
                let mut request = InitializeRequest::new(ProtocolVersion::V1);
                if let Some(profile) = self.wish {
                    let meta = Meta::from_iter([("harn".to_owned(), json!({"profile": profile}))]);
                    request = request.client_capabilities(ClientCapabilities::new().meta(meta));
                }
                let hello = agent.send_request(request).block_task().await?;
                visit(agent, hello).await
            });
        let result = tokio::time::timeout(PATIENCE, met)
            .await
            .context("gave up waiting for the agent")??;
        drop(listening);
        Ok(result)
    }

    /// Records the lines on the wire, before the SDK parses them, and the stderr of the agent.
    fn wire_recorder(&self) -> impl Fn(&str, LineDirection) + Send + Sync + 'static {
        let (wire, complaints) = (self.wire.clone(), self.complaints.clone());
        let outgoing = self.outgoing.clone();
        move |line, direction| match direction {
            LineDirection::Stdout => lock(&wire).extend(serde_json::from_str::<Value>(line)),
            LineDirection::Stderr => complaints.add_stderr(line),
            LineDirection::Stdin => lock(&outgoing).push(line.trim_end().to_owned()),
        }
    }

    /// Removes and returns the warnings so far, one per line.
    pub(crate) fn take_complaints(&self) -> Vec<String> {
        let said = std::mem::take(&mut *lock(&self.complaints.0));
        String::from_utf8_lossy(&said)
            .lines()
            .map(str::to_owned)
            .collect()
    }

    /// Returns the params of every notification of this method on the wire.
    pub(crate) fn params_on_wire(&self, method: &str) -> Vec<Value> {
        let wire = lock(&self.wire);
        let of_method = wire.iter().filter(|m| m["method"] == method);
        of_method.map(|m| m["params"].clone()).collect()
    }

    /// Returns every line to the agent.
    pub(crate) fn outgoing(&self) -> Vec<String> {
        lock(&self.outgoing).clone()
    }

    /// Returns the ids of all requests of this method on the wire.
    pub(crate) fn ids(&self, method: &str) -> Vec<Value> {
        let wire = lock(&self.wire);
        let of_method = wire.iter().filter(|m| m["method"] == method);
        of_method.map(|m| m["id"].clone()).collect()
    }

    /// Waits until the delivered messages make `ready` true.
    pub(crate) async fn wait_until(&self, ready: impl Fn(&Self) -> bool) {
        loop {
            let came = self.came.notified();
            if ready(self) {
                return;
            }
            came.await;
        }
    }

    /// Sends the delayed answer.
    pub(crate) fn release(&self) {
        self.go_on.notify_one();
    }

    /// Returns every idle signal that the SDK delivered.
    pub(crate) fn idles(&self) -> Vec<Value> {
        let events = lock(&self.events);
        let params = events.iter().map(|event| event[1].clone());
        params.filter(|it| it["kind"] == "agent_idle").collect()
    }

    /// Returns every update that the SDK delivered.
    pub(crate) fn updates(&self) -> Vec<Value> {
        lock(&self.updates).clone()
    }

    /// Returns every extension notification that the SDK delivered: its method and its params.
    pub(crate) fn events(&self) -> Vec<Value> {
        lock(&self.events).clone()
    }

    pub(crate) fn choose(&self, option: &'static str) {
        *lock(&self.choice) = option;
    }

    pub(crate) fn questions(&self) -> Vec<Value> {
        lock(&self.asked).clone()
    }

    pub(crate) fn withdrawn(&self) -> Vec<String> {
        let calls = lock(&self.withdrawn);
        calls.iter().map(ToString::to_string).collect()
    }

    pub(crate) fn updates_of_kind(&self, kind: &str) -> Vec<Value> {
        let updates = lock(&self.updates);
        let of_kind = updates.iter().filter(|u| u["sessionUpdate"] == kind);
        of_kind.cloned().collect()
    }

    pub(crate) fn text(&self, kind: &str) -> String {
        self.updates_of_kind(kind)
            .iter()
            .filter_map(|u| u["content"]["text"].as_str())
            .collect()
    }

    pub(crate) fn last_call(&self) -> Value {
        let end = self
            .updates_of_kind("tool_call_update")
            .pop()
            .unwrap_or_default();
        json!([end["toolCallId"], end["status"]])
    }

    /// Returns the updates of the conversation: chunks of one message joined, `_meta` removed.
    pub(crate) fn conversation(&self) -> Vec<Value> {
        let mut told: Vec<Value> = Vec::new();
        for update in lock(&self.updates).iter() {
            let mut update = update.clone();
            if let Some(fields) = update.as_object_mut() {
                fields.remove("_meta");
            }
            match update["sessionUpdate"].as_str() {
                Some("agent_message_chunk" | "agent_thought_chunk") => {
                    let message = |u: &Value| (u["sessionUpdate"].clone(), u["messageId"].clone());
                    match told.last_mut() {
                        Some(last) if message(last) == message(&update) => {
                            let text = [&*last, &update].map(|u| u["content"]["text"].as_str());
                            last["content"]["text"] =
                                json!(text.map(Option::unwrap_or_default).concat());
                        }
                        _ => told.push(update),
                    }
                }
                Some("plan" | "tool_call" | "tool_call_update") => told.push(update),
                // Commands, mode, options, title and usage describe the session, not the conversation.
                _ => {}
            }
        }
        told
    }
}

/// The SDK's warnings and errors, and the agent's stderr.
#[derive(Clone, Default)]
struct Complaints(Arc<Mutex<Vec<u8>>>);

impl Complaints {
    /// Collects the SDK's log on this thread, where the test's runtime runs, until dropped.
    fn collect_log(&self) -> tracing::subscriber::DefaultGuard {
        let own = self.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(tracing::Level::WARN)
            .with_ansi(false)
            .with_writer(move || own.clone())
            .finish();
        tracing::subscriber::set_default(subscriber)
    }

    fn add_stderr(&self, line: &str) {
        lock(&self.0).extend_from_slice(format!("stderr: {line}\n").as_bytes());
    }
}

impl std::io::Write for Complaints {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        lock(&self.0).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn lock<T>(shared: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn to_value(message: &impl serde::Serialize) -> Result<Value, Error> {
    serde_json::to_value(message).map_err(Error::into_internal_error)
}
