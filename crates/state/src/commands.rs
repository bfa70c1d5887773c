//! One file a command: what it takes, and what is done about it.

mod answer;
mod cancel;
mod configure;
mod decide;
mod resume;
mod steer;
mod submit;
mod withdraw;

use harn_model::{HitlResponse, TurnId};
use harn_runtime::BoxFuture;
use serde_json::Value;

use crate::{client::Client, refused::Refused, wire::Command};

/// Carries out a command. What came of it is seen in the document; told is only the turn that began by it, or
/// goes on.
pub(crate) fn handle<'a>(
    client: &'a mut Client,
    command: Command,
) -> BoxFuture<'a, Result<Option<TurnId>, Refused>> {
    Box::pin(async move {
        match command {
            Command::Submit { prompt } => submit::handle(client, prompt).await.map(Some),
            Command::Steer { message } => steer::handle(client, message).await,
            Command::Approve {
                tool_call_id,
                option_id,
            } => decide::approve(client, &tool_call_id, option_id.as_deref()).await,
            Command::Deny {
                tool_call_id,
                reason,
                option_id,
            } => decide::deny(client, &tool_call_id, option_id.as_deref(), reason).await,
            Command::Answer {
                question_id,
                answer,
                approved,
                accepted,
                reason,
            } => {
                let response = HitlResponse {
                    request_id: question_id,
                    answer: answer.map(Value::String),
                    approved,
                    accepted,
                    reason,
                    ..HitlResponse::default()
                };
                answer::handle(client, response).await
            }
            Command::Resume { session_id, prompt } => {
                resume::handle(client, session_id, prompt).await
            }
            Command::Cancel {} => none(cancel::handle(client).await),
            Command::Configure { config } => none(configure::handle(client, config).await),
            Command::Withdraw { message_id } => none(withdraw::handle(client, &message_id).await),
            Command::Takeover {} => none(client.take_over().await),
            Command::Handback {} => none(client.hand_back().await),
        }
    })
}

fn none(done: Result<(), Refused>) -> Result<Option<TurnId>, Refused> {
    done.map(|()| None)
}
