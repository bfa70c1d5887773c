//! The Rust SDK's client as a peer of the real binary, over the SDK's own process transport.
//!
//! Owns what that client must be able to do with a plain agent; the same list is run by the other
//! clients in `peers/`. Speaks to harn-serve over stdio only, never to our crates.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use agent_client_protocol::{
    AcpAgent, AcpAgentConfig, Agent, Client, Error, LineDirection,
    schema::ProtocolVersion,
    v1::{
        ConnectionTo,
        schema::{
            CancelNotification, ContentBlock, Implementation, InitializeRequest,
            InitializeResponse, ListSessionsRequest, LoadSessionRequest, NewSessionRequest,
            PromptRequest, RequestPermissionOutcome, RequestPermissionRequest,
            RequestPermissionResponse, SelectedPermissionOutcome, SessionId, SessionNotification,
            StopReason, TextContent,
        },
    },
};
use anyhow::{Context, Result, ensure};
use harn_tests::binary;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::Notify;

/// Only so that a hang fails instead of hanging: nothing here measures time.
const PATIENCE: Duration = Duration::from_secs(60);

type Connection = ConnectionTo<Agent>;

#[tokio::test]
async fn initializes() -> Result<()> {
    let place = Place::new()?;
    let host = Host::default();
    let hello = host.meet(&place, async |_, hello| Ok(hello)).await?;
    assert_eq!(hello.protocol_version, ProtocolVersion::V1);
    assert_eq!(
        hello.agent_info.map(|info| info.name).as_deref(),
        Some("peer")
    );
    assert!(hello.agent_capabilities.load_session);
    assert!(hello.agent_capabilities.session_capabilities.list.is_some());
    Ok(())
}

#[tokio::test]
async fn sees_a_thought_a_plan_a_tool_call_and_the_words_of_a_turn() -> Result<()> {
    let place = Place::new()?;
    let host = Host::default();
    let stop = host
        .meet(&place, async |agent, _| {
            let session = open(&agent, &place).await?;
            prompt(&agent, &session, "hello").await
        })
        .await?;
    assert_eq!(stop, StopReason::EndTurn);
    assert_eq!(host.text("agent_thought_chunk"), "Where is it?");
    assert_eq!(host.text("agent_message_chunk"), "There are three lines.");
    let plan = &host.of("plan")[0]["entries"];
    assert_eq!(plan[0]["content"], "Look at the file");
    assert_eq!(plan[1]["content"], "Answer");
    let call = &host.of("tool_call")[0];
    assert_eq!(call["toolCallId"], "look-1");
    assert_eq!(call["kind"], "read");
    assert_eq!(host.last_call(), json!(["look-1", "completed"]));
    Ok(())
}

#[tokio::test]
async fn is_asked_for_a_permission_and_allows_it() -> Result<()> {
    answers_a_permission("allow_once", "It is written.", "completed").await
}

#[tokio::test]
async fn is_asked_for_a_permission_and_rejects_it() -> Result<()> {
    answers_a_permission("reject_once", "Then I leave it.", "failed").await
}

async fn answers_a_permission(choice: &'static str, words: &str, status: &str) -> Result<()> {
    let place = Place::new()?;
    let host = Host::default();
    host.choose(choice);
    let stop = host
        .meet(&place, async |agent, _| {
            let session = open(&agent, &place).await?;
            prompt(&agent, &session, "perm please").await
        })
        .await?;
    ensure!(stop == StopReason::EndTurn, "stopped with {stop:?}");
    let asked = host.asked();
    ensure!(asked.len() == 1, "asked {} times", asked.len());
    let (call, options) = (&asked[0]["toolCall"], &asked[0]["options"]);
    assert_eq!(call["title"], "Write notes.txt");
    assert_eq!(call["kind"], "edit");
    assert_eq!(call["rawInput"], json!({"path": "notes.txt"}));
    for (option, id) in [(&options[0], "allow_once"), (&options[1], "reject_once")] {
        assert_eq!(
            (&option["optionId"], &option["kind"]),
            (&json!(id), &json!(id))
        );
    }
    assert_eq!(
        host.text("agent_message_chunk"),
        format!("May I write a note? {words}")
    );
    assert_eq!(host.last_call(), json!([call["toolCallId"], status]));
    Ok(())
}

