//! `approve` and `deny`: decisions about tool calls that wait for one. The first decision counts.

use harn_model::{Decision, PermissionAsked, TurnId};

use crate::{client::DocumentClient, command_error::ClientCommandError, from_wire};

pub(super) async fn approve(
    client: &DocumentClient,
    call: &str,
    option: Option<&str>,
) -> Result<Option<TurnId>, ClientCommandError> {
    let ask = find(client, call)?;
    let decision = from_wire::approval_decision(&ask, option)?;
    answer(client, ask, decision).await
}

pub(super) async fn deny(
    client: &DocumentClient,
    call: &str,
    option: Option<&str>,
    reason: Option<String>,
) -> Result<Option<TurnId>, ClientCommandError> {
    let ask = find(client, call)?;
    let decision = from_wire::rejection_decision(&ask, option, reason)?;
    answer(client, ask, decision).await
}

fn find(client: &DocumentClient, call: &str) -> Result<PermissionAsked, ClientCommandError> {
    let mut open = client.seat().open_asks().into_iter();
    let ask = open.find(|ask| ask.tool_call.tool_call_id.as_str() == call);
    ask.ok_or_else(|| {
        ClientCommandError::bad("no open question has this toolCallId; it may be decided already")
    })
}

/// Sends the decision and returns the turn that continues.
async fn answer(
    client: &DocumentClient,
    ask: PermissionAsked,
    decision: Decision,
) -> Result<Option<TurnId>, ClientCommandError> {
    let (term, turn) = client.answering_term().await?;
    client.seat().answer(ask.ask_id, decision, term).await;
    Ok(turn)
}
