//! Plays the story: with a hub, an agent that plays its steps, and a client that answers, cancels and crashes.

use std::{
    collections::{HashMap, VecDeque},
    fs,
    sync::{Arc, Mutex, OnceLock},
    time::Duration,
};

use harn_journal::{JsonlStore, Store};
use harn_model::{
    AgentEvent, ConfigChoice, ConfigOption, ContentBlock, DaemonChange, Decision, Envelope,
    HitlResponse, LiveClient, LiveClientMode, MessageId, PermissionAsked, PermissionRoute,
    PromptSupport, Seq, SessionId, StopReason, ToolKind,
};
use harn_runtime::{
    AgentError, ControlError, Controller, EquipmentChange, NewSession, Question, Subscription,
    TurnContext,
};
use serde_json::json;
use tokio::sync::Notify;

use super::{
    StoryCall, StoryEnding, StoryStep, StoryTurn,
    steering::{StoryCommand, StoryRequest, StoryWake, actor},
};
use crate::{FakeClock, FakeEquip, ScriptedAgent, TestHub, lock, must};

/// The time between two steps.
const PACE: Duration = Duration::from_millis(125);

/// The bytes that a crashed process leaves after its last whole line.
const TORN: &[u8] = br#"{"v":2,"seq":"#;

/// Plays the turns and returns the events of the journal.
pub(super) fn play_story(turns: Vec<StoryTurn>) -> Vec<Envelope> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        // On a paused clock, a timed wait ends when every task waits, on every machine.
        .start_paused(true)
        .build();
    expect_ok(runtime).block_on(play_turns(turns))
}

/// The state that the agent and the player of the story share.
struct StoryContext {
    clock: FakeClock,
    turns: Mutex<VecDeque<(Vec<StoryStep>, StoryEnding)>>,
    /// Notified when a turn that does not end by itself has done all its steps.
    waiting: Notify,
    steered: OnceLock<Controller>,
    /// The ids of the injected messages, by their names in the story.
    said: Mutex<HashMap<&'static str, MessageId>>,
    equip: FakeEquip,
}

impl StoryContext {
    fn session(&self) -> &Controller {
        let Some(session) = self.steered.get() else {
            panic!("the story has no session yet");
        };
        session
    }
}

async fn play_turns(turns: Vec<StoryTurn>) -> Vec<Envelope> {
    let clock = FakeClock::new();
    let stage = Arc::new(StoryContext {
        clock: clock.clone(),
        turns: Mutex::default(),
        waiting: Notify::new(),
        steered: OnceLock::new(),
        said: Mutex::default(),
        equip: FakeEquip::default(),
    });
    let equip = stage.equip.clone();
    let mut test = TestHub::builder(agent(stage.clone()))
        .clock(clock.clone())
        .config(move |config| config.equip = Arc::new(equip.clone()))
        .build();
    let session = expect_ok(test.hub().create(new_session()).await);
    let id = session.id().clone();
    // Belongs to the first hub; nothing in the context outlives it.
    let _ = stage.steered.set(session.clone());
    expect_ok(session.set_option("depth", "thorough").await);
    let mut crashed = None;
    for mut turn in turns {
        expect_ok(session.set_mode(turn.mode).await);
        if let StoryEnding::Revoke = turn.ending {
            // The runtime answers this command, not the agent; the grant determines the id.
            let grants = session.view().grants;
            let id = grants.first().map(|grant| grant.id.clone());
            let command = format!("/permissions revoke {}", id.unwrap_or_default());
            turn.prompt = vec![ContentBlock::text(command)];
        }
        let answers = answers(&turn);
        let waits = matches!(turn.ending, StoryEnding::Cancel | StoryEnding::Crash);
        let crash = matches!(turn.ending, StoryEnding::Crash);
        if !matches!(turn.ending, StoryEnding::Revoke) {
            let mut turns = lock(&stage.turns);
            match turn.afterwards {
                None => turns.push_back((turn.steps, turn.ending)),
                Some(afterwards) => turns.extend([
                    (turn.steps, StoryEnding::Stop(StopReason::EndTurn)),
                    (afterwards, turn.ending),
                ]),
            }
        }
        let mut heard = session.subscribe_from_now();
        let turn = expect_ok(session.prompt(turn.prompt, |_| ()).await);
        if waits {
            stage.waiting.notified().await;
            clock.advance(PACE);
            if crash {
                crashed = Some(expect_ok(fs::read(test.log_path(&id))));
            }
            expect_ok(session.cancel_for(Some(turn), actor("phone")).await);
        }
        answer_until_ended(&session, &mut heard, answers).await;
    }
    if let Some(log) = crashed {
        drop(session);
        test.hub().shutdown().await;
        expect_ok(fs::write(test.log_path(&id), [&log, TORN].concat()));
        clock.advance(Duration::from_secs(3600));
        test = test.start_second();
        expect_ok(test.hub().open(&id, None).await);
        clock.advance(PACE);
    }
    test.hub().close(&id).await;
    read_journal(&test, &id)
}