#[tokio::test]
async fn cancels_in_the_middle_of_a_prompt_and_goes_on() -> Result<()> {
    let place = Place::new()?;
    let host = Host::default();
    let stops = host
        .meet(&place, async |agent, _| {
            let session = open(&agent, &place).await?;
            let cancelled = cancel_in_the_middle(&host, &agent, &session).await?;
            Ok((cancelled, prompt(&agent, &session, "hello").await?))
        })
        .await?;
    assert_eq!(stops, (StopReason::Cancelled, StopReason::EndTurn));
    Ok(())
}

#[tokio::test]
async fn lists_the_sessions_of_a_folder() -> Result<()> {
    let place = Place::new()?;
    let host = Host::default();
    let (session, here, elsewhere) = host
        .meet(&place, async |agent, _| {
            let session = open(&agent, &place).await?;
            prompt(&agent, &session, "hello").await?;
            let list = async |cwd: PathBuf| {
                let request = ListSessionsRequest::new().cwd(cwd);
                let answer = agent.send_request(request).block_task().await?;
                Ok::<_, Error>(answer.sessions)
            };
            let here = list(place.cwd()).await?;
            Ok((session, here, list(place.cwd().join("elsewhere")).await?))
        })
        .await?;
    let here: Vec<_> = here.into_iter().map(|s| (s.session_id, s.cwd)).collect();
    assert_eq!(here, [(session, place.cwd())]);
    assert!(elsewhere.is_empty(), "{elsewhere:?}");
    Ok(())
}

#[tokio::test]
async fn loads_a_session_in_a_new_process_and_sees_what_it_saw_live() -> Result<()> {
    let place = Place::new()?;
    let live = Host::default();
    let session = live
        .meet(&place, async |agent, _| {
            let session = open(&agent, &place).await?;
            prompt(&agent, &session, "hello").await?;
            prompt(&agent, &session, "perm one").await?;
            live.choose("reject_once");
            prompt(&agent, &session, "perm two").await?;
            cancel_in_the_middle(&live, &agent, &session).await?;
            Ok(session)
        })
        .await?;
    let replayed = Host::default();
    replayed
        .meet(&place, async |agent, _| {
            let request = LoadSessionRequest::new(session, place.cwd());
            agent.send_request(request).block_task().await
        })
        .await?;
    assert_eq!(replayed.story(), live.story());
    assert!(live.story().len() >= 12, "too short: {:?}", live.story());
    let said: Vec<_> = replayed
        .of("user_message_chunk")
        .iter()
        .map(|update| update["content"]["text"].clone())
        .collect();
    assert_eq!(said, ["hello", "perm one", "perm two", "slow"]);
    assert!(
        replayed.asked().is_empty(),
        "a settled question is not asked again"
    );
    Ok(())
}

#[tokio::test]
async fn stays_calm_at_activity_that_plain_acp_has_no_word_for() -> Result<()> {
    let place = Place::new()?;
    let host = Host::default();
    let stop = host
        .meet(&place, async |agent, _| {
            let session = open(&agent, &place).await?;
            prompt(&agent, &session, "activity").await
        })
        .await?;
    assert_eq!(stop, StopReason::EndTurn);
    assert!(host.text("agent_message_chunk").contains("All quiet."));
    Ok(())
}

async fn open(agent: &Connection, place: &Place) -> Result<SessionId, Error> {
    let request = NewSessionRequest::new(place.cwd());
    Ok(agent.send_request(request).block_task().await?.session_id)
}

async fn prompt(agent: &Connection, session: &SessionId, text: &str) -> Result<StopReason, Error> {
    let blocks = vec![ContentBlock::Text(TextContent::new(text))];
    let request = PromptRequest::new(session.clone(), blocks);
    Ok(agent.send_request(request).block_task().await?.stop_reason)
}

async fn cancel_in_the_middle(
    host: &Host,
    agent: &Connection,
    session: &SessionId,
) -> Result<StopReason, Error> {
    let cancel = async {
        host.working.notified().await;
        agent.send_notification(CancelNotification::new(session.clone()))
    };
    let (stop, sent) = tokio::join!(prompt(agent, session, "slow"), cancel);
    sent?;
    stop
}

/// A folder to work in, with the state beside it.
struct Place(TempDir);

impl Place {
    fn new() -> Result<Self> {
        Ok(Self(TempDir::with_prefix("harn-peer-rs-")?))
    }

    fn cwd(&self) -> PathBuf {
        self.0.path().to_owned()
    }

    fn agent(&self) -> Result<AcpAgentConfig> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let scenario = root.join("fixtures/scenarios/peer.yaml").canonicalize()?;
        let state = self.0.path().join("state");
        Ok(AcpAgentConfig::new(binary()?)
            .args(["acp", "--profile", "acp", "--engine"])
            .arg(format!("script:{}", scenario.display()))
            .arg("--state-dir")
            .arg(state.display().to_string()))
    }
}

