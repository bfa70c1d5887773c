//! `resume`: goes over to another session, and says something there.

use harn_model::TurnId;

use super::submit;
use crate::{client::DocumentClient, refused::ClientCommandError};

pub(super) async fn handle(
    client: &mut DocumentClient,
    session: String,
    prompt: Option<String>,
) -> Result<Option<TurnId>, ClientCommandError> {
    client.go(&session.into()).await?;
    // It has gone, whatever comes of the prompt; the socket finds out by itself.
    match prompt.filter(|prompt| !prompt.trim().is_empty()) {
        Some(prompt) => submit::handle(client, prompt).await.map(Some),
        None => Ok(None),
    }
}
