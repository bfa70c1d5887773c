//! Calls under rules: what is allowed, denied, asked about and remembered, and that a call does only what it
//! declared.

use std::{
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};

use expect_test::expect;
use harn_model::{
    AgentEvent, AskId, Decision, Envelope, Grant, GrantScope, PermissionAsked, PolicyAction, Seq,
    SessionId, StopReason, Timestamp, ToolKind,
};
use harn_policy::{Policy, PolicyError, ToolApprovalPolicy};
use harn_runtime::{
    Agent, AgentError, CommandExit, CommandSink, CommandSpec, Controller, HostError, HostOffers,
    HostPort, RootedPath, RuleBook, SessionMode, Subscription, TurnContext, async_trait,
};
use serde_json::{Value, json};

use crate::support::*;

/// Rules and grants in memory.
#[derive(Default)]
struct Book {
    policy: Mutex<String>,
    grants: Mutex<Vec<Grant>>,
    full: bool,
}

impl Book {
    fn with_policy(policy: &str) -> Arc<Self> {
        Arc::new(Self {
            policy: Mutex::new(policy.to_owned()),
            ..Self::default()
        })
    }
}

impl RuleBook for Book {
    fn policy(&self, _: &Path) -> Result<Arc<Policy>, PolicyError> {
        let policy = ToolApprovalPolicy::from_toml("test", &self.policy.lock().unwrap())?;
        Ok(Arc::new(policy.compile()?))
    }

    fn grants(&self, _: &Path) -> Result<Vec<Grant>, PolicyError> {
        Ok(self.grants.lock().unwrap().clone())
    }

    fn can_remember(&self) -> bool {
        true
    }

    fn remember(&self, grant: &Grant, _: Timestamp) -> Result<(), PolicyError> {
        if self.full {
            return Err(PolicyError::Syntax {
                origin: "grants".to_owned(),
                message: "the disk is full".to_owned(),
            });
        }
        self.grants.lock().unwrap().push(grant.clone());
        Ok(())
    }

    fn revoke(&self, id: &str) -> Result<bool, PolicyError> {
        let mut grants = self.grants.lock().unwrap();
        let before = grants.len();
        grants.retain(|grant| grant.id != id);
        Ok(grants.len() < before)
    }
}

/// A host that records its writes, commands and tool calls.
#[derive(Default)]
struct Disk {
    done: Mutex<Vec<String>>,
}

#[async_trait]
impl HostPort for Disk {
    fn offers(&self) -> HostOffers {
        HostOffers {
            read_text: true,
            write_text: true,
            terminal: true,
            tools: true,
            same_machine: false,
        }
    }

    async fn read_text(&self, _: &SessionId, file: &RootedPath) -> Result<String, HostError> {
        Ok(format!("text of {}", file.inside.display()))
    }

    async fn write_text(
        &self,
        _: &SessionId,
        file: &RootedPath,
        text: &str,
    ) -> Result<(), HostError> {
        let done = format!("write {} {text}", file.inside.display());
        self.done.lock().unwrap().push(done);
        Ok(())
    }

    async fn run(
        &self,
        _: &SessionId,
        spec: CommandSpec,
        _: &mut dyn CommandSink,
    ) -> Result<CommandExit, HostError> {
        self.done
            .lock()
            .unwrap()
            .push(format!("run {}", spec.line()));
        Ok(CommandExit {
            code: Some(0),
            signal: None,
            output: String::new(),
            truncated: false,
        })
    }

    async fn call_tool(&self, _: &SessionId, name: &str, _: Value) -> Result<Value, HostError> {
        self.done.lock().unwrap().push(format!("tool {name}"));
        Ok(Value::Null)
    }
}

struct Unheard;

impl CommandSink for Unheard {
    fn on_terminal(&mut self, _: &str) {}
    fn on_output(&mut self, _: &str) {}
}

/// A session whose agent follows its prompt: `write PATH`, `run LINE`, `deploy`.
struct Rig {
    world: World,
    disk: Arc<Disk>,
    book: Arc<Book>,
    mode: SessionMode,
}

impl Rig {
    fn new(policy: &str) -> Self {
        Self {
            world: World::new(),
            disk: Arc::default(),
            book: Book::with_policy(policy),
            mode: SessionMode::Ask,
        }
    }

    fn with_mode(mode: SessionMode) -> Self {
        Self {
            mode,
            ..Self::new("")
        }
    }

    fn hub(&self, agent: Arc<dyn Agent>) -> harn_runtime::Hub {
        let (rules, local) = (self.book.clone(), self.disk.clone());
        let mode = self.mode;
        self.world.hub_with(agent, |config| {
            config.rules = rules;
            config.local_host = local;
            config.default_mode = mode;
            config.ask_deadline = Duration::from_secs(30);
        })
    }