/// What a host keeps of a connection, and how it answers.
struct Host {
    updates: Arc<Mutex<Vec<Value>>>,
    asked: Arc<Mutex<Vec<Value>>>,
    choice: Arc<Mutex<&'static str>>,
    working: Arc<Notify>,
}

impl Default for Host {
    fn default() -> Self {
        Self {
            updates: Arc::default(),
            asked: Arc::default(),
            choice: Arc::new(Mutex::new("allow_once")),
            working: Arc::default(),
        }
    }
}

impl Host {
    /// Starts the agent, initializes, runs `visit`, lets the SDK end the process, and insists that
    /// neither side complained.
    async fn meet<T>(
        &self,
        place: &Place,
        visit: impl AsyncFnOnce(Connection, InitializeResponse) -> Result<T, Error>,
    ) -> Result<T> {
        let complaints = Complaints::default();
        let listening = complaints.listen();
        let agent = AcpAgent::new(place.agent()?).with_debug(complaints.stderr());
        let (updates, working) = (self.updates.clone(), self.working.clone());
        let (asked, choice) = (self.asked.clone(), self.choice.clone());

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
                    Ok(())
                },
                agent_client_protocol::on_receive_notification!(),
            )
            .on_receive_request(
                async move |request: RequestPermissionRequest, responder, _: Connection| {
                    lock(&asked).push(to_value(&request)?);
                    let outcome = SelectedPermissionOutcome::new(*lock(&choice));
                    responder.respond(RequestPermissionResponse::new(
                        RequestPermissionOutcome::Selected(outcome),
                    ))
                },
                agent_client_protocol::on_receive_request!(),
            )
            .connect_with(agent, async |agent: Connection| {
                let request = InitializeRequest::new(ProtocolVersion::V1)
                    .client_info(Implementation::new("harn-peer", "1.0.0"));
                let hello = agent.send_request(request).block_task().await?;
                visit(agent, hello).await
            });
        let result = tokio::time::timeout(PATIENCE, met)
            .await
            .context("gave up waiting for the agent")??;
        drop(listening);
        complaints.none()?;
        Ok(result)
    }

    fn choose(&self, option: &'static str) {
        *lock(&self.choice) = option;
    }

    fn asked(&self) -> Vec<Value> {
        lock(&self.asked).clone()
    }

    fn of(&self, kind: &str) -> Vec<Value> {
        let updates = lock(&self.updates);
        let of_kind = updates.iter().filter(|u| u["sessionUpdate"] == kind);
        of_kind.cloned().collect()
    }

    fn text(&self, kind: &str) -> String {
        self.of(kind)
            .iter()
            .filter_map(|u| u["content"]["text"].as_str())
            .collect()
    }

    fn last_call(&self) -> Value {
        let end = self.of("tool_call_update").pop().unwrap_or_default();
        json!([end["toolCallId"], end["status"]])
    }

    /// The updates that tell the conversation: chunks of one message joined, `_meta` left out.
    fn story(&self) -> Vec<Value> {
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
                // Commands, mode, options, title and usage describe the session, not what was said.
                _ => {}
            }
        }
        told
    }
}

/// What the SDK logs as a warning or worse, and what the agent says on stderr that looks like one.
#[derive(Clone, Default)]
struct Complaints(Arc<Mutex<Vec<u8>>>);

impl Complaints {
    /// Collects the SDK's log on this thread, where the test's runtime runs, until dropped.
    fn listen(&self) -> tracing::subscriber::DefaultGuard {
        let own = self.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(tracing::Level::WARN)
            .with_ansi(false)
            .with_writer(move || own.clone())
            .finish();
        tracing::subscriber::set_default(subscriber)
    }

    fn stderr(&self) -> impl Fn(&str, LineDirection) + Send + Sync + 'static {
        let own = self.clone();
        move |line, direction| {
            let lower = line.to_lowercase();
            let bad = ["warn", "error", "panicked"];
            if direction == LineDirection::Stderr && bad.iter().any(|word| lower.contains(word)) {
                lock(&own.0).extend_from_slice(format!("stderr: {line}\n").as_bytes());
            }
        }
    }

    fn none(&self) -> Result<()> {
        let said = String::from_utf8_lossy(&lock(&self.0)).into_owned();
        ensure!(said.is_empty(), "somebody complained:\n{said}");
        Ok(())
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
