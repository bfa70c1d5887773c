//! `cancel`: stops what runs. Where nothing does there is nothing to do, which is fine.

use harn_runtime::Act;

use crate::{client::Client, refused::Refused};

pub(super) async fn handle(client: &Client) -> Result<(), Refused> {
    // Bound to the turn that is there now: a late cancel must not reach the next one.
    if let Some(turn) = client.seat().cancel_target() {
        let driver = client.drive(Act::Steer).await?;
        driver.cancel(turn).await;
    }
    Ok(())
}
