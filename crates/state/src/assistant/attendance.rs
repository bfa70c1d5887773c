//! A client that is there while its response is open, and what becomes of its runs where it leaves before.
//!
//! Its Stop button, a page that is closed and a connection that breaks look the same from here. A plain page
//! has no other way to stop a run than to leave, so that is what it means, unless it says otherwise.

use harn_model::TurnId;
use harn_runtime::DriverAction;
use tokio::runtime::Handle;

use crate::{client::DocumentClient, commands, refused::ClientCommandError, wire::ClientCommand};

pub(super) struct AssistantClient {
    /// Taken when it leaves.
    client: Option<DocumentClient>,
    /// What it began, or let go on by an answer; nothing else is its own to stop.
    turns: Vec<TurnId>,
    detached: bool,
}

impl AssistantClient {
    pub(super) fn new(client: DocumentClient, detached: bool) -> Self {
        Self {
            client: Some(client),
            turns: Vec::new(),
            detached,
        }
    }

    pub(super) async fn carry_out(
        &mut self,
        command: ClientCommand,
    ) -> Result<(), ClientCommandError> {
        if let Some(client) = &mut self.client {
            self.turns.extend(commands::handle(client, command).await?);
        }
        Ok(())
    }

    /// The response is over, so that its client leaves nothing by leaving.
    pub(super) fn end(&mut self) {
        self.turns.clear();
    }
}

impl Drop for AssistantClient {
    fn drop(&mut self) {
        let turns = std::mem::take(&mut self.turns);
        if turns.is_empty() || self.detached {
            return;
        }
        // Without a runtime the session is gone as well.
        if let (Some(client), Ok(runtime)) = (self.client.take(), Handle::try_current()) {
            runtime.spawn(stop(client, turns));
        }
    }
}

/// Stops runs. Who is not in control any more has nothing to stop: others go on with what it began.
async fn stop(client: DocumentClient, turns: Vec<TurnId>) {
    // The last first, or what waits would begin when what it waits for ends.
    for turn in turns.into_iter().rev() {
        if let Ok(driver) = client.drive(DriverAction::Steer).await {
            driver.cancel(turn).await;
        }
    }
}
