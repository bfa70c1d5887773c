//! The newest ACP schema: which clients receive which of its parts, and the table in `docs/acp.md` that names
//! them all.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use harn_acp::{Dialect, NewerAcp, Profile, UpdateProjector};
use harn_model::{
    AgentEvent, Envelope, LogRecord, PlanEntry, PlanEntryStatus, PlanPriority, StopReason, ToolKind,
};
use harn_runtime::ToolOutput;
use harn_testkit::{ScriptedAgent, TestHub};
use harn_tests::repository_path;
use schema_1::v1::{
    AGENT_METHOD_NAMES, AgentCapabilities, CLIENT_METHOD_NAMES, ClientCapabilities,
    PROTOCOL_LEVEL_METHOD_NAMES, PROXY_METHOD_NAMES, SessionNotification, SessionUpdate,
};
use serde_json::{Value, json};

/// The heading of the table.
const SECTION: &str = "## Every part of the newest schema";

/// Parts of a feature that the tests cannot switch on: it would add a member to our own responses.
const MCP_OVER_ACP: [&str; 2] = ["mcp/message", "agentCapabilities.mcpCapabilities.acp"];

/// Returns the updates that the pinned schema does not know, by the capability that a client declares for them.
fn newer_updates() -> [(NewerAcp, &'static [&'static str]); 6] {
    let none = NewerAcp::default();
    let with = |change: fn(&mut NewerAcp)| {
        let mut newer = none;
        change(&mut newer);
        newer
    };
    [
        (none, &[]),
        (with(|it| it.members = true), &[]),
        (with(|it| it.notices = true), &["notice"]),
        (with(|it| it.compaction = true), &["compaction_update"]),
        (with(|it| it.plans = true), &["plan_removed", "plan_update"]),
        (
            with(|it| it.subagents = true),
            &[
                "session_message",
                "session_message_chunk",
                "subagent_update",
            ],
        ),
    ]
}

/// Returns the live updates of a session with every event, for a client of this dialect.
fn project_every_event(profile: Profile, newer: NewerAcp) -> Vec<Value> {
    let dialect = Dialect {
        newer,
        ..profile.into()
    };
    let projector = UpdateProjector::new(&"everything".into(), dialect, false);
    let events = fs::read_to_string(repository_path("fixtures/journal/every-event.jsonl")).unwrap();
    // A plan without entries removes the previous one.
    let no_plan = r#"{"seq":9999,"at":0,"event":{"type":"plan","plan":[]}}"#;
    let mut out = Vec::new();
    for line in events.lines().chain([no_plan]) {
        let envelope: Envelope = serde_json::from_str(line).unwrap();
        projector.write(&envelope, &mut out);
    }
    let lines = String::from_utf8(out).unwrap();
    let lines = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    let updates = lines.filter(|line: &Value| line["method"] == "session/update");
    updates.map(|mut line| line["params"].take()).collect()
}

#[test]
fn newer_updates_are_sent_only_to_clients_that_declared_them() {
    let every: BTreeSet<_> = newer_updates()
        .iter()
        .flat_map(|(_, names)| names.iter().copied())
        .collect();
    for (declared, expected) in newer_updates() {
        for profile in [Profile::Harn, Profile::Meta, Profile::Acp] {
            let (mut seen, mut names) = (BTreeSet::new(), 0);
            for params in project_every_event(profile, declared) {
                let update = &params["update"];
                let name = update["sessionUpdate"].as_str().unwrap();
                if update.get("name").is_some() {
                    assert!(declared.members && name == "tool_call", "{update}");
                    names += 1;
                }
                if !every.contains(name) {
                    continue;
                }
                seen.insert(name.to_owned());
                let read: SessionNotification = serde_json::from_value(params.clone()).unwrap();
                assert_eq!(serde_json::to_value(read).unwrap(), params);
            }
            assert_eq!(names > 0, declared.members, "{profile:?}");
            let seen: Vec<_> = seen.into_iter().collect();
            assert_eq!(seen, expected, "{profile:?} {declared:?}");
        }
    }
}

