//! Steps for messages and reminders during a turn: wait for them and report them.

use std::time::Duration;

use harn_runtime::{AgentError, Steering, SteeringDelivery, TurnContext};

use super::apply_if_some;

/// A wait for more input.
#[derive(Debug, Default)]
pub(super) struct IdleStep {
    pub(super) every: Option<Duration>,
    /// The time after which a simulated watched change ends the wait.
    pub(super) until: Option<Duration>,
    pub(super) watchdog: Option<u64>,
}

impl IdleStep {
    /// Waits and returns the delivered messages and reminders.
    pub(super) async fn wait(&self, cx: &TurnContext) -> Result<SteeringDelivery, AgentError> {
        let idle = apply_if_some(cx.idle(), self.every, |idle, every| idle.wake_after(every));
        let until = self.until.map(tokio::time::sleep);
        let idle = apply_if_some(idle, until, |idle, until| idle.wake_when(until));
        let idle = apply_if_some(idle, self.watchdog, |idle, times| idle.watchdog(times));
        Ok(idle.await?.delivered)
    }
}

/// Sends each delivered message and reminder as a paragraph.
pub(super) async fn say_delivered(
    came: &SteeringDelivery,
    cx: &TurnContext,
) -> Result<(), AgentError> {
    for item in came.iter() {
        let what = match item {
            Steering::Message { .. } => "message",
            Steering::Reminder(_) => "reminder",
        };
        cx.say(format!("{what}: {}\n\n", item.text())).await?;
    }
    Ok(())
}
