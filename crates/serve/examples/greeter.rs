//! A whole agent: counts the lines of README.md and asks before it writes the number to NOTES.md.

use harn_serve::{
    Agent, AgentError, Result, Seam, StopReason, ToolKind, TurnContext, acp_stdio, async_trait,
};

struct Greeter;

#[async_trait]
impl Agent for Greeter {
    async fn turn(&self, cx: &mut TurnContext) -> Result<StopReason, AgentError> {
        let read = cx.tool("read_file").kind(ToolKind::Read).path("README.md");
        let read = read.title("Read README.md").start().await?;
        let text = read.run(|host| host.read_text("README.md")).await?;
        let count = format!("Your README has {} lines.", text.lines().count());
        cx.say(&count).await?;
        if cx.seam(Seam::PostToolDispatch).await?.is_empty() {
            let note = cx.tool("write_file").kind(ToolKind::Edit).path("NOTES.md");
            let note = note.title("Write NOTES.md").ask().await?; // a refusal ends the turn
            note.run(|host| host.write_text("NOTES.md", count)).await?;
            cx.say(" I wrote that down.").await?;
        }
        Ok(StopReason::EndTurn)
    }
}

fn main() -> Result<()> {
    acp_stdio(Greeter)
}
