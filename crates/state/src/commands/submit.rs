//! `submit`: a prompt. It runs, or waits for those before it.

use harn_model::ContentBlock;
use harn_runtime::Act;

use crate::{client::Client, from_wire, refused::Refused};

pub(super) async fn handle(client: &Client, prompt: String) -> Result<(), Refused> {
    let blocks = vec![ContentBlock::text(from_wire::words("prompt", prompt)?)];
    let driver = client.drive(Act::Speak).await?;
    driver.prompt(blocks, |_| ()).await?;
    Ok(())
}
