//! `approve` and `deny`: decisions about tool calls that wait for one. The first that comes counts.

use harn_model::{Decision, PermissionAsked, TurnId};

use crate::{client::Client, from_wire, refused::Refused};

pub(super) async fn approve(
    client: &Client,
    call: &str,
    option: Option<&str>,
) -> Result<Option<TurnId>, Refused> {
    let ask = find(client, call)?;
    let decision = from_wire::approval(&ask, option)?;
    answer(client, ask, decision).await
}

pub(super) async fn deny(
    client: &Client,
    call: &str,
    option: Option<&str>,
    reason: Option<String>,
) -> Result<Option<TurnId>, Refused> {
    let ask = find(client, call)?;
    let decision = from_wire::refusal(&ask, option, reason)?;
    answer(client, ask, decision).await
}

fn find(client: &Client, call: &str) -> Result<PermissionAsked, Refused> {
    let mut open = client.seat().open_asks().into_iter();
    let ask = open.find(|ask| ask.tool_call.tool_call_id.as_str() == call);
    ask.ok_or_else(|| {
        Refused::bad("no decision is waited for about this toolCallId; it may be decided already")
    })
}

/// The turn that goes on by it.
async fn answer(
    client: &Client,
    ask: PermissionAsked,
    decision: Decision,
) -> Result<Option<TurnId>, Refused> {
    let (term, turn) = client.asked().await?;
    client.seat().answer(ask.ask_id, decision, term).await;
    Ok(turn)
}
