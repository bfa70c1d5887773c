//! `turn.start`: a prompt. The answer follows the notification that its turn has started.

use std::sync::Arc;

use harn_model::TurnId;
use harn_runtime::{DriverAction, PromptSubmission};
use serde_json::Value;

use super::send_to_thread;
use crate::{
    ThreadsError,
    connection::{ReplyTarget, ThreadsPeer},
    from_wire,
    thread::{ThreadAction, ThreadTask},
    wire::TurnStartParams,
};

pub(crate) async fn handle(
    peer: &Arc<ThreadsPeer>,
    params: Option<Value>,
    reply: ReplyTarget,
) -> Result<(), ThreadsError> {
    let params = from_wire::turn_start(params)?;
    let thread = params.thread_id.as_str().into();
    send_to_thread(peer, &thread, ThreadAction::Start(Box::new(params)), reply).await
}

/// The options of an agent that a turn may set, and their names on this wire.
const CHOICES: [(&str, &str); 2] = [("model", "model.modelID"), ("agent", "agent")];

impl ThreadTask {
    /// Submits a prompt, and returns its turn.
    pub(crate) async fn start(&mut self, params: TurnStartParams) -> Result<TurnId, ThreadsError> {
        // Before any setting: a rejected request changes nothing.
        if self.seat.cancel_target().is_some() {
            return Err(ThreadsError::TurnBusy);
        }
        let model = params.model.map(|model| model.model_id);
        self.set_choices([model, params.agent]).await?;
        let driver = self.seat.drive(DriverAction::Speak, None)?;
        let prompt = PromptSubmission {
            blocks: from_wire::prompt(params.input),
            message: None,
            behind: Some(0),
        };
        // This task reads the events of the turn after it knows its id.
        Ok(driver.prompt(prompt, |_| ()).await?)
    }

    /// Sets the options that the turn chooses, all or none. An option that the agent does not have is ignored.
    async fn set_choices(&self, wanted: [Option<String>; 2]) -> Result<(), ThreadsError> {
        let options = self.seat.options();
        let mut changes = Vec::new();
        for ((id, field), value) in CHOICES.into_iter().zip(wanted) {
            let Some(value) = value else { continue };
            let Some((option, now)) = options.iter().find(|(option, _)| option.id == id) else {
                continue;
            };
            let mut known = option.choices.iter().map(|choice| choice.value.as_str());
            if !known.clone().any(|known| known == value) {
                let known: Vec<_> = known.by_ref().collect();
                let why = format!("{field} must be one of {}", known.join(", "));
                return Err(ThreadsError::InvalidParams(why));
            }
            if *now != value {
                changes.push((id, value));
            }
        }
        for (id, value) in changes {
            let driver = self.seat.drive(DriverAction::Steer, None)?;
            driver.set_option(id, &value).await?;
        }
        Ok(())
    }
}
