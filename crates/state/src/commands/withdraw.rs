//! `withdraw`: takes back a queued prompt, or a steering message that the agent has not received.

use harn_model::MessageId;
use harn_runtime::DriverAction;

use crate::{client::DocumentClient, command_error::ClientCommandError};

pub(super) async fn handle(client: &DocumentClient, id: &str) -> Result<(), ClientCommandError> {
    let view = client.seat().view();
    let queued = view.queued.iter();
    let mut queued = queued.filter(|queued| queued.prompt.message_id.as_str() == id);
    let driver = client.drive(DriverAction::Steer).await?;
    match queued.next() {
        Some(queued) => driver.cancel(queued.id.clone()).await,
        None => {
            driver
                .revoke_inject(MessageId::new(id), client.actor())
                .await?;
        }
    }
    Ok(())
}
