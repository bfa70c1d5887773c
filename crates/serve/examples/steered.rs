//! An agent that can be steered: counts down one step a second, takes messages meanwhile, and idles at zero.
//!
//! Prompt it with a number; while it counts, inject another one, or a reminder. `enough` ends it.

use std::time::Duration;

use harn_serve::{
    Agent, AgentError, Result, Seam, Steering, StopReason, TurnContext, acp_stdio, async_trait,
};

struct Countdown;

#[async_trait]
impl Agent for Countdown {
    async fn turn(&self, cx: &mut TurnContext) -> Result<StopReason, AgentError> {
        let Some(mut left) = number(&cx.prompt_text()) else {
            cx.say("Send a number to count down from.").await?;
            return Ok(StopReason::EndTurn);
        };
        loop {
            let came = if left > 0 {
                cx.say(format!("{left} ")).await?;
                // The work of one step; a cancel ends the turn at the next call on `cx`.
                tokio::time::sleep(Duration::from_secs(1)).await;
                left -= 1;
                // A seam: the runtime delivers the messages sent meanwhile.
                cx.seam(Seam::PostToolDispatch).await?
            } else {
                // Nothing left to do. The turn stays open, and waiting costs nothing.
                cx.idle().await?.delivered
            };
            for item in came {
                match item {
                    Steering::Message { .. } if item.text().trim() == "enough" => {
                        return Ok(StopReason::EndTurn);
                    }
                    Steering::Message { .. } => match number(&item.text()) {
                        Some(other) => left = other,
                        None => cx.say("That is not a number. ").await?,
                    },
                    // No user typed it, but a model would have it in its prompt from now on.
                    Steering::Reminder(reminder) => {
                        cx.say(format!("({}) ", reminder.body)).await?;
                    }
                }
            }
        }
    }
}

fn number(text: &str) -> Option<u64> {
    text.trim().parse().ok()
}

fn main() -> Result<()> {
    acp_stdio(Countdown)
}