/// In plain ACP the newer update replaces the thought or the tool call that represented the event.
#[test]
fn newer_update_replaces_the_standard_one() {
    let stand_ins = |newer| {
        let updates = project_every_event(Profile::Acp, newer);
        let is = |update: &Value, name: &str| update["update"]["sessionUpdate"] == name;
        let workers = updates.iter().filter(|it| {
            let id = it["update"]["toolCallId"].as_str().unwrap_or_default();
            is(it, "tool_call") && id.starts_with("worker-")
        });
        let plans = updates.iter().filter(|it| is(it, "plan"));
        let notes = updates.iter().filter(|it| is(it, "agent_thought_chunk"));
        [workers.count(), plans.count(), notes.count()]
    };
    let [workers, plans, notes] = stand_ins(NewerAcp::default());
    assert!(workers > 0 && plans > 0 && notes > 0);
    let every = NewerAcp {
        notices: true,
        compaction: true,
        plans: true,
        subagents: true,
        members: true,
    };
    let [fewer_workers, no_plans, fewer_notes] = stand_ins(every);
    assert_eq!(no_plans, 0);
    // A worker without a session of ours, and an event without a newer update, keep the standard update.
    assert!(fewer_workers < workers && fewer_notes < notes);
}

/// The capabilities at `initialize` decide, and a replay has no notices.
#[tokio::test]
async fn client_receives_the_updates_it_declared() {
    let agent = ScriptedAgent::new(|cx| async move {
        cx.emit(AgentEvent::Log(Box::new(LogRecord {
            level: "warn".to_owned(),
            message: "Low disk\nOnly 3 GB are left".to_owned(),
            fields: None,
        })))
        .await?;
        cx.plan(vec![PlanEntry {
            content: "Look".to_owned(),
            status: PlanEntryStatus::Pending,
            priority: PlanPriority::Medium,
        }])
        .await?;
        let call = cx.tool("look").kind(ToolKind::Read).start().await?;
        call.complete(ToolOutput::default()).await?;
        Ok(StopReason::EndTurn)
    });
    let test = TestHub::new(agent);
    let mut client = test.connect();
    let capabilities = json!({
        "session": {"notices": {}, "compaction": {}}, "plan": {}, "subagents": {},
        "_meta": {"harn": {"profile": "acp"}},
    });
    let hello = json!({"protocolVersion": 1, "clientCapabilities": capabilities});
    client.request("initialize", hello).await;
    let params = json!({"cwd": test.workspace(), "mcpServers": []});
    let session = client.request("session/new", params).await["sessionId"].take();
    let prompt = json!({"sessionId": session, "prompt": [{"type": "text", "text": "Go"}]});
    let id = client.send_request("session/prompt", prompt).await;
    let notice = client.expect_update_of("notice").await;
    assert_eq!(notice["severity"], "warning");
    assert_eq!(notice["title"], "Low disk");
    assert_eq!(notice["description"], "Only 3 GB are left");
    let plan = client.expect_update_of("plan_update").await;
    assert_eq!(plan["plan"]["type"], "items");
    assert_eq!(plan["plan"]["entries"][0]["content"], "Look");
    let call = client.expect_update_of("tool_call").await;
    assert_eq!(call["name"], "look");
    client.collect_updates_until(&id).await;
    let params = json!({"sessionId": session, "cwd": test.workspace(), "mcpServers": []});
    let id = client.send_request("session/load", params).await;
    let (replayed, _) = client.collect_updates_until(&id).await;
    let is = |name: &str| replayed.iter().any(|it| it["sessionUpdate"] == name);
    assert!(is("plan_update") && !is("notice"));
    client.close().await;
}

