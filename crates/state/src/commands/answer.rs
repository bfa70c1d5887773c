//! `answer`: what a person says to what they are asked.

use harn_model::{HitlResponse, TurnId};
use serde_json::Value;

use crate::{client::Client, refused::Refused};

/// What they say; which of it counts depends on what was asked.
pub(super) struct Given {
    pub(super) answer: Option<String>,
    pub(super) approved: Option<bool>,
    pub(super) accepted: Option<bool>,
    pub(super) reason: Option<String>,
}

/// The turn that goes on by it.
pub(super) async fn handle(
    client: &Client,
    id: String,
    given: Given,
) -> Result<Option<TurnId>, Refused> {
    let (term, turn) = client.asked().await?;
    let response = HitlResponse {
        request_id: id,
        // Clients choose their names, so that one person could be two.
        reviewer: Some(client.principal().to_string()),
        answer: given.answer.map(Value::String),
        approved: given.approved,
        accepted: given.accepted,
        reason: given.reason,
        ..HitlResponse::default()
    };
    client.seat().hitl_respond(response, term).await?;
    Ok(turn)
}
