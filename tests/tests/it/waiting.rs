//! An agent that idles, as its clients see it: the intervals of `agent/idle`, measured with a paused clock.

use std::time::Duration;

use harn_model::{DeliveryMode, SessionId, StopReason, SystemReminder};
use harn_runtime::{AgentError, Controller, TurnContext};
use harn_testkit::{FakeClock, MessageFromAgent, ScriptedAgent, StrictClient, TestHub};
use serde_json::{Value, json};
use tokio::time::Instant;

/// One `agent/idle`: milliseconds since the previous one, and the pause that it announces.
type Sign = (u64, u64);

struct Stage {
    test: TestHub,
    client: StrictClient,
    session: SessionId,
    /// The id of the open prompt.
    prompt: Value,
    last: Instant,
    /// Whether the signals arrive as a separate method instead of an agent event.
    by_name: bool,
}

#[allow(
    clippy::disallowed_methods,
    reason = "the clock of the runtime stands still and is what is asked about"
)]
fn now() -> Instant {
    Instant::now()
}

/// Connects a client and sends a prompt whose turn idles.
async fn start_idle_turn(profile: &str, agent: ScriptedAgent, clock: FakeClock) -> Stage {
    let test = TestHub::builder(agent).clock(clock).build();
    let mut client = test.connect();
    initialize(&mut client, profile).await;
    let params = json!({"cwd": test.workspace(), "mcpServers": []});
    let session = client.request("session/new", params).await["sessionId"].take();
    let session = session.as_str().unwrap();
    let prompt = json!({"sessionId": session, "prompt": [{"type": "text", "text": "Stay."}]});
    let prompt = client.send_request("session/prompt", prompt).await;
    Stage {
        test,
        client,
        session: session.into(),
        prompt: json!(prompt),
        last: now(),
        by_name: true,
    }
}

async fn initialize(client: &mut StrictClient, profile: &str) {
    let params = json!({
        "protocolVersion": 1,
        "clientCapabilities": {"_meta": {"harn": {"profile": profile}}},
        "clientInfo": {"name": "strict", "version": "0.0.0"},
    });
    client.request("initialize", params).await;
}

impl Stage {
    async fn controller(&self) -> Controller {
        self.test.hub().open(&self.session, None).await.unwrap()
    }

    /// Reads the next idle signal and skips all other messages.
    async fn next_signal(&mut self) -> Sign {
        let params = read_signal(&mut self.client).await;
        assert_eq!(params["sessionId"], self.session.as_str());
        assert_eq!(params.get("kind").is_none(), self.by_name, "{params}");
        let at = now();
        let pause = at.duration_since(self.last).as_millis();
        self.last = at;
        (u64::try_from(pause).unwrap(), announced_pause(&params))
    }

    async fn next_signals(&mut self, count: usize) -> Vec<Sign> {
        let mut signs = Vec::new();
        for _ in 0..count {
            signs.push(self.next_signal().await);
        }
        signs
    }

    async fn end(mut self) {
        let session = self.session.as_str();
        let params = json!({"sessionId": session});
        self.client.notify("session/cancel", params).await;
        count_signals_until_response(&mut self.client).await;
        self.client.close().await;
    }
}

/// Returns the announced pause until the next signal.
fn announced_pause(sign: &Value) -> u64 {
    let pause = sign.get("backoff_ms").or(sign.get("backoffMs"));
    pause.unwrap().as_u64().unwrap()
}

async fn read_signal(client: &mut StrictClient) -> Value {
    loop {
        match client.next().await {
            MessageFromAgent::Notification { method, params }
                if is_idle_signal(&method, &params) =>
            {
                return params;
            }
            MessageFromAgent::Notification { .. } => {}
            other => panic!("{other:?}"),
        }
    }
}

/// Returns whether this is an idle signal: the method, or the event for a typed client.
fn is_idle_signal(method: &str, params: &Value) -> bool {
    method == "agent/idle" || params["kind"] == "agent_idle"
}

/// Reads up to the response; returns the number of idle signals before it.
async fn count_signals_until_response(client: &mut StrictClient) -> usize {
    let mut signs = 0;
    loop {
        match client.next().await {
            MessageFromAgent::Response { .. } => return signs,
            MessageFromAgent::Notification { method, params } => {
                signs += usize::from(is_idle_signal(&method, &params));
            }
            MessageFromAgent::Request { .. } => panic!("nothing is asked"),
        }
    }
}

