//! `submit`: a prompt. It runs now, or waits for those before it.

use harn_model::{ContentBlock, TurnId};
use harn_runtime::DriverAction;

use crate::{client::DocumentClient, command_error::ClientCommandError, from_wire};

/// Returns its turn, which may be queued.
pub(super) async fn handle(
    client: &DocumentClient,
    prompt: String,
) -> Result<TurnId, ClientCommandError> {
    let blocks = vec![ContentBlock::text(from_wire::require_text(
        "prompt", prompt,
    )?)];
    let driver = client.drive(DriverAction::Speak).await?;
    Ok(driver.prompt(blocks, |_| ()).await?)
}
