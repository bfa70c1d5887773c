//! `steer`: a word in the middle of a run. Where nothing runs it is a prompt: nothing that is said is lost.

use harn_model::{ContentBlock, ControlResult, TurnId};
use harn_runtime::{Act, ControlError};

use crate::{client::Client, from_wire, refused::Refused};

/// The turn that it is, where nothing runs.
pub(super) async fn handle(client: &Client, message: String) -> Result<Option<TurnId>, Refused> {
    let blocks = vec![ContentBlock::text(from_wire::words("message", message)?)];
    let driver = client.drive(Act::Speak).await?;
    match driver.steer(blocks.clone(), client.actor(), |_| ()).await {
        Err(ControlError::Refused {
            result: ControlResult::NoActivePrompt,
            ..
        }) => {
            let driver = client.drive(Act::Speak).await?;
            Ok(Some(driver.prompt(blocks, |_| ()).await?))
        }
        steered => {
            steered?;
            Ok(None)
        }
    }
}