/// Idles, and sends the text of each delivered item.
async fn idle_and_echo(cx: TurnContext) -> Result<StopReason, AgentError> {
    cx.say("I stay.").await?;
    loop {
        let woke = cx.idle().await?;
        for item in &*woke.delivered {
            cx.say(item.text()).await?;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn idle_pauses_grow_and_restart_after_activity() {
    for profile in ["harn", "meta"] {
        let mut stage =
            start_idle_turn(profile, ScriptedAgent::new(idle_and_echo), FakeClock::new()).await;
        stage.by_name = profile == "harn";
        // The first signal follows the text of the agent.
        stage.client.expect_update_of("agent_message_chunk").await;
        let grown = [
            (0, 100),
            (100, 500),
            (500, 1000),
            (1000, 2000),
            (2000, 2000),
        ];
        assert_eq!(stage.next_signals(5).await, grown);
        let session = stage.controller().await;
        let reminder = SystemReminder::new("r-1", "Look up.");
        let actor = harn_model::Actor {
            client_id: "host".to_owned(),
            role: "host_owner".to_owned(),
            source: "test".to_owned(),
        };
        tokio::time::sleep(Duration::from_millis(300)).await;
        let reminded = session.remind(DeliveryMode::FinishStep, reminder, actor);
        reminded.await.unwrap();
        assert_eq!(
            stage.next_signals(3).await,
            [(300, 100), (100, 500), (500, 1000)]
        );
        stage.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn wake_by_the_clock_alone_is_no_activity() {
    let clock = FakeClock::new();
    let time = clock.clone();
    let agent = ScriptedAgent::new(move |cx| {
        let time = time.clone();
        async move {
            let interval = Duration::from_millis(700);
            let passes = async {
                tokio::time::sleep(interval - Duration::from_millis(1)).await;
                time.advance(interval);
            };
            let idle = cx.idle().wake_after(interval).into_future();
            tokio::join!(passes, idle).1?;
            cx.idle().await?;
            Ok(StopReason::EndTurn)
        }
    });
    let mut stage = start_idle_turn("harn", agent, clock).await;
    // Woken 100 milliseconds into the third pause, which begins again.
    let signs = [(0, 100), (100, 500), (500, 1000), (100, 1000), (1000, 2000)];
    assert_eq!(stage.next_signals(5).await, signs);
    stage.end().await;
}

#[tokio::test(start_paused = true)]
async fn no_idle_signal_follows_the_end_of_the_turn() {
    let agent = ScriptedAgent::new(|cx| async move {
        cx.idle().await?;
        Ok(StopReason::EndTurn)
    });
    let mut stage = start_idle_turn("harn", agent, FakeClock::new()).await;
    assert_eq!(stage.next_signals(2).await, [(0, 100), (100, 500)]);
    stage.controller().await.resume().await;
    count_signals_until_response(&mut stage.client).await;
    // The client fails if it receives an unexpected message.
    tokio::time::sleep(Duration::from_secs(60)).await;
    stage.client.close().await;
}

/// A cancelled agent no longer counts as idle, however long it takes to return.
#[tokio::test(start_paused = true)]
async fn no_idle_signal_follows_a_cancel() {
    let ways = ["session/cancel", "$/cancel_request"];
    for (profile, way) in [("harn", ways[0]), ("harn", ways[1]), ("meta", ways[0])] {
        let agent = ScriptedAgent::new(|cx| async move {
            let left = cx.idle().await;
            tokio::time::sleep(Duration::from_secs(3)).await;
            left.map(|_| StopReason::EndTurn)
        });
        let mut stage = start_idle_turn(profile, agent, FakeClock::new()).await;
        stage.by_name = profile == "harn";
        assert_eq!(stage.next_signals(2).await, [(0, 100), (100, 500)]);
        let params = json!({"sessionId": stage.session.as_str(), "requestId": stage.prompt});
        stage.client.notify(way, params).await;
        assert_eq!(
            count_signals_until_response(&mut stage.client).await,
            0,
            "{profile}, {way}"
        );
        stage.client.close().await;
    }
}

#[tokio::test(start_paused = true)]
async fn plain_client_receives_no_idle_signals() {
    let agent = ScriptedAgent::new(|cx| async move {
        cx.idle().wake_after(Duration::from_secs(3)).await?;
        Ok(StopReason::EndTurn)
    });
    let mut stage = start_idle_turn("acp", agent, FakeClock::new()).await;
    assert_eq!(count_signals_until_response(&mut stage.client).await, 0);
    stage.client.close().await;
}

/// Both ways to open a session; the replay shows no wait that is over.
#[tokio::test(start_paused = true)]
async fn client_that_opens_the_session_of_an_idle_agent_receives_idle_signals() {
    let clock = FakeClock::new();
    let agent = ScriptedAgent::new(|cx| async move {
        cx.idle().wake_after(Duration::from_millis(10)).await?;
        cx.idle().await?;
        Ok(StopReason::EndTurn)
    });
    let mut stage = start_idle_turn("harn", agent, clock.clone()).await;
    assert_eq!(stage.next_signals(2).await, [(0, 100), (10, 100)]);
    clock.advance(Duration::from_millis(1100));
    for method in ["session/resume", "session/load"] {
        let mut late = stage.test.connect();
        initialize(&mut late, "harn").await;
        let session = stage.session.as_str();
        let params = json!({"sessionId": session, "cwd": stage.test.workspace(), "mcpServers": []});
        late.send_request(method, params).await;
        assert_eq!(count_signals_until_response(&mut late).await, 0, "{method}");
        let came = now();
        let sign = read_signal(&mut late).await;
        let asked = [&sign["iteration"], &sign["backoff_ms"]];
        assert_eq!(asked, [&json!(1), &json!(1000)], "{method}");
        assert_eq!(came.elapsed(), Duration::ZERO, "{method}");
        assert_eq!(read_signal(&mut late).await["backoff_ms"], 2000, "{method}");
        assert_eq!(came.elapsed(), Duration::from_secs(1), "{method}");
        late.vanish();
    }
    stage.client.vanish();
}
