//! The order of messages that a client receives, under load and with several sessions on one connection:
//! responses before a session's first update, the updates of a turn before its response and none after it,
//! whole replays before the response to a load.

use std::collections::{BTreeMap, HashMap};

use crate::support_stress::{
    connect_and_initialize, kind, load_params, new_session_params, text_prompt,
};
use harn_model::{AgentEvent, SlashCommand, StopReason, ToolKind};
use harn_runtime::{AgentError, TurnContext};
use harn_testkit::{MessageFromAgent, ScriptedAgent, StrictClient, TestHub};
use serde_json::{Value, json};
use tokio::sync::watch;

const SESSIONS: usize = 8;
const PROMPTS: usize = 4;
const CHUNKS: usize = 150;
/// A tool call follows after this many chunks.
const STRIDE: usize = 25;

/// Sends chunks that name the session, the turn and the number.
async fn send_numbered_chunks(cx: TurnContext) -> Result<StopReason, AgentError> {
    let (session, turn) = (cx.session_id().clone(), cx.prompt_text());
    for number in 0..CHUNKS {
        cx.say(format!("{session} {turn} {number}")).await?;
        if number % STRIDE == 0 {
            let title = format!("{session} {turn}");
            let look = cx.tool("look").kind(ToolKind::Read).title(title);
            look.start().await?.complete(()).await?;
            // Lets the other sessions run.
            tokio::task::yield_now().await;
        }
    }
    Ok(StopReason::EndTurn)
}

fn with_commands(agent: ScriptedAgent) -> ScriptedAgent {
    agent.commands(vec![SlashCommand {
        name: "go".to_owned(),
        description: "Start".to_owned(),
        input: None,
    }])
}

/// Commands that an agent announces at the start of a turn are sent with that turn, and not also with the
/// opening of the session.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn commands_of_an_agent_are_sent_once() {
    let test = TestHub::new(ScriptedAgent::new(async |cx| {
        let commands = vec![SlashCommand {
            name: "go".to_owned(),
            description: "Start".to_owned(),
            input: None,
        }];
        cx.emit(AgentEvent::commands(commands)).await?;
        Ok(StopReason::EndTurn)
    }));
    let mut client = connect_and_initialize(&test).await;
    for _ in 0..200 {
        let opened = client
            .request("session/new", new_session_params(&test))
            .await;
        let session = opened["sessionId"].as_str().unwrap();
        let prompt = text_prompt(session, "go");
        let id = client.send_request("session/prompt", prompt).await;
        let (updates, _) = client.collect_updates_until(&id).await;
        let told = updates
            .iter()
            .filter(|update| kind(update) == "available_commands_update");
        assert_eq!(told.count(), 1);
    }
    client.close().await;
}

