//! `steer`: a message during a turn. Without a running turn it is a prompt, so that no message is lost.

use harn_model::{ContentBlock, ControlResult, TurnId};
use harn_runtime::{ControlError, DriverAction};

use crate::{client::DocumentClient, command_error::ClientCommandError, from_wire};

/// Returns the turn that it starts, if none was running.
pub(super) async fn handle(
    client: &DocumentClient,
    message: String,
) -> Result<Option<TurnId>, ClientCommandError> {
    let blocks = vec![ContentBlock::text(from_wire::require_text(
        "message", message,
    )?)];
    let driver = client.drive(DriverAction::Speak).await?;
    match driver.steer(blocks.clone(), client.actor(), |_| ()).await {
        Err(ControlError::Refused {
            result: ControlResult::NoActivePrompt,
            ..
        }) => {
            let driver = client.drive(DriverAction::Speak).await?;
            Ok(Some(driver.prompt(blocks, |_| ()).await?))
        }
        steered => {
            steered?;
            Ok(None)
        }
    }
}
