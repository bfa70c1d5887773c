//! The commands, one file each: their arguments and their effects.

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

use crate::{client::DocumentClient, command_error::ClientCommandError, wire::ClientCommand};

/// Executes a command. Its effect shows in the document; only the turn that it started or continued is returned.
pub(crate) fn handle<'a>(
    client: &'a mut DocumentClient,
    command: ClientCommand,
) -> BoxFuture<'a, Result<Option<TurnId>, ClientCommandError>> {
    Box::pin(async move {
        match command {
            ClientCommand::Submit { prompt } => submit::handle(client, prompt).await.map(Some),
            ClientCommand::Steer { message } => steer::handle(client, message).await,
            ClientCommand::Approve {
                tool_call_id,
                option_id,
            } => decide::approve(client, &tool_call_id, option_id.as_deref()).await,
            ClientCommand::Deny {
                tool_call_id,
                reason,
                option_id,
            } => decide::deny(client, &tool_call_id, option_id.as_deref(), reason).await,
            ClientCommand::Answer {
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
            ClientCommand::Resume { session_id, prompt } => {
                resume::handle(client, session_id, prompt).await
            }
            ClientCommand::Cancel {} => without_turn(cancel::handle(client).await),
            ClientCommand::Configure { config } => {
                without_turn(configure::handle(client, config).await)
            }
            ClientCommand::Withdraw { message_id } => {
                without_turn(withdraw::handle(client, &message_id).await)
            }
            ClientCommand::Takeover {} => without_turn(client.take_over().await),
            ClientCommand::Handback {} => without_turn(client.hand_back().await),
        }
    })
}

fn without_turn(
    done: Result<(), ClientCommandError>,
) -> Result<Option<TurnId>, ClientCommandError> {
    done.map(|()| None)
}
