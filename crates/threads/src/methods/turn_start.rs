//! `turn.start`: a prompt. It is answered when its turn is told to have begun.

use std::sync::Arc;

use harn_model::TurnId;
use harn_runtime::{DriverAction, PromptSubmission};
use serde_json::Value;

use super::hand;
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
    hand(peer, &thread, ThreadAction::Start(Box::new(params)), reply).await
}

/// The options of an agent that a turn may choose, and what they are called here.
const CHOICES: [(&str, &str); 2] = [("model", "model.modelID"), ("agent", "agent")];

impl ThreadTask {
    /// Submits a prompt; the turn it will be.
    pub(crate) async fn start(&mut self, params: TurnStartParams) -> Result<TurnId, ThreadsError> {
        // Before anything is set: what is refused changes nothing.
        if self.seat.cancel_target().is_some() {
            return Err(ThreadsError::TurnBusy);
        }
        let model = params.model.map(|model| model.model_id);
        self.choose([model, params.agent]).await?;
        let driver = self.seat.drive(DriverAction::Speak, None)?;
        let prompt = PromptSubmission {
            blocks: from_wire::prompt(params.input),
            message: None,
            behind: Some(0),
        };
        // This task reads of the turn after it knows its name.
        Ok(driver.prompt(prompt, |_| ()).await?)
    }

    /// Sets what the turn chooses, all of it or nothing. An agent without such an option has nothing to
    /// choose.
    async fn choose(&self, wanted: [Option<String>; 2]) -> Result<(), ThreadsError> {
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