/// A client that steers receives a message's id before any event about it, however fast the agent takes the
/// message.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn events_of_a_message_follow_its_response() {
    const MESSAGES: usize = 400;
    let test = TestHub::new(ScriptedAgent::new(async |cx: TurnContext| {
        let mut heard = 0;
        while heard < MESSAGES {
            heard += cx.idle().await?.delivered.messages().count();
        }
        Ok(StopReason::EndTurn)
    }));
    let mut client = connect_and_initialize(&test).await;
    let opened = client
        .request("session/new", new_session_params(&test))
        .await;
    let session = opened["sessionId"].as_str().unwrap();
    let prompt = client
        .send_request("session/prompt", text_prompt(session, "listen"))
        .await;
    let waits = |message: &MessageFromAgent| matches!(message, MessageFromAgent::Notification { method, .. } if method == "agent/idle");
    while !waits(&client.next().await) {}
    // All requests at once, without waiting for responses: deliveries race with the responses.
    for number in 0..MESSAGES {
        let params = json!({"sessionId": session, "mode": "steer", "content": number.to_string()});
        client.send_request("session/inject", params).await;
    }
    let (mut accepted, mut told, mut delivered) = (Vec::new(), Vec::new(), Vec::new());
    loop {
        match client.next().await {
            MessageFromAgent::Response { id, .. } if id == prompt => break,
            MessageFromAgent::Response { result, .. } => {
                accepted.push(result.unwrap()["messageId"].clone())
            }
            MessageFromAgent::Notification { params, .. }
                if params["kind"] == "control_outcome" =>
            {
                let message = params["target"]["messageId"].clone();
                assert!(accepted.contains(&message), "told before its answer");
                told.push(message);
            }
            MessageFromAgent::Notification { params, .. } => {
                let message = params["update"]["messageId"].clone();
                if kind(&params["update"]) == "user_message" {
                    assert!(accepted.contains(&message), "delivered before its answer");
                    delivered.push(message);
                }
            }
            MessageFromAgent::Request { method, .. } => panic!("asked for {method}"),
        }
    }
    assert_eq!(accepted.len(), MESSAGES);
    assert_eq!(told, accepted);
    assert_eq!(delivered, accepted);
    client.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn order_holds_with_many_sessions_at_once() {
    let test = TestHub::new(with_commands(ScriptedAgent::new(send_numbered_chunks)));
    let mut wire = Wire::new(connect_and_initialize(&test).await);

    // All are created at once; their setup updates race with the responses.
    for _ in 0..SESSIONS {
        wire.ask("session/new", new_session_params(&test), Asked::New)
            .await;
    }
    wire.settle().await;
    let sessions: Vec<String> = wire.sessions.keys().cloned().collect();
    assert_eq!(sessions.len(), SESSIONS);

    // Prompts queue in every session while its mode changes.
    for turn in 0..PROMPTS {
        for session in &sessions {
            wire.prompt(session, turn).await;
            let mode = ["read-only", "ask"][turn % 2];
            let params = json!({"sessionId": session, "modeId": mode});
            let asked = Asked::Mode(session.clone(), mode);
            wire.ask("session/set_mode", params, asked).await;
        }
    }
    wire.settle().await;

    // Half of the sessions are closed and reopened, in several ways, while the others run turns.
    let (away, busy) = sessions.split_at(SESSIONS / 2);
    for session in away {
        let params = json!({"sessionId": session});
        let asked = Asked::Close(session.clone());
        wire.ask("session/close", params, asked).await;
    }
    wire.settle().await;
    for session in busy {
        wire.prompt(session, PROMPTS).await;
    }
    for session in &away[1..] {
        let asked = Asked::Load(session.clone());
        wire.ask("session/load", load_params(&test, session), asked)
            .await;
    }
    let asked = Asked::Resume(away[0].clone());
    wire.ask("session/resume", load_params(&test, &away[0]), asked)
        .await;
    let fork = load_params(&test, &busy[0]);
    wire.ask("session/fork", fork, Asked::New).await;
    wire.settle().await;
    assert_eq!(wire.sessions.len(), SESSIONS + 1);

    // The reopened sessions work.
    for session in away {
        wire.prompt(session, PROMPTS).await;
    }
    wire.settle().await;
    wire.client.close().await;
    test.hub().shutdown().await;
}

/// A client that checks for each message whether the order allows it at that point.
struct Wire {
    client: StrictClient,
    asked: HashMap<u64, Asked>,
    sessions: BTreeMap<String, Session>,
}

/// A request without a response.
enum Asked {
    New,
    Load(String),
    Resume(String),
    Close(String),
    Mode(String, &'static str),
    Prompt(String, usize),
}

/// What the client has received of an open session.
#[derive(Default)]
struct Session {
    /// Turns that have a response.
    ended: usize,
    /// Chunks and calls of the current turn.
    chunks: usize,
    calls: usize,
    /// Announced modes, oldest first, and how many option updates followed.
    modes: Vec<String>,
    options: usize,
    /// The setup update was received.
    commands: bool,
    /// Set while the session is closed or replayed: only a replay is legal then.
    replay: Option<Replay>,
}

#[derive(Default)]
struct Replay {
    turns: usize,
    chunks: usize,
    calls: usize,
    /// The client requested it.
    wanted: bool,
}

impl Wire {
    fn new(client: StrictClient) -> Self {
        Self {
            client,
            asked: HashMap::new(),
            sessions: BTreeMap::new(),
        }
    }

    async fn ask(&mut self, method: &str, params: Value, asked: Asked) {
        if let Asked::Load(session) = &asked
            && let Some(replay) = &mut self.session(session).replay
        {
            replay.wanted = true;
        }
        let id = self.client.send_request(method, params).await;
        self.asked.insert(id.as_u64().unwrap(), asked);
    }

    async fn prompt(&mut self, session: &str, turn: usize) {
        let params = text_prompt(session, &turn.to_string());
        let asked = Asked::Prompt(session.to_owned(), turn);
        self.ask("session/prompt", params, asked).await;
    }