fn agent(stage: Arc<StoryContext>) -> ScriptedAgent {
    let agent = ScriptedAgent::new(move |cx| {
        let stage = stage.clone();
        async move { play_steps(&stage, &cx).await }
    });
    let choice = |value: &str, name: &str| ConfigChoice {
        value: value.to_owned(),
        name: name.to_owned(),
    };
    let everything = PromptSupport {
        image: true,
        audio: true,
        embedded: true,
    };
    agent.prompt_support(everything).options(vec![ConfigOption {
        id: "depth".to_owned(),
        name: "Depth".to_owned(),
        description: "How thoroughly to look".to_owned(),
        choices: vec![choice("quick", "Quick"), choice("thorough", "Thorough")],
        default: "quick".to_owned(),
    }])
}

async fn play_steps(stage: &StoryContext, cx: &TurnContext) -> Result<StopReason, AgentError> {
    let Some((steps, ending)) = lock(&stage.turns).pop_front() else {
        return Err(AgentError::Failed("the story is over".to_owned()));
    };
    for step in steps {
        stage.clock.advance(PACE);
        match step {
            StoryStep::Emit(event) => cx.emit(event).await?,
            StoryStep::Pass(seam) => drop(cx.seam(seam).await?),
            StoryStep::Want(wish) => send_request(stage, wish).await,
            StoryStep::Wait(waking) => wait(stage, cx, waking).await?,
            StoryStep::Equip(change) => change_equipment(stage, change).await,
            StoryStep::Judge(subject, _) => start_call(cx, &subject).await?,
            StoryStep::Consult(action) => {
                let asked = cx.approval(action).args(json!({"tag": "v2"}));
                drop(asked.ask().await?.require_approval()?);
            }
            StoryStep::Ask(ask) if ask.decision.is_some() => {
                ask_through_workers(cx, &ask.through, ask.question).await?;
            }
            // Asked without waiting for the answer.
            StoryStep::Ask(ask) => {
                let cx = cx.clone();
                tokio::spawn(async move { cx.ask(ask.question).await });
                tokio::task::yield_now().await;
            }
        }
        cx.flush().await?;
    }
    match ending {
        StoryEnding::Stop(reason) => Ok(reason),
        StoryEnding::Fail(why) => Err(AgentError::Failed(why.to_owned())),
        StoryEnding::Revoke => Ok(StopReason::EndTurn),
        StoryEnding::Cancel | StoryEnding::Crash => {
            stage.waiting.notify_one();
            cx.cancelled().await;
            Err(AgentError::Cancelled)
        }
    }
}

/// Sends a request of a client to the session; the journal has refusals too.
async fn send_request(stage: &StoryContext, wish: StoryRequest) {
    let session = stage.session();
    let by = actor(wish.by);
    let text = |text: &str| vec![ContentBlock::text(text)];
    let id = |name: &str| {
        let id = lock(&stage.said).get(name).cloned();
        id.unwrap_or_else(|| "nothing".into())
    };
    let answer = match wish.wanted {
        StoryCommand::Say(name, mode, says) => {
            let named = |id: &MessageId| drop(lock(&stage.said).insert(name, id.clone()));
            session.inject(mode, text(says), by, named).await.map(drop)
        }
        StoryCommand::Unsay(name) => session.revoke_inject(id(name), by).await.map(drop),
        StoryCommand::Reword(name, says) => {
            let replaced = session.replace_inject(id(name), Ok(text(says)), by);
            replaced.await.map(drop)
        }
        StoryCommand::Remind(mode, reminder) => session.remind(mode, *reminder, by).await.map(drop),
        StoryCommand::Forget(id) => session.revoke_reminder(id, by).await.map(drop),
        StoryCommand::StopNothing => session.cancel_for(None, by).await.map(drop),
        StoryCommand::ThinkBetterOf(says) => {
            let turn = expect_ok(session.prompt(text(says), |_| ()).await);
            session.cancel_for(Some(turn), by).await.map(drop)
        }
    };
    match answer {
        Ok(()) | Err(ControlError::Refused { .. }) => {}
        Err(error) => panic!("{error}"),
    }
}

/// Sends a change of the equipment and waits until the journal has it.
async fn change_equipment(stage: &StoryContext, change: EquipmentChange) {
    let session = stage.session();
    let mut heard = session.subscribe_from_now();
    stage.equip.send_change(session.id(), change).await;
    expect_ok(heard.next().await);
}

/// Waits until the wake-up, which occurs only after the journal has the start of the wait.
async fn wait(stage: &StoryContext, cx: &TurnContext, waking: StoryWake) -> Result<(), AgentError> {
    let session = stage.session();
    let mut heard = session.subscribe_from_now();
    let waits = async {
        loop {
            let delivery = expect_ok(heard.next().await);
            let idle = |envelope: &Envelope| {
                matches!(
                    envelope.event,
                    AgentEvent::Daemon(DaemonChange::Idle { .. })
                )
            };
            if delivery.events().iter().any(idle) {
                return;
            }
        }
    };
    let idle = cx.idle();
    let woke = match waking {
        StoryWake::Watch => idle.wake_when(waits).await,
        StoryWake::Timer(after) => {
            let after = Duration::from_millis(after);
            let passes = async {
                waits.await;
                stage.clock.advance(after);
            };
            tokio::join!(passes, idle.wake_after(after).into_future()).1
        }
        StoryWake::Never(attempts) => idle.watchdog(attempts).await,
        StoryWake::Resume => {
            let resumes = async {
                waits.await;
                session.resume().await;
            };
            tokio::join!(resumes, idle.into_future()).1
        }
        StoryWake::Wish(wish) => {
            let wishes = async {
                waits.await;
                send_request(stage, wish).await;
            };
            tokio::join!(wishes, idle.into_future()).1
        }
    };
    woke.map(drop)
}

