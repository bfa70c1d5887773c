//! Steps for messages and reminders during a turn: wait for them and report them.

use std::time::Duration;

use harn_runtime::{AgentError, Steering, SteeringDelivery, TurnContext};

use super::with;

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
    pub(super) async fn more(&self, cx: &TurnContext) -> Result<SteeringDelivery, AgentError> {
        let idle = with(cx.idle(), self.every, |idle, every| idle.every(every));
        let until = self.until.map(tokio::time::sleep);
        let idle = with(idle, until, |idle, until| idle.until(until));
        let idle = with(idle, self.watchdog, |idle, times| idle.watchdog(times));
        Ok(idle.await?.delivered)
    }
}

/// Sends each delivered message and reminder as a paragraph.
pub(super) async fn tell(came: &SteeringDelivery, cx: &TurnContext) -> Result<(), AgentError> {
    for item in came.iter() {
        let what = match item {
            Steering::Message { .. } => "message",
            Steering::Reminder(_) => "reminder",
        };
        cx.say(format!("{what}: {}\n\n", item.text())).await?;
    }
    Ok(())
}
