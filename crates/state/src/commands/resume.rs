//! `resume`: goes over to another session, and says something there.

use super::submit;
use crate::{client::Client, refused::Refused};

pub(super) async fn handle(
    client: &mut Client,
    session: String,
    prompt: Option<String>,
) -> Result<(), Refused> {
    client.go(&session.into()).await?;
    // It has gone, whatever comes of the prompt; the socket finds out by itself.
    if let Some(prompt) = prompt.filter(|prompt| !prompt.trim().is_empty()) {
        submit::handle(client, prompt).await?;
    }
    Ok(())
}
