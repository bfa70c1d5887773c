//! `answer`: what a person says to what they are asked.

use harn_model::{HitlResponse, TurnId};

use crate::{client::DocumentClient, refused::ClientCommandError};

/// The turn that goes on by it.
pub(super) async fn handle(
    client: &DocumentClient,
    mut response: HitlResponse,
) -> Result<Option<TurnId>, ClientCommandError> {
    let (term, turn) = client.asked().await?;
    // Clients choose their names, so that one person could be two.
    response.reviewer = Some(client.principal().to_string());
    client.seat().hitl_respond(response, term).await?;
    Ok(turn)
}
