//! A host that lends an agent a tool, a skill and its list of shells.
//!
//! `cargo run -p harn-tests --example host -- PROMPT…` starts `harn-serve acp` in this directory, sends the
//! prompts one after another and prints the agent's text. `HARN_SERVE` names another binary than the one on the
//! path.

#![allow(
    clippy::disallowed_methods,
    reason = "a program of its own reads its environment"
)]

use std::{
    env,
    io::{self, Write},
    path::PathBuf,
};

use agent_client_protocol::{
    AcpAgent, AcpAgentConfig, Agent, Client, Dispatch, Error, HandleDispatchFrom, Handled,
    schema::ProtocolVersion,
    v1::{
        ConnectionTo,
        schema::{
            ClientCapabilities, ContentBlock, InitializeRequest, Meta, NewSessionRequest,
            PermissionOptionKind, PromptRequest, RequestPermissionOutcome,
            RequestPermissionRequest, RequestPermissionResponse, SelectedPermissionOutcome,
            SessionNotification, SessionUpdate,
        },
    },
};
use serde_json::{Value, json};

#[tokio::main]
async fn main() -> Result<(), anyhow::Error> {
    let prompts: Vec<String> = env::args().skip(1).collect();
    let program = env::var_os("HARN_SERVE").map_or_else(|| "harn-serve".into(), PathBuf::from);
    let agent = AcpAgent::new(AcpAgentConfig::new(program).args(["acp"]));
    let cwd = env::current_dir()?;
    Client
        .v1()
        .name("lending-host")
        .on_receive_notification(
            async |told: SessionNotification, _: ConnectionTo<Agent>| {
                if let SessionUpdate::AgentMessageChunk(chunk) = told.update
                    && let ContentBlock::Text(text) = chunk.content
                {
                    show(&text.text);
                }
                Ok(())
            },
            agent_client_protocol::on_receive_notification!(),
        )
        .on_receive_request(
            async |asked: RequestPermissionRequest, to, _: ConnectionTo<Agent>| {
                // A real host shows the question to a person. This one allows everything.
                let once = |kind: &PermissionOptionKind| *kind == PermissionOptionKind::AllowOnce;
                let option = asked.options.iter().find(|option| once(&option.kind));
                let outcome = match option {
                    Some(option) => RequestPermissionOutcome::Selected(
                        SelectedPermissionOutcome::new(option.option_id.clone()),
                    ),
                    None => RequestPermissionOutcome::Cancelled,
                };
                let title = asked.tool_call.fields.title.unwrap_or_default();
                show(&format!("(asked: {title})\n"));
                to.respond(RequestPermissionResponse::new(outcome))
            },
            agent_client_protocol::on_receive_request!(),
        )
        .with_handler(Bridge)
        .connect_with(agent, async move |connection: ConnectionTo<Agent>| {
            let mut capabilities = ClientCapabilities::new();
            capabilities.meta = Some(Meta::from_iter([(
                "harn".to_owned(),
                json!({"profile": "meta", "hostBridge": true}),
            )]));
            let hello =
                InitializeRequest::new(ProtocolVersion::V1).client_capabilities(capabilities);
            connection.send_request(hello).block_task().await?;
            let session = connection.send_request(NewSessionRequest::new(cwd));
            let session = session.block_task().await?.session_id;
            for prompt in prompts {
                show(&format!("> {prompt}\n"));
                let blocks = vec![ContentBlock::from(prompt)];
                let turn = connection.send_request(PromptRequest::new(session.clone(), blocks));
                turn.block_task().await?;
                show("\n");
            }
            Ok(())
        })
        .await?;
    Ok(())
}

fn show(text: &str) {
    // A closed stdout is no error.
    let _ = io::stdout().write_all(text.as_bytes());
}

/// Answers the agent's requests to a host that declared `hostBridge`.
struct Bridge;

impl Bridge {
    /// Returns the answer to a request of the bridge, or `None` for any other request.
    fn answer(method: &str, params: &Value) -> Option<Result<Value, Error>> {
        Some(match method {
            "host/tools/list" => Ok(json!({"tools": [{
                "name": "count_words",
                "description": "Count the words of a text",
                "schema": {
                    "type": "object",
                    "properties": {"text": {"type": "string", "description": "What to count"}},
                    "required": ["text"],
                },
            }]})),
            "builtin_call" => match (params["name"].as_str(), params["args"][0]["text"].as_str()) {
                (Some("count_words"), Some(text)) => {
                    Ok(json!({"words": text.split_whitespace().count()}))
                }
                // This code denies the call; any other code means that it failed.
                _ => Err(Error::new(
                    -32001,
                    "this host lends count_words, with a text",
                )),
            },
            "skills/list" => Ok(json!([{
                "id": "release-notes",
                "name": "release-notes",
                "description": "Write release notes from what changed",
                "source": "host",
            }])),
            "skills/fetch" => Ok(json!({
                "name": "release-notes",
                "description": "Write release notes from what changed",
                "body": "Write release notes for $1. One line a change, the user's words.\n",
                "manifest": {
                    "short": "Write release notes",
                    "argument_hint": "VERSION",
                    "user_invocable": true,
                    "paths": ["CHANGELOG.md"],
                },
            })),
            "host/capabilities" => Ok(json!({"process": ["list_shells", "get_default_shell"]})),
            "host/call" => match params["name"].as_str() {
                Some("process.list_shells") => {
                    Ok(json!({"shells": [shell()], "default_shell_id": "sh"}))
                }
                Some("process.get_default_shell") => Ok(shell()),
                _ => Err(Error::method_not_found()),
            },
            _ => return None,
        })
    }
}

fn shell() -> Value {
    json!({
        "id": "sh",
        "label": "The editor's shell",
        "path": "/bin/sh",
        "platform": "linux",
        "available": true,
        "supports_login": true,
        "supports_interactive": true,
        "default_args": ["-c"],
        "login_args": ["-l", "-c"],
        "source": "host",
    })
}

impl HandleDispatchFrom<Agent> for Bridge {
    async fn handle_dispatch_from(
        &mut self,
        message: Dispatch,
        _: agent_client_protocol::ConnectionTo<Agent>,
    ) -> Result<Handled<Dispatch>, Error> {
        if let Dispatch::Request(request, to) = message {
            return match Self::answer(request.method(), request.params()) {
                Some(answer) => {
                    to.respond_with_result(answer)?;
                    Ok(Handled::Yes)
                }
                None => Ok(Handled::No {
                    message: Dispatch::Request(request, to),
                    retry: false,
                }),
            };
        }
        Ok(Handled::No {
            message,
            retry: false,
        })
    }

    fn describe_chain(&self) -> impl std::fmt::Debug {
        "bridge"
    }
}
