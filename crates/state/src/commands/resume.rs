//! `resume`: switches to another session, and may send a prompt there.

use harn_model::TurnId;

use super::submit;
use crate::{client::DocumentClient, command_error::ClientCommandError};

pub(super) async fn handle(
    client: &mut DocumentClient,
    session: String,
    prompt: Option<String>,
) -> Result<Option<TurnId>, ClientCommandError> {
    client.switch_session(&session.into()).await?;
    // The client has switched even if the prompt fails; the socket checks that itself.
    match prompt.filter(|prompt| !prompt.trim().is_empty()) {
        Some(prompt) => submit::handle(client, prompt).await.map(Some),
        None => Ok(None),
    }
}