    /// Reads until every request has a response and every setup update was received.
    async fn settle(&mut self) {
        let quiet = |s: &Session| s.commands || s.replay.is_some();
        while !self.asked.is_empty() || !self.sessions.values().all(quiet) {
            match self.client.next().await {
                MessageFromAgent::Response { id, result } => {
                    let result = result.unwrap();
                    let asked = self.asked.remove(&id.as_u64().unwrap()).unwrap();
                    self.check_response(asked, &result);
                }
                MessageFromAgent::Notification { method, params }
                    if method == "_harn/agentEvent" =>
                {
                    self.session(params["sessionId"].as_str().unwrap());
                }
                MessageFromAgent::Notification { method, params } => {
                    assert_eq!(method, "session/update");
                    let session = params["sessionId"].as_str().unwrap();
                    self.session(session).update(session, &params["update"]);
                }
                MessageFromAgent::Request { method, .. } => panic!("asked for {method}"),
            }
        }
    }

    fn session(&mut self, id: &str) -> &mut Session {
        // An update before the response that names its session fails here.
        let known = self.sessions.get_mut(id);
        known.unwrap_or_else(|| panic!("{id} came before the answer that names it"))
    }

    fn check_response(&mut self, asked: Asked, result: &Value) {
        match asked {
            Asked::New => {
                let id = result["sessionId"].as_str().unwrap().to_owned();
                assert!(self.sessions.insert(id, Session::default()).is_none());
            }
            Asked::Prompt(id, turn) => {
                assert_eq!(result["stopReason"], "end_turn");
                self.session(&id).end_turn(turn);
            }
            Asked::Mode(id, mode) => {
                let session = self.session(&id);
                assert_eq!(session.modes.first().map(String::as_str), Some(mode));
                assert_eq!(session.options, session.modes.len());
                session.modes.remove(0);
                session.options -= 1;
            }
            Asked::Close(id) => {
                let session = self.session(&id);
                assert!(session.replay.is_none());
                session.replay = Some(Replay::default());
                session.commands = false;
            }
            Asked::Load(id) => {
                let session = self.session(&id);
                let replay = session.replay.take().unwrap();
                assert_eq!(replay.turns, session.ended, "{id}");
                assert_eq!(replay.chunks, session.ended * CHUNKS, "{id}");
                assert_eq!(
                    replay.calls,
                    session.ended * CHUNKS.div_ceil(STRIDE),
                    "{id}"
                );
            }
            Asked::Resume(id) => {
                let replay = self.session(&id).replay.take().unwrap();
                assert_eq!((replay.turns, replay.chunks), (0, 0), "{id} was replayed");
            }
        }
    }
}

impl Session {
    fn update(&mut self, id: &str, update: &Value) {
        match (&mut self.replay, kind(update)) {
            (None, "agent_message_chunk") => {
                let expected = format!("{id} {} {}", self.ended, self.chunks);
                assert_eq!(update["content"]["text"], expected);
                self.chunks += 1;
            }
            (None, "tool_call") => {
                assert_eq!(update["title"], format!("{id} {}", self.ended));
                self.calls += 1;
            }
            (None, "tool_call_update") => assert_eq!(update["status"], "completed"),
            (None, "current_mode_update") => {
                let mode = update["currentModeId"].as_str().unwrap();
                self.modes.push(mode.to_owned());
            }
            (None, "config_option_update") => self.options += 1,
            // The title is sent once, with the first turn.
            (None, "session_info_update") => assert_eq!(self.ended, 0),
            (None, "available_commands_update") => {
                assert!(!self.commands, "{id} was set up twice");
                self.commands = true;
            }
            (Some(replay), kind) if replay.wanted => replay.update(id, kind, update),
            (_, other) => panic!("{id}: {other} has no place here"),
        }
    }

