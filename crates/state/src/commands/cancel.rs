//! `cancel`: cancels the running turn. Without one it does nothing.

use harn_runtime::DriverAction;

use crate::{client::DocumentClient, command_error::ClientCommandError};

pub(super) async fn handle(client: &DocumentClient) -> Result<(), ClientCommandError> {
    // Bound to the current turn: a late cancel must not reach the next one.
    if let Some(turn) = client.seat().cancel_target() {
        let driver = client.drive(DriverAction::Steer).await?;
        driver.cancel(turn).await;
    }
    Ok(())
}