    async fn session(&self) -> Controller {
        let hub = self.hub(obedient_agent());
        self.world.session(&hub).await
    }

    fn take_done(&self) -> Vec<String> {
        std::mem::take(&mut *self.disk.done.lock().unwrap())
    }
}

fn obedient_agent() -> Arc<dyn Agent> {
    agent(async |cx| {
        let prompt = cx.prompt_text();
        let (verb, what) = prompt.split_once(' ').unwrap_or((&prompt, ""));
        let did = match verb {
            "write" => write(&cx, what).await,
            "run" => run(&cx, what).await,
            _ => deploy(&cx, &prompt).await,
        };
        match did {
            Ok(()) => cx.say("done").await?,
            Err(AgentError::Denied { reason }) => cx.say(format!("not done: {reason}")).await?,
            Err(other) => return Err(other),
        }
        Ok(StopReason::EndTurn)
    })
}

async fn write(cx: &TurnContext, path: &str) -> Result<(), AgentError> {
    let input = json!({"path": path, "text": "new"});
    let tool = cx.tool("write_file").kind(ToolKind::Edit).input(input);
    let call = tool.start().await?;
    let at = |key: &str| call.input()[key].as_str().unwrap_or_default().to_owned();
    let (path, text) = (at("path"), at("text"));
    call.run(|host| host.write_text(path, text)).await
}

async fn run(cx: &TurnContext, line: &str) -> Result<(), AgentError> {
    let call = cx.tool("run_command").command(line).start().await?;
    let line = call.input()["command"].as_str().unwrap_or_default();
    let spec = CommandSpec::shell(line, cx.cwd(), 1000);
    call.host().run(spec, &mut Unheard).await?;
    call.complete(()).await
}

async fn deploy(cx: &TurnContext, name: &str) -> Result<(), AgentError> {
    let args = json!({"to": "production"});
    let call = cx.tool(name).input(args.clone()).start().await?;
    call.host().call_tool(name, args).await?;
    call.complete(()).await
}

async fn wait_for_question(from: &mut Subscription) -> PermissionAsked {
    let seen = collect_until(from, |e| matches!(e.event, AgentEvent::PermissionAsked(_))).await;
    let ask = seen.into_iter().rev().find_map(|e| match e.event {
        AgentEvent::PermissionAsked(ask) => Some(*ask),
        _ => None,
    });
    ask.unwrap()
}

fn allow_option(option: &str) -> Decision {
    Decision::Allowed {
        option_id: option.to_owned(),
        args: None,
    }
}

/// Sends a prompt, answers its question if there is an answer, and returns the events of the turn.
async fn run_turn(session: &Controller, text: &str, answer: Option<Decision>) -> Vec<Envelope> {
    let mut from = session.subscribe(session.last_seq());
    let mut watch = session.subscribe(session.last_seq());
    let id = prompt(session, text).await;
    if let Some(decision) = answer {
        let ask = wait_for_question(&mut from).await;
        session.answer(ask.ask_id, decision).await;
    }
    collect_until(&mut watch, is_end_of(&id)).await
}

fn format_events(events: &[Envelope]) -> String {
    let name = |e: &Envelope| {
        let value = serde_json::to_value(&e.event).unwrap();
        let reason = match &e.event {
            AgentEvent::PermissionGrant(record)
            | AgentEvent::PermissionDeny(record)
            | AgentEvent::PermissionEscalation(record) => {
                format!(" {} escalated={}", record.reason, record.escalated)
            }
            AgentEvent::ToolCallUpdate(update) => format!(" {:?}", update.status),
            _ => String::new(),
        };
        format!("{}{reason}\n", value["type"].as_str().unwrap())
    };
    events.iter().map(name).collect()
}

fn agent_text(events: &[Envelope]) -> String {
    let text = events.iter().filter_map(|e| match &e.event {
        AgentEvent::AgentMessageChunk { content, .. } => Some(content.as_str()),
        _ => None,
    });
    text.collect()
}

fn has_asked(events: &[Envelope]) -> bool {
    let is_ask = |e: &Envelope| matches!(e.event, AgentEvent::PermissionAsked(_));
    events.iter().any(is_ask)
}

