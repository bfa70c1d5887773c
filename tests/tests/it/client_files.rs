//! Files that an ACP client names and serves: directories outside the workspace, and files that do not exist
//! yet.

use std::{fs, path::Path, sync::Arc};

use harn_acp::AcpConfig;
use harn_engines::ExploreAgent;
use harn_testkit::{MessageFromAgent, StrictClient, TestHub};
use harn_tools::{DiskProbe, LocalHost};
use serde_json::{Value, json};

/// Returns a hub with the explore agent on the real disk.
fn explore_hub(acp: AcpConfig) -> TestHub {
    let builder = TestHub::builder(ExploreAgent::new()).acp(acp);
    let on_disk = builder.config(|config| {
        config.probe = Arc::new(DiskProbe);
        config.local_host = Arc::new(LocalHost::new());
    });
    on_disk.build()
}

/// Initializes a plain ACP connection; returns the capabilities of the agent.
async fn initialize(client: &mut StrictClient, mut capabilities: Value) -> Value {
    capabilities["_meta"] = json!({"harn": {"profile": "acp"}});
    let params = json!({"protocolVersion": 1, "clientCapabilities": capabilities});
    client.request("initialize", params).await["agentCapabilities"].take()
}

async fn open(client: &mut StrictClient, method: &str, params: Value) -> Value {
    let id = client.send_request(method, params).await;
    let (_, mut answer) = client.collect_updates_until(&id).await;
    client.expect_update_of("available_commands_update").await;
    answer["sessionId"].take()
}

async fn prompt(client: &mut StrictClient, session: &Value, text: &str) -> Value {
    let params = json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]});
    client.send_request("session/prompt", params).await
}

/// Sends a prompt and returns the agent's text.
async fn prompt_and_read_text(client: &mut StrictClient, session: &Value, text: &str) -> String {
    let id = prompt(client, session, text).await;
    let (updates, _) = client.collect_updates_until(&id).await;
    let said = updates
        .iter()
        .filter(|it| it["sessionUpdate"] == "agent_message_chunk");
    said.map(|it| it["content"]["text"].as_str().unwrap())
        .collect()
}

const SEARCHES: [&str; 4] = [
    "/find pomegranate",
    "/grep pomegranate",
    "/explore-all pomegranate",
    "Where is the pomegranate?",
];

fn put(folder: &Path, name: &str, text: &str) {
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join(name), text).unwrap();
}

#[tokio::test]
async fn searches_cover_additional_directories() {
    let mut test = explore_hub(AcpConfig::default());
    let mut client = test.connect();
    let advertised = initialize(&mut client, json!({})).await;
    assert_eq!(
        advertised["sessionCapabilities"]["additionalDirectories"],
        json!({})
    );
    let outside = tempfile::tempdir().unwrap();
    let outside = outside.path().canonicalize().unwrap();
    let cwd = test.workspace();
    put(&cwd, "here.txt", "a pomegranate here\n");
    // The walk of the workspace ignores this directory, but the client names it.
    put(
        &cwd.join(".vendored"),
        "inner.txt",
        "a pomegranate inside\n",
    );
    put(&outside, "there.txt", "a pomegranate there\n");
    let directories = json!([&outside, cwd.join(".vendored"), outside.join("gone")]);
    let params = json!({"cwd": cwd, "mcpServers": [], "additionalDirectories": directories});
    let session = open(&mut client, "session/new", params).await;
    let there = outside.join("there.txt:1").display().to_string();
    for search in SEARCHES {
        let said = prompt_and_read_text(&mut client, &session, search).await;
        for place in ["here.txt:1", ".vendored/inner.txt:1", &there] {
            let place = format!("`{place}`");
            assert_eq!(said.matches(&place).count(), 1, "{search}: {place}: {said}");
        }
    }

    // A client that opens the session again sends the complete list, here an empty one.
    let params = json!({"sessionId": session, "cwd": test.workspace(), "mcpServers": []});
    open(&mut client, "session/load", params.clone()).await;
    let said = prompt_and_read_text(&mut client, &session, SEARCHES[0]).await;
    assert!(
        said.contains("`here.txt") && !said.contains("there.txt"),
        "{said}"
    );
    let listed = client.request("session/list", json!({})).await;
    assert_eq!(listed["sessions"][0].get("additionalDirectories"), None);

    // The list of the last client survives a restart of the process.
    let mut params = params;
    params["additionalDirectories"] = json!([&outside]);
    open(&mut client, "session/load", params.clone()).await;
    client.close().await;
    test.restart().await;
    let mut client = test.connect();
    initialize(&mut client, json!({})).await;
    let listed = client.request("session/list", json!({})).await;
    assert_eq!(
        listed["sessions"][0]["additionalDirectories"],
        json!([&outside])
    );
    let id = client.send_request("session/resume", params).await;
    client.expect_response(&id).await;
    client.expect_update_of("available_commands_update").await;
    let said = prompt_and_read_text(&mut client, &session, SEARCHES[0]).await;
    assert!(
        said.contains("`here.txt") && said.contains(&there),
        "{said}"
    );
    client.close().await;
}

