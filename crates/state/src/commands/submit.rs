//! `submit`: a prompt. It runs, or waits for those before it.

use harn_model::{ContentBlock, TurnId};
use harn_runtime::Act;

use crate::{client::Client, from_wire, refused::Refused};

/// The turn that it is, or will be.
pub(super) async fn handle(client: &Client, prompt: String) -> Result<TurnId, Refused> {
    let blocks = vec![ContentBlock::text(from_wire::words("prompt", prompt)?)];
    let driver = client.drive(Act::Speak).await?;
    Ok(driver.prompt(blocks, |_| ()).await?)
}