#[tokio::test]
async fn allow_rule_is_recorded_without_a_question() {
    let rig = Rig::new("auto_approve = [\"write_*\"]");
    let session = rig.session().await;
    let events = run_turn(&session, "write a.txt", None).await;
    expect![[r#"
        turn_started
        tool_call
        permission_grant the tool is in auto_approve ("write_*") escalated=false
        tool_call_update Completed
        agent_message_chunk
        session_info
        turn_ended
    "#]]
    .assert_eq(&format_events(&events));
    assert_eq!(rig.take_done(), ["write a.txt new"]);
}

#[tokio::test]
async fn deny_rule_is_recorded_and_nothing_runs() {
    let rig = Rig::new("auto_deny = [\"write_file\"]");
    let session = rig.session().await;
    let events = run_turn(&session, "write a.txt", None).await;
    expect![[r#"
        turn_started
        tool_call
        permission_deny the tool is in auto_deny ("write_file") escalated=false
        tool_call_update Failed
        agent_message_chunk
        session_info
        turn_ended
    "#]]
    .assert_eq(&format_events(&events));
    assert!(rig.take_done().is_empty());
}

#[tokio::test]
async fn answer_is_recorded_with_the_receipt_of_its_question() {
    let rig = Rig::new("");
    let session = rig.session().await;
    let events = run_turn(&session, "run make", Some(allow_option("allow_once"))).await;
    expect![[r#"
        turn_started
        tool_call
        permission_escalation the session's mode is ask: the call may change something escalated=true
        permission_asked
        permission_resolved
        permission_grant the person who was asked allowed it escalated=true
        tool_call_update InProgress
        tool_call_update Completed
        agent_message_chunk
        session_info
        turn_ended
    "#]].assert_eq(&format_events(&events));
    assert_eq!(rig.take_done(), ["run make"]);
    let receipts: Vec<_> = events
        .iter()
        .filter_map(|e| match &e.event {
            AgentEvent::PermissionGrant(record) | AgentEvent::PermissionEscalation(record) => {
                record.policy_decision.clone()
            }
            AgentEvent::PermissionAsked(ask) => ask.policy_decision.clone(),
            _ => None,
        })
        .collect();
    assert_eq!(receipts.len(), 3);
    assert!(receipts.iter().all(|r| *r == receipts[0]));
    assert_eq!(receipts[0].action, PolicyAction::Ask);
}

#[tokio::test]
async fn reads_are_allowed_without_a_record() {
    let rig = Rig::new("");
    let hub = rig.hub(agent(async |cx| {
        let read = cx.tool("read_file").kind(ToolKind::Read).path("a.txt");
        let text = read
            .start()
            .await?
            .run(|host| host.read_text("a.txt"))
            .await?;
        cx.say(text).await?;
        Ok(StopReason::EndTurn)
    }));
    let session = rig.world.session(&hub).await;
    let events = run_turn(&session, "go", None).await;
    assert!(
        !format_events(&events).contains("permission"),
        "{}",
        format_events(&events)
    );
    assert_eq!(agent_text(&events), "text of a.txt");
}

#[tokio::test]
async fn modes_decide_which_calls_ask_and_run() {
    for (mode, prompt, asks, runs) in [
        (SessionMode::Ask, "write a.txt", true, false),
        (SessionMode::AcceptEdits, "write a.txt", false, true),
        (SessionMode::AcceptEdits, "run touch a", true, false),
        (SessionMode::Auto, "write a.txt", false, true),
        (SessionMode::Auto, "run ls", false, true),
        (SessionMode::Auto, "run touch a", true, false),
        (SessionMode::Auto, "write ../a.txt", false, false),
        (SessionMode::Auto, "write .git/hooks/x", false, false),
        (SessionMode::Auto, "deploy", true, false),
        (SessionMode::ReadOnly, "write a.txt", false, false),
        (SessionMode::ReadOnly, "run ls", false, false),
    ] {
        let rig = Rig::with_mode(mode);
        let session = rig.session().await;
        let no = Decision::Rejected {
            option_id: None,
            reason: None,
        };
        let events = run_turn(&session, prompt, asks.then_some(no)).await;
        assert_eq!(has_asked(&events), asks, "{mode:?} {prompt}");
        assert_eq!(!rig.take_done().is_empty(), runs, "{mode:?} {prompt}");
    }
}

#[tokio::test]
async fn session_grant_covers_exactly_the_allowed_command() {
    let rig = Rig::new("");
    let hub = rig.hub(obedient_agent());
    let session = rig.world.session(&hub).await;
    run_turn(
        &session,
        "run cargo test",
        Some(allow_option("allow_session")),
    )
    .await;
    assert_eq!(rig.take_done(), ["run cargo test"]);

    let again = run_turn(&session, "run cargo test", None).await;
    assert!(!has_asked(&again), "{}", format_events(&again));
    for other in ["run cargo test --no-run", "run cargo", "run cargo test; ls"] {
        let no = Decision::Rejected {
            option_id: None,
            reason: None,
        };
        let events = run_turn(&session, other, Some(no)).await;
        assert!(has_asked(&events), "{other}");
    }
    assert_eq!(rig.take_done(), ["run cargo test"]);

    // The grant survives a restart, but belongs to this session only.
    let (id, other) = (
        session.id().clone(),
        rig.world.session(&hub).await.id().clone(),
    );
    hub.shutdown().await;
    let hub = rig.hub(obedient_agent());
    let reopened = hub.open(&id, None).await.unwrap();
    let events = run_turn(&reopened, "run cargo test", None).await;
    assert!(!has_asked(&events));
    let fresh = hub.open(&other, None).await.unwrap();
    let no = Decision::Unavailable {
        reason: "nobody".to_owned(),
    };
    assert!(has_asked(
        &run_turn(&fresh, "run cargo test", Some(no)).await
    ));
}

#[tokio::test]
async fn always_grant_is_stored_before_its_event_and_can_be_revoked() {
    let rig = Rig::new("");
    let session = rig.session().await;
    let events = run_turn(&session, "write a.txt", Some(allow_option("allow_always"))).await;
    let remembered = events.iter().find_map(|e| match &e.event {
        AgentEvent::PermissionResolved(resolved) => resolved.remembered.clone(),
        _ => None,
    });
    let remembered = remembered.expect("the event tells what is remembered");
    assert_eq!(remembered.scope, GrantScope::Always);
    let kept = rig.book.grants.lock().unwrap().clone();
    assert_eq!(kept, std::slice::from_ref(&remembered.grant));
    assert!(!has_asked(&run_turn(&session, "write a.txt", None).await));

    let shown = agent_text(&run_turn(&session, "/permissions", None).await);
    assert!(shown.contains(&remembered.grant.id), "{shown}");
    let revoke = format!("/permissions revoke {}", remembered.grant.id);
    let told = agent_text(&run_turn(&session, &revoke, None).await);
    assert!(told.contains("Forgot"), "{told}");
    let no = allow_option("reject_once");
    assert!(has_asked(
        &run_turn(&session, "write a.txt", Some(no)).await
    ));
}

#[tokio::test]
async fn revoked_session_grant_stays_revoked() {
    let rig = Rig::new("");
    let hub = rig.hub(obedient_agent());
    let session = rig.world.session(&hub).await;
    run_turn(&session, "run make", Some(allow_option("allow_session"))).await;
    let id = session.view().grants[0].id.clone();
    let told = agent_text(&run_turn(&session, &format!("/permissions revoke {id}"), None).await);
    assert!(told.contains("for this session"), "{told}");
    assert!(session.view().grants.is_empty());
    let told = agent_text(&run_turn(&session, &format!("/permissions revoke {id}"), None).await);
    assert!(told.contains("Unknown grant"), "{told}");
    let session_id = session.id().clone();
    hub.shutdown().await;
    let reopened = rig
        .hub(obedient_agent())
        .open(&session_id, None)
        .await
        .unwrap();
    assert!(reopened.view().grants.is_empty());
}

#[tokio::test]
async fn session_grants_can_be_kept_for_the_workspace() {
    let rig = Rig::new("");
    let hub = rig.hub(obedient_agent());
    let session = rig.world.session(&hub).await;
    let told = agent_text(&run_turn(&session, "/permissions keep", None).await);
    assert!(told.contains("Nothing is remembered"), "{told}");
    run_turn(&session, "run make", Some(allow_option("allow_session"))).await;
    run_turn(&session, "write a.txt", Some(allow_option("allow_session"))).await;
    let [first, second] = &session.view().grants.clone()[..] else {
        panic!("two are remembered");
    };
    let told = agent_text(&run_turn(&session, "/permissions keep g-other", None).await);
    assert!(told.contains("has no grant `g-other`"), "{told}");
    assert!(rig.book.grants.lock().unwrap().is_empty());

    let keep = format!("/permissions keep {}", second.id);
    let told = agent_text(&run_turn(&session, &keep, None).await);
    assert!(told.contains(&second.id), "{told}");
    assert_eq!(
        *rig.book.grants.lock().unwrap(),
        std::slice::from_ref(second)
    );
    assert_eq!(session.view().grants, std::slice::from_ref(first));

    run_turn(&session, "/permissions keep", None).await;
    let kept = rig.book.grants.lock().unwrap().clone();
    assert_eq!(kept, [second.clone(), first.clone()]);
    assert!(session.view().grants.is_empty());
    let other = rig.world.session(&hub).await;
    assert!(!has_asked(&run_turn(&other, "run make", None).await));

    // The session keeps no copy of a grant that the workspace forgets.
    rig.book.grants.lock().unwrap().clear();
    let no = allow_option("reject_once");
    assert!(has_asked(&run_turn(&session, "run make", Some(no)).await));
}

#[tokio::test]
async fn grant_that_cannot_be_stored_stays_with_the_session() {
    let rig = Rig {
        book: Arc::new(Book {
            full: true,
            ..Book::default()
        }),
        ..Rig::new("")
    };
    let session = rig.session().await;
    run_turn(&session, "run make", Some(allow_option("allow_session"))).await;
    let told = agent_text(&run_turn(&session, "/permissions keep", None).await);
    assert!(told.contains("the disk is full"), "{told}");
    assert_eq!(session.view().grants.len(), 1);
    assert!(!has_asked(&run_turn(&session, "run make", None).await));
}

#[tokio::test]
async fn reject_always_is_not_asked_again() {
    let rig = Rig::new("");
    let session = rig.session().await;
    let never = Decision::Rejected {
        option_id: Some("reject_always".to_owned()),
        reason: None,
    };
    run_turn(&session, "run make", Some(never)).await;
    let events = run_turn(&session, "run make", None).await;
    assert!(!has_asked(&events));
    assert!(
        agent_text(&events).starts_with("not done"),
        "{}",
        agent_text(&events)
    );
    assert!(rig.take_done().is_empty());
}

#[tokio::test]
async fn always_grant_that_cannot_be_stored_counts_for_the_session() {
    let rig = Rig {
        book: Arc::new(Book {
            full: true,
            ..Book::default()
        }),
        ..Rig::new("")
    };
    let session = rig.session().await;
    run_turn(&session, "run make", Some(allow_option("allow_always"))).await;
    assert_eq!(rig.take_done(), ["run make"]);
    assert!(!has_asked(&run_turn(&session, "run make", None).await));
    assert_eq!(session.view().grants.len(), 1);
    assert!(rig.book.grants.lock().unwrap().is_empty());
}

#[tokio::test]
async fn rewritten_arguments_are_judged_again() {
    let rig =
        Rig::new("[[rules]]\nid = \"keep\"\naction = \"deny\"\nmatch = { path = \"kept/*\" }");
    let session = rig.session().await;
    let instead = |args: Value| Decision::Allowed {
        option_id: "allow_once".to_owned(),
        args: Some(args),
    };
    let other = instead(json!({"path": "b.txt", "text": "other"}));
    let events = run_turn(&session, "write a.txt", Some(other)).await;
    assert_eq!(rig.take_done(), ["write b.txt other"]);
    let shown = events.iter().find_map(|e| match &e.event {
        AgentEvent::ToolCallUpdate(update) => update.raw_input.clone(),
        _ => None,
    });
    assert_eq!(shown, Some(json!({"path": "b.txt", "text": "other"})));

    for refused in ["kept/b.txt", "../b.txt", ".git/hooks/post-commit", "a\0b"] {
        let answer = instead(json!({"path": refused, "text": "x"}));
        let events = run_turn(&session, "write a.txt", Some(answer)).await;
        assert!(agent_text(&events).starts_with("not done"), "{refused}");
    }
    assert!(rig.take_done().is_empty());
    // Rewritten arguments are not remembered, whatever the option is.
    let always = Decision::Allowed {
        option_id: "allow_always".to_owned(),
        args: Some(json!({"path": "c.txt", "text": "x"})),
    };
    run_turn(&session, "write a.txt", Some(always)).await;
    assert!(rig.book.grants.lock().unwrap().is_empty());
}

/// Tries operations beyond those that its calls declared.
async fn overreach(cx: TurnContext) -> Result<StopReason, AgentError> {
    let host = cx.host().clone();
    let refused = |what: &str, result: Result<(), HostError>| match result {
        Err(HostError::Denied(_)) => Ok(()),
        other => Err(AgentError::failed(format!("{what}: {other:?}"))),
    };
    let spec = |line: &str| CommandSpec::shell(line, cx.cwd(), 10);
    refused("write", host.write_text("a.txt", "x").await)?;
    refused("run", host.run(spec("ls"), &mut Unheard).await.map(drop))?;
    refused("tool", host.call_tool("t", json!({})).await.map(drop))?;
    refused("call", host.call("op", json!({})).await.map(drop))?;
    refused("out", host.read_text("/etc/passwd").await.map(drop))?;
    refused("up", host.read_text("../x").await.map(drop))?;

    let call = cx
        .tool("edit")
        .kind(ToolKind::Edit)
        .path("a.txt")
        .start()
        .await?;
    let host = call.host();
    refused("other", host.write_text("b.txt", "x").await)?;
    refused("below", host.write_text("a.txt/b", "x").await)?;
    refused("run", host.run(spec("ls"), &mut Unheard).await.map(drop))?;
    host.write_text("./c/../a.txt", "x").await?;
    call.complete(()).await?;

    let call = cx.tool("sh").command("ls -l").start().await?;
    let host = call.host();
    refused(
        "other",
        host.run(spec("ls -l; id"), &mut Unheard).await.map(drop),
    )?;
    refused("write", host.write_text("a.txt", "x").await)?;
    let elsewhere = CommandSpec::shell("ls -l", "/etc", 10);
    refused(
        "elsewhere",
        host.run(elsewhere, &mut Unheard).await.map(drop),
    )?;
    host.run(spec("ls -l"), &mut Unheard).await?;
    refused(
        "twice",
        host.run(spec("ls -l"), &mut Unheard).await.map(drop),
    )?;
    let kept = host.clone();
    call.complete(()).await?;
    refused(
        "after",
        kept.run(spec("ls -l"), &mut Unheard).await.map(drop),
    )?;

    let call = cx.tool("sh").command("ls -l").start().await?;
    let host = call.host();
    let words = CommandSpec {
        program: "ls".to_owned(),
        args: vec!["-l".to_owned()],
        ..spec("")
    };
    host.run(words, &mut Unheard).await?;
    call.complete(()).await?;

    let call = cx
        .tool("read")
        .kind(ToolKind::Read)
        .path("a.txt")
        .start()
        .await?;
    refused("read", call.host().write_text("a.txt", "x").await)?;
    call.complete(()).await?;
    Ok(StopReason::EndTurn)
}

#[tokio::test]
async fn call_does_only_what_it_declared() {
    let rig = Rig::new("auto_approve = [\"*\"]");
    let session = rig.world.session(&rig.hub(agent(overreach))).await;
    let events = run_turn(&session, "go", None).await;
    let last = format_short(&events[events.len() - 1..]);
    assert!(last.ends_with("turn_ended stopped end_turn\n"), "{last}");
    assert_eq!(rig.take_done(), ["write a.txt x", "run ls -l", "run ls -l"]);
}

#[tokio::test]
async fn read_rule_applies_without_a_call() {
    let rig = Rig::new("[[rules]]\naction = \"deny\"\nmatch = { path = \"secret/*\" }");
    let hub = rig.hub(agent(async |cx| {
        let open = cx.host().read_text("a.txt").await;
        let secret = cx.host().read_text("secret/key").await;
        cx.say(format!("{} {}", open.is_ok(), secret.is_ok()))
            .await?;
        Ok(StopReason::EndTurn)
    }));
    let session = rig.world.session(&hub).await;
    assert_eq!(
        agent_text(&run_turn(&session, "go", None).await),
        "true false"
    );
}

#[tokio::test]
async fn unreadable_rules_deny_every_call() {
    let rig = Rig::new("auto_approve = [");
    let session = rig.session().await;
    let events = run_turn(&session, "write a.txt", None).await;
    assert!(
        agent_text(&events).contains("cannot be read"),
        "{}",
        agent_text(&events)
    );
    assert!(rig.take_done().is_empty());
    // The next call uses the corrected rules.
    *rig.book.policy.lock().unwrap() = "auto_approve = [\"write_file\"]".to_owned();
    run_turn(&session, "write a.txt", None).await;
    assert_eq!(rig.take_done(), ["write a.txt new"]);
}

#[tokio::test(start_paused = true)]
async fn question_is_denied_after_its_deadline() {
    let rig = Rig::new("");
    let session = rig.session().await;
    let mut from = session.subscribe(Seq::ZERO);
    let id = prompt(&session, "run make").await;
    let ask = wait_for_question(&mut from).await;
    assert_eq!(ask.deadline, Some(ask.requested_at + 30_000));
    let events = collect_until(&mut from, is_end_of(&id)).await;
    assert!(
        agent_text(&events).contains("no answer arrived in time"),
        "{}",
        agent_text(&events)
    );
    session.answer(ask.ask_id, allow_option("allow_once")).await;
    assert!(rig.take_done().is_empty());
}

#[tokio::test]
async fn cancelled_question_cancels_the_turn() {
    let rig = Rig::new("");
    let session = rig.session().await;
    let events = run_turn(&session, "run make", Some(Decision::Cancelled)).await;
    let last = format_short(&events[events.len() - 1..]);
    assert!(last.ends_with("turn_ended stopped cancelled\n"), "{last}");
    assert!(rig.take_done().is_empty());
    // The next turn is not cancelled.
    run_turn(&session, "run make", Some(allow_option("allow_once"))).await;
    assert_eq!(rig.take_done(), ["run make"]);
}

#[tokio::test]
async fn cancel_of_a_settled_question_has_no_effect() {
    let rig = Rig::new("");
    let session = rig.session().await;
    run_turn(&session, "run make", Some(allow_option("allow_once"))).await;
    let mut from = session.subscribe(session.last_seq());
    let id = prompt(&session, "run make").await;
    let ask = wait_for_question(&mut from).await;
    session
        .answer(AskId::new("ask-1"), Decision::Cancelled)
        .await;
    session.answer(ask.ask_id, allow_option("allow_once")).await;
    let events = collect_until(&mut from, is_end_of(&id)).await;
    let last = format_short(&events[events.len() - 1..]);
    assert!(last.ends_with("turn_ended stopped end_turn\n"), "{last}");
}

#[tokio::test]
async fn worker_question_is_remembered_by_its_session() {
    let rig = Rig::new("");
    let hub = rig.hub(agent(async |cx| {
        let worker = cx
            .worker("builder")
            .task("run make")
            .agent(obedient_agent());
        worker.start().await?.wait_until_finished().await;
        Ok(StopReason::EndTurn)
    }));
    let session = rig.world.session(&hub).await;
    run_turn(&session, "go", Some(allow_option("allow_always"))).await;
    assert_eq!(rig.take_done(), ["run make"]);
    assert_eq!(
        rig.book.grants.lock().unwrap().len(),
        1,
        "once, not for each level"
    );
    let events = run_turn(&session, "go", None).await;
    assert!(!has_asked(&events));
    assert_eq!(rig.take_done(), ["run make"]);
}

#[tokio::test]
async fn worker_cannot_revoke_a_grant_of_a_person() {
    let rig = Rig::new("");
    let hub = rig.hub(agent(async |cx| match cx.prompt_text().as_str() {
        "run make" => run(&cx, "make").await.map(|()| StopReason::EndTurn),
        text => {
            let task = text.trim_start_matches("tell ").to_owned();
            let worker = cx.worker("w").task(task).agent(obedient_agent());
            worker.start().await?.wait_until_finished().await;
            Ok(StopReason::EndTurn)
        }
    }));
    let session = rig.world.session(&hub).await;
    let never = Decision::Rejected {
        option_id: Some("reject_always".to_owned()),
        reason: None,
    };
    run_turn(&session, "run make", Some(never)).await;
    let id = rig.book.grants.lock().unwrap()[0].id.clone();
    let no = Decision::Rejected {
        option_id: None,
        reason: None,
    };
    let told = format!("tell /permissions revoke {id}");
    run_turn(&session, &told, Some(no)).await;
    assert_eq!(rig.book.grants.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn fork_has_no_session_grants() {
    let rig = Rig::new("");
    let hub = rig.hub(obedient_agent());
    let session = rig.world.session(&hub).await;
    run_turn(&session, "run make", Some(allow_option("allow_session"))).await;
    let fork = hub
        .fork(session.id(), rig.world.new_session())
        .await
        .unwrap();
    assert!(fork.view().grants.is_empty());
    assert_eq!(session.view().grants.len(), 1);
    let no = allow_option("reject_once");
    assert!(has_asked(&run_turn(&fork, "run make", Some(no)).await));
}

#[tokio::test]
async fn host_of_a_call_rejects_writes_after_its_turn() {
    let rig = Rig::new("auto_approve = [\"*\"]");
    let (keep, kept_host) = tokio::sync::oneshot::channel();
    let keep = Mutex::new(Some(keep));
    let hub = rig.hub(agent(move |cx: TurnContext| {
        let kept = keep.lock().unwrap().take();
        async move {
            let call = cx.tool("edit").kind(ToolKind::Edit).path("a.txt");
            let call = call.start().await?;
            let host = call.host().clone();
            // The handle is leaked, so that only the end of the turn ends the call.
            std::mem::forget(call);
            let _ = kept.unwrap().send(host);
            Ok(StopReason::EndTurn)
        }
    }));
    let session = rig.world.session(&hub).await;
    run_turn(&session, "go", None).await;
    let late = kept_host.await.unwrap().write_text("a.txt", "x").await;
    assert!(matches!(late, Err(HostError::Denied(_))), "{late:?}");
    assert!(rig.take_done().is_empty());
}

#[tokio::test]
async fn worker_in_a_subdirectory_follows_the_rules_of_its_session() {
    let rules = "auto_approve = [\"*\"]\n[[rules]]\naction = \"deny\"\nmatch = { path = \"secrets/*\" }\n\
                 [[rules]]\naction = \"deny\"\nmatch = { command = \"make\" }";
    for (folder, task, runs) in [
        ("secrets", "write key", false),
        (".git/hooks", "write pre-commit", false),
        ("src", "write a.txt", true),
        ("src", "write ../a.txt", false),
        ("src", "run make", false),
        ("src", "run ls", true),
    ] {
        let rig = Rig::new(rules);
        std::fs::create_dir_all(rig.world.state().join(folder)).unwrap();
        let hub = rig.hub(agent(move |cx: TurnContext| async move {
            let worker = cx.worker("w").task(task).cwd(cx.cwd().join(folder));
            worker
                .agent(obedient_agent())
                .start()
                .await?
                .wait_until_finished()
                .await;
            Ok(StopReason::EndTurn)
        }));
        let session = rig.world.session(&hub).await;
        let events = run_turn(&session, "go", None).await;
        assert_eq!(!rig.take_done().is_empty(), runs, "{folder}: {task}");
        assert!(!has_asked(&events), "{folder}: {task}");
    }
}

#[tokio::test]
async fn grant_for_one_directory_does_not_cover_another() {
    let rig = Rig::new("");
    std::fs::create_dir_all(rig.world.state().join("src")).unwrap();
    let hub = rig.hub(agent(async |cx| match cx.prompt_text().as_str() {
        "below" => {
            let worker = cx.worker("w").task("run make").cwd(cx.cwd().join("src"));
            worker
                .agent(obedient_agent())
                .start()
                .await?
                .wait_until_finished()
                .await;
            Ok(StopReason::EndTurn)
        }
        _ => run(&cx, "make").await.map(|()| StopReason::EndTurn),
    }));
    let session = rig.world.session(&hub).await;
    run_turn(&session, "run", Some(allow_option("allow_session"))).await;
    assert!(!has_asked(&run_turn(&session, "run", None).await));
    let no = allow_option("reject_once");
    assert!(has_asked(&run_turn(&session, "below", Some(no)).await));
}

#[tokio::test]
async fn rewritten_arguments_replace_the_declared_paths() {
    let rig = Rig::new("");
    let hub = rig.hub(agent(async |cx| {
        let input = json!({"path": "a.txt"});
        let tool = cx.tool("edit").kind(ToolKind::Edit).input(input);
        let call = tool.path("a.txt").start().await?;
        let old = call.host().write_text("a.txt", "x").await;
        let new = call.host().write_text("b.txt", "x").await;
        call.complete(()).await?;
        cx.say(format!("{} {}", old.is_ok(), new.is_ok())).await?;
        Ok(StopReason::EndTurn)
    }));
    let session = rig.world.session(&hub).await;
    let other = Decision::Allowed {
        option_id: "allow_once".to_owned(),
        args: Some(json!({"path": "b.txt"})),
    };
    let events = run_turn(&session, "go", Some(other)).await;
    assert_eq!(agent_text(&events), "false true");
    assert_eq!(rig.take_done(), ["write b.txt x"]);
    let shown = events.iter().find_map(|e| match &e.event {
        AgentEvent::ToolCallUpdate(update) => update.locations.clone(),
        _ => None,
    });
    assert!(shown.unwrap()[0].path.ends_with("/b.txt"));
}

#[tokio::test]
async fn unreadable_command_asks_even_if_its_tool_is_approved() {
    let rules =
        "auto_approve = [\"*\"]\n[[rules]]\naction = \"deny\"\nmatch = { command = \"rm\" }";
    for (command, asks) in [
        (json!(["rm", "-rf", "x"]), false),
        (json!({"line": "rm -rf x"}), true),
    ] {
        let rig = Rig::new(rules);
        let input = json!({ "command": command });
        let hub = rig.hub(agent(move |cx: TurnContext| {
            let input = input.clone();
            async move {
                let tool = cx.tool("sh").kind(ToolKind::Execute).input(input.clone());
                let call = tool.start().await?;
                call.host().call_tool("sh", input).await?;
                Ok(StopReason::EndTurn)
            }
        }));
        let session = rig.world.session(&hub).await;
        let no = allow_option("reject_once");
        let events = run_turn(&session, "go", asks.then_some(no)).await;
        assert_eq!(has_asked(&events), asks, "{command}");
        assert!(rig.take_done().is_empty(), "{command}");
    }
}
