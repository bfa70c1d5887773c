//! `answer`: what a person says to what they are asked.

use harn_model::{HitlResponse, TurnId};

use crate::{client::Client, refused::Refused};

/// The turn that goes on by it.
pub(super) async fn handle(
    client: &Client,
    mut response: HitlResponse,
) -> Result<Option<TurnId>, Refused> {
    let (term, turn) = client.asked().await?;
    // Clients choose their names, so that one person could be two.
    response.reviewer = Some(client.principal().to_string());
    client.seat().hitl_respond(response, term).await?;
    Ok(turn)
}
