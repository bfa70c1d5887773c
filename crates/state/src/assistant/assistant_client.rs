//! A client whose response is open, and the fate of its turns if it disconnects before the end.
//!
//! Its Stop button, a closed page and a broken connection look the same from here. A plain page can stop a turn
//! only by disconnecting, so a disconnect means that, unless the request is detached.

use harn_model::TurnId;
use harn_runtime::DriverAction;
use tokio::runtime::Handle;

use crate::{
    client::DocumentClient, command_error::ClientCommandError, commands, wire::ClientCommand,
};

pub(super) struct AssistantClient {
    /// Taken when the client disconnects.
    client: Option<DocumentClient>,
    /// The turns that it started, or continued by an answer; it may stop no others.
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

    pub(super) async fn execute(
        &mut self,
        command: ClientCommand,
    ) -> Result<(), ClientCommandError> {
        if let Some(client) = &mut self.client {
            self.turns.extend(commands::handle(client, command).await?);
        }
        Ok(())
    }

    /// Marks the response as complete, so that a disconnect stops nothing.
    pub(super) fn mark_complete(&mut self) {
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
            runtime.spawn(cancel_turns(client, turns));
        }
    }
}

/// Cancels turns. A client that lost control cancels nothing: others continue what it started.
async fn cancel_turns(client: DocumentClient, turns: Vec<TurnId>) {
    // The last first: otherwise a queued turn would start when the one before it ends.
    for turn in turns.into_iter().rev() {
        if let Ok(driver) = client.drive(DriverAction::Steer).await {
            driver.cancel(turn).await;
        }
    }
}