/// Archives and titles are not advertised to clients of the pinned schema, but the methods work for them.
#[tokio::test]
async fn archives_and_titles_are_advertised_to_clients_of_a_newer_schema() {
    let test = TestHub::new(ScriptedAgent::silent());
    for newer in [false, true] {
        let mut client = test.connect();
        let mut capabilities = match newer {
            true => json!({"session": {"configOptions": {"boolean": {}}}}),
            false => json!({"fs": {"readTextFile": true}, "auth": {"terminal": true}}),
        };
        capabilities["_meta"] = json!({"harn": {"profile": "acp"}});
        let hello = json!({"protocolVersion": 1, "clientCapabilities": capabilities});
        let answer = client.request("initialize", hello).await;
        let sessions = &answer["agentCapabilities"]["sessionCapabilities"];
        let expected = newer.then(|| json!({}));
        assert_eq!(sessions.get("archive"), expected.as_ref());
        assert_eq!(sessions.get("title"), expected.as_ref());
        let params = json!({"cwd": test.workspace(), "mcpServers": []});
        let session = client.request("session/new", params).await["sessionId"].take();
        let listed = client.request("session/list", json!({})).await;
        let expected = newer.then(|| json!(false));
        assert_eq!(listed["sessions"][0].get("archived"), expected.as_ref());
        client
            .request("session/archive", json!({"sessionId": session}))
            .await;
        let params = json!({"archived": "only"});
        let listed = client.request("session/list", params).await;
        // A closed session that never had a prompt is not listed.
        assert_eq!(listed["sessions"], json!([]));
        client.close().await;
    }
}

/// Every method, update and capability of the newest schema has its row, and no row is about anything else.
#[test]
fn table_in_the_docs_names_every_part_of_the_newest_schema() {
    let page = fs::read_to_string(repository_path("docs/acp.md")).unwrap();
    let section = page
        .split(SECTION)
        .nth(1)
        .expect("the section with the table");
    let section = section.split("\n## ").next().unwrap();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
    let mut named = BTreeMap::new();
    for row in rows {
        let (name, rest) = row.split_once('`').unwrap();
        let what_we_do = rest.trim_matches(['|', ' ']);
        assert!(!what_we_do.is_empty(), "{name}: the row states nothing");
        assert!(named.insert(name, what_we_do).is_none(), "{name}: twice");
    }
    let mut expected: BTreeSet<_> = MCP_OVER_ACP.map(str::to_owned).into();
    for names in [
        serde_json::to_value(AGENT_METHOD_NAMES),
        serde_json::to_value(CLIENT_METHOD_NAMES),
        serde_json::to_value(PROTOCOL_LEVEL_METHOD_NAMES),
        serde_json::to_value(PROXY_METHOD_NAMES),
    ] {
        let names = names.unwrap();
        let names = names.as_object().unwrap().values();
        expected.extend(names.map(|name| name.as_str().unwrap().to_owned()));
    }
    let updates = serde_json::to_value(schemars::schema_for!(SessionUpdate)).unwrap();
    for variant in updates["oneOf"].as_array().unwrap() {
        let name = &variant["properties"]["sessionUpdate"]["const"];
        expected.insert(name.as_str().unwrap().to_owned());
    }
    let agent = serde_json::to_value(schemars::schema_for!(AgentCapabilities)).unwrap();
    collect_capabilities(&agent, &agent, "agentCapabilities", &mut expected);
    let client = serde_json::to_value(schemars::schema_for!(ClientCapabilities)).unwrap();
    collect_capabilities(&client, &client, "clientCapabilities", &mut expected);

    let named: BTreeSet<_> = named.into_keys().map(str::to_owned).collect();
    let missing: Vec<_> = expected.difference(&named).collect();
    let stale: Vec<_> = named.difference(&expected).collect();
    assert!(
        missing.is_empty() && stale.is_empty(),
        "{SECTION} of docs/acp.md\nhas no row for {missing:#?}\nand rows for no part of the schema: {stale:#?}"
    );
}

/// Collects the members of a capability object, with the path through nested objects.
fn collect_capabilities(root: &Value, schema: &Value, path: &str, out: &mut BTreeSet<String>) {
    let Some(properties) = schema["properties"].as_object() else {
        return;
    };
    for (name, member) in properties.iter().filter(|(name, _)| *name != "_meta") {
        let path = format!("{path}.{name}");
        let options = member["anyOf"].as_array().into_iter().flatten();
        let mut refs = options.chain([member]).filter_map(|it| it["$ref"].as_str());
        let target = refs.find_map(|it| root.pointer(it.strip_prefix('#')?));
        let before = out.len();
        if let Some(target) = target {
            collect_capabilities(root, target, &path, out);
        }
        if out.len() == before {
            out.insert(path);
        }
    }
}
