//! One file a command: what it takes, and what is done about it.

mod answer;
mod cancel;
mod configure;
mod decide;
mod resume;
mod steer;
mod submit;
mod withdraw;

use crate::{client::Client, refused::Refused, wire::Command};

/// Carries out a command. What came of it is seen in the document.
pub(crate) async fn handle(client: &mut Client, command: Command) -> Result<(), Refused> {
    match command {
        Command::Submit { prompt } => submit::handle(client, prompt).await?,
        Command::Cancel {} => cancel::handle(client).await?,
        Command::Steer { message } => steer::handle(client, message).await?,
        Command::Approve {
            tool_call_id,
            option_id,
        } => decide::approve(client, &tool_call_id, option_id.as_deref()).await?,
        Command::Deny {
            tool_call_id,
            reason,
            option_id,
        } => decide::deny(client, &tool_call_id, option_id.as_deref(), reason).await?,
        Command::Configure { config } => configure::handle(client, config).await?,
        Command::Answer {
            question_id,
            answer,
            approved,
            accepted,
            reason,
        } => {
            let answer = answer::Given {
                answer,
                approved,
                accepted,
                reason,
            };
            answer::handle(client, question_id, answer).await?;
        }
        Command::Withdraw { message_id } => withdraw::handle(client, &message_id).await?,
        Command::Takeover {} => client.take_over().await?,
        Command::Handback {} => client.hand_back().await?,
        Command::Resume { session_id, prompt } => {
            resume::handle(client, session_id, prompt).await?;
        }
    }
    Ok(())
}
