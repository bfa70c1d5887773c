//! The peer: an agent written directly on the SDK, like the SDK's own example.
//!
//! A prompt that ends in a number N gets N updates, or N permission requests if it begins with `ask`, and then
//! its response. Writes nothing to disk.

use agent_client_protocol::v1::schema::{
    ContentBlock, InitializeRequest, InitializeResponse, NewSessionRequest, NewSessionResponse,
    PromptRequest, PromptResponse, StopReason,
};
use agent_client_protocol::{Agent, Result, Stdio, on_receive_request};

#[tokio::main]
async fn main() -> Result<()> {
    Agent
        .v1()
        .name("sdk-agent")
        .on_receive_request(
            async move |request: InitializeRequest, responder, _connection| {
                responder.respond(InitializeResponse::new(request.protocol_version))
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |_request: NewSessionRequest, responder, _connection| {
                responder.respond(NewSessionResponse::new(
                    "0199a0f0-0000-7000-8000-000000000001",
                ))
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: PromptRequest, responder, connection| {
                let count = count(&request.prompt);
                if asks_permission(&request.prompt) {
                    // A handler that waits would block the reading of the response.
                    let asking = connection.clone();
                    return connection.spawn(async move {
                        for place in 0..count {
                            let question =
                                harn_bench::permission_request(&request.session_id, place);
                            asking.send_request(question).block_task().await?;
                        }
                        responder.respond(PromptResponse::new(StopReason::EndTurn))
                    });
                }
                for _ in 0..count {
                    connection.send_notification(harn_bench::text_update(&request.session_id))?;
                }
                responder.respond(PromptResponse::new(StopReason::EndTurn))
            },
            on_receive_request!(),
        )
        .connect_to(Stdio::new())
        .await
}

fn asks_permission(prompt: &[ContentBlock]) -> bool {
    text(prompt).starts_with("ask ")
}

fn text(prompt: &[ContentBlock]) -> &str {
    match prompt.last() {
        Some(ContentBlock::Text(text)) => &text.text,
        _ => "",
    }
}

/// Returns the number at the end of a prompt, or 0.
fn count(prompt: &[ContentBlock]) -> u64 {
    text(prompt)
        .split_whitespace()
        .next_back()
        .and_then(|word| word.parse().ok())
        .unwrap_or(0)
}