/// Starts a call under the rules, which may ask.
async fn start_call(cx: &TurnContext, subject: &StoryCall) -> Result<(), AgentError> {
    let tool = match subject {
        StoryCall::Command(line) => cx.tool("run_command").command(line),
        StoryCall::Path(path) => cx.tool("write_file").kind(ToolKind::Edit).path(*path),
    };
    match tool.start().await {
        Ok(call) => call.complete(()).await,
        Err(AgentError::Denied { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Asks a question, or starts a worker that asks it or passes it on.
async fn ask_through_workers(
    cx: &TurnContext,
    through: &[String],
    question: Question,
) -> Result<(), AgentError> {
    let Some((name, further)) = through.split_first() else {
        return cx.ask(question).await.map(drop);
    };
    let worker = cx.worker(name).task("Write the report");
    let worker = worker.agent(Arc::new(asking_worker(further.to_vec(), question)));
    worker.start().await?.wait_until_finished().await;
    Ok(())
}

fn asking_worker(through: Vec<String>, question: Question) -> ScriptedAgent {
    ScriptedAgent::new(move |cx| {
        let (through, question) = (through.clone(), question.clone());
        async move {
            ask_through_workers(&cx, &through, question).await?;
            Ok(StopReason::EndTurn)
        }
    })
}

/// The answers to questions, in the order of the questions.
type StoryAnswers = VecDeque<Option<Decision>>;

fn answers(turn: &StoryTurn) -> StoryAnswers {
    let answers = turn.all_steps().filter_map(|step| match step {
        StoryStep::Ask(ask) => Some(ask.decision.clone()),
        StoryStep::Judge(_, decision) => decision.clone().map(Some),
        StoryStep::Emit(_)
        | StoryStep::Pass(_)
        | StoryStep::Consult(_)
        | StoryStep::Want(_)
        | StoryStep::Wait(_)
        | StoryStep::Equip(_) => None,
    });
    answers.collect()
}

async fn answer_until_ended(
    session: &Controller,
    heard: &mut Subscription,
    mut answers: StoryAnswers,
) {
    loop {
        let delivery = expect_ok(heard.next().await);
        for envelope in delivery.events() {
            match &envelope.event {
                // No client answers requests that the agent emitted itself.
                AgentEvent::HitlRequested { request_id, .. }
                    if session.hitl(request_id).is_some() =>
                {
                    expect_ok(session.hitl_respond(approval(request_id)).await);
                }
                AgentEvent::PermissionAsked(ask) => {
                    if ask.policy_decision.is_some() {
                        session.record_route(route(session, ask)).await;
                    }
                    if let Some(decision) = answers.pop_front().flatten() {
                        session.answer(ask.ask_id.clone(), decision).await;
                    }
                }
                AgentEvent::TurnEnded(_) => return,
                _ => {}
            }
        }
    }
}

fn approval(request_id: &str) -> HitlResponse {
    HitlResponse {
        request_id: request_id.to_owned(),
        reviewer: Some("ada".to_owned()),
        approved: Some(true),
        reason: Some("the tests pass".to_owned()),
        ..HitlResponse::default()
    }
}

fn route(session: &Controller, ask: &PermissionAsked) -> PermissionRoute {
    let now = (session.now() / 1000).to_string();
    PermissionRoute {
        request_id: ask.tool_call.tool_call_id.to_string(),
        ask_id: Some(ask.ask_id.clone()),
        client: LiveClient {
            client_id: "desk".to_owned(),
            mode: LiveClientMode::Controller,
            attached_at: now.clone(),
            last_seen_at: now,
            prompt_injection: true,
            permission_routing: true,
            metadata: json!({}),
        },
        metadata: json!({"surface": "editor"}),
    }
}

/// Receipts contain the directory, so it is one that exists on every machine.
fn new_session() -> NewSession {
    NewSession {
        cwd: "/".into(),
        additional_directories: Vec::new(),
    }
}

fn read_journal(test: &TestHub, id: &SessionId) -> Vec<Envelope> {
    let (_, events) = expect_ok(JsonlStore::new(test.state_dir()).read(id));
    assert!(
        events
            .iter()
            .map(|e| e.seq)
            .eq((1..=events.len() as u64).map(Seq))
    );
    events
}

/// Returns the value of a result that the story needs, or panics.
#[track_caller]
fn expect_ok<T>(result: Result<T, impl std::fmt::Debug>) -> T {
    let result = result.map_err(|error| format!("{error:?}"));
    must(result, "the story ends early")
}
