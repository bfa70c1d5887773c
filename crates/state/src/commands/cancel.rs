//! `cancel`: stops what runs. Where nothing does there is nothing to do, which is fine.

use harn_runtime::DriverAction;

use crate::{client::DocumentClient, refused::ClientCommandError};

pub(super) async fn handle(client: &DocumentClient) -> Result<(), ClientCommandError> {
    // Bound to the turn that is there now: a late cancel must not reach the next one.
    if let Some(turn) = client.seat().cancel_target() {
        let driver = client.drive(DriverAction::Steer).await?;
        driver.cancel(turn).await;
    }
    Ok(())
}
