//! `answer`: a person's answer to a question.

use harn_model::{HitlResponse, TurnId};

use crate::{client::DocumentClient, command_error::ClientCommandError};

/// Returns the turn that continues.
pub(super) async fn handle(
    client: &DocumentClient,
    mut response: HitlResponse,
) -> Result<Option<TurnId>, ClientCommandError> {
    let (term, turn) = client.answering_term().await?;
    // The principal and not the name, because clients choose their names: one person could count as two.
    response.reviewer = Some(client.principal().to_string());
    client.seat().hitl_respond(response, term).await?;
    Ok(turn)
}