#[tokio::test]
async fn relative_additional_directory_is_rejected() {
    let test = explore_hub(AcpConfig::default());
    let mut client = test.connect();
    initialize(&mut client, json!({})).await;
    for method in [
        "session/new",
        "session/load",
        "session/resume",
        "session/fork",
    ] {
        let params = json!({
            "sessionId": "s", "cwd": test.workspace(), "mcpServers": [],
            "additionalDirectories": ["/lib", "lib"],
        });
        let error = client.request_error(method, params).await;
        assert_eq!(error["code"], -32602);
        let message = format!("{method}: additionalDirectories[1] must be an absolute path");
        assert_eq!(error["message"], message);
    }
    client.close().await;
}

/// Writes a new file through a client that serves its own files; returns how many reads failed. With
/// `on_this_machine` the client shares the disk of the server.
async fn failed_reads_of_a_new_file(on_this_machine: bool) -> usize {
    let test = explore_hub(AcpConfig {
        on_this_machine,
        ..AcpConfig::default()
    });
    let mut client = test.connect();
    let fs = json!({"fs": {"readTextFile": true, "writeTextFile": true}});
    initialize(&mut client, fs).await;
    let params = json!({"cwd": test.workspace(), "mcpServers": []});
    let session = open(&mut client, "session/new", params).await;
    let turn = prompt(&mut client, &session, "/write new.txt hello").await;
    let (mut written, mut failed) = (None, 0);
    loop {
        match client.next().await {
            MessageFromAgent::Request { id, method, params } => match method.as_str() {
                "fs/read_text_file" => match &written {
                    Some(text) => client.respond(&id, json!({"content": text})).await,
                    None => {
                        failed += 1;
                        client.respond_error(&id, -32002, "no such file").await;
                    }
                },
                "fs/write_text_file" => {
                    written = Some(params["content"].clone());
                    client.respond(&id, json!({})).await;
                }
                "session/request_permission" => {
                    let diff = &params["toolCall"]["content"][0];
                    assert_eq!(diff["newText"], "hello");
                    assert_eq!(diff.get("oldText").filter(|it| !it.is_null()), None);
                    let options = params["options"].as_array().unwrap();
                    let allow = options
                        .iter()
                        .find(|it| it["kind"] == "allow_once")
                        .unwrap();
                    let outcome = json!({"outcome": "selected", "optionId": allow["optionId"]});
                    client.respond(&id, json!({"outcome": outcome})).await;
                }
                other => panic!("{other}"),
            },
            MessageFromAgent::Response { id, .. } if id == turn => break,
            MessageFromAgent::Response { .. } => panic!("an answer to nothing"),
            MessageFromAgent::Notification { .. } => {}
        }
    }
    assert_eq!(written, Some(json!("hello")));
    client.close().await;
    failed
}

#[tokio::test]
async fn writing_a_new_file_causes_no_failing_read_on_this_machine_and_one_elsewhere() {
    assert_eq!(failed_reads_of_a_new_file(true).await, 0);
    assert_eq!(failed_reads_of_a_new_file(false).await, 1);
}