    fn end_turn(&mut self, turn: usize) {
        assert_eq!(turn, self.ended, "answered out of turn");
        assert_eq!(self.chunks, CHUNKS, "answered before its updates");
        assert_eq!(self.calls, CHUNKS.div_ceil(STRIDE));
        self.ended += 1;
        (self.chunks, self.calls) = (0, 0);
    }
}

impl Replay {
    fn update(&mut self, id: &str, kind: &str, update: &Value) {
        match kind {
            "user_message_chunk" => {
                assert_eq!(update["content"]["text"], self.turns.to_string());
                assert_eq!(self.chunks, self.turns * CHUNKS);
                self.turns += 1;
            }
            "agent_message_chunk" => {
                let turn = self.turns - 1;
                let expected = format!("{id} {turn} {}", self.chunks - turn * CHUNKS);
                assert_eq!(update["content"]["text"], expected);
                self.chunks += 1;
            }
            "tool_call" => self.calls += 1,
            "tool_call_update" | "session_info_update" => {}
            other => panic!("{id}: {other} in a replay"),
        }
    }
}

/// Returns an agent that sends one number at a time, up to the limit.
fn counting_agent(limit: watch::Receiver<usize>) -> ScriptedAgent {
    ScriptedAgent::new(move |cx: TurnContext| {
        let mut limit = limit.clone();
        async move {
            for number in 0..COUNT {
                // The test keeps the sender until the end.
                let _ = limit.wait_for(|limit| *limit > number).await;
                cx.emit(AgentEvent::message(number.to_string())).await?;
            }
            Ok(StopReason::EndTurn)
        }
    })
}

const COUNT: usize = 40;

/// A client loads a session again while a turn of its own runs there, once or twice. The replay replaces the
/// stream: no update is lost or repeated, and every request is answered.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn session_can_be_loaded_during_its_own_turn() {
    let (limit, watched) = watch::channel(0);
    let test = TestHub::new(counting_agent(watched));
    let mut client = connect_and_initialize(&test).await;
    for round in 0..COUNT {
        limit.send_replace(0);
        let session = crate::support_stress::open(&mut client, &test).await;
        let prompt = text_prompt(&session, "count");
        let prompt = client.send_request("session/prompt", prompt).await;
        limit.send_replace(round + 1);
        // At least one chunk, so that the turn has begun.
        let seen = round / 2 + 1;
        for number in 0..seen {
            let update = client.expect_update_of("agent_message_chunk").await;
            assert_eq!(update["content"]["text"], number.to_string());
        }
        let mut loads = Vec::new();
        for _ in 0..=round % 2 {
            let load = load_params(&test, &session);
            loads.push(client.send_request("session/load", load).await);
        }
        // The agent sends the rest during the replay.
        limit.send_replace(COUNT);
        Takeover::new(seen, loads, prompt).watch(&mut client).await;
    }
    client.close().await;
}

/// Checks the messages after a session is loaded during a turn.
struct Takeover {
    /// The number that must follow.
    next: usize,
    replays: usize,
    /// Answered loads, and unanswered ones.
    loaded: usize,
    loads: Vec<Value>,
    prompt: Option<Value>,
}

impl Takeover {
    fn new(next: usize, loads: Vec<Value>, prompt: Value) -> Self {
        Self {
            next,
            replays: 0,
            loaded: 0,
            loads,
            prompt: Some(prompt),
        }
    }

    async fn watch(mut self, client: &mut StrictClient) {
        while !self.loads.is_empty() || self.prompt.is_some() {
            match client.next().await {
                MessageFromAgent::Notification { params, .. } => self.update(&params["update"]),
                MessageFromAgent::Response { id, result } => {
                    self.check_response(&id, &result.unwrap())
                }
                MessageFromAgent::Request { method, .. } => panic!("asked for {method}"),
            }
        }
        assert_eq!(self.next, COUNT);
    }

    fn update(&mut self, update: &Value) {
        match kind(update) {
            // Only a replay sends the client its own prompt.
            "user_message_chunk" => {
                assert_eq!(self.replays, self.loaded, "two replays at once");
                self.replays += 1;
                self.next = 0;
            }
            "agent_message_chunk" => {
                assert_eq!(update["content"]["text"], self.next.to_string());
                self.next += 1;
            }
            "session_info_update" => assert_eq!(self.next, COUNT),
            other => panic!("{other}"),
        }
    }

    fn check_response(&mut self, id: &Value, result: &Value) {
        if self.prompt.as_ref() == Some(id) {
            assert_eq!(result["stopReason"], "end_turn");
            assert_eq!(self.next, COUNT, "answered before its updates");
            self.prompt = None;
        } else {
            // The loads run concurrently, so either may finish first.
            let at = self.loads.iter().position(|load| load == id);
            self.loads.remove(at.unwrap());
            self.loaded += 1;
            assert_eq!(self.replays, self.loaded, "answered before its replay");
        }
    }
}
