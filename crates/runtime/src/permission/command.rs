//! `/permissions`: shows what is allowed and remembered in a session, and takes grants back. Every session
//! has it, whatever its agent.

use async_trait::async_trait;
use harn_model::{AgentEvent, Command, CommandInput, ContentBlock, Grant, GrantEffect, StopReason};
use harn_policy::SessionMode;

use crate::{Agent, AgentError, TurnContext, turn::TurnItem};

/// Its name.
pub(crate) const COMMAND: &str = "permissions";

/// The commands of an agent, and ours.
pub(crate) fn with_command(mut commands: Vec<Command>) -> Vec<Command> {
    commands.retain(|command| command.name != COMMAND);
    commands.push(Command {
        name: COMMAND.to_owned(),
        description: "Show what is allowed and remembered here; `revoke ID` forgets a grant"
            .to_owned(),
        input: Some(CommandInput {
            hint: "[revoke ID]".to_owned(),
        }),
    });
    commands
}

/// Whether a prompt is this command and not for the agent.
pub(crate) fn is_meant(prompt: &[ContentBlock]) -> bool {
    words(prompt).next() == Some("/permissions")
}

fn words(prompt: &[ContentBlock]) -> impl Iterator<Item = &str> {
    let text = match prompt.first() {
        Some(ContentBlock::Text { text }) => text.as_str(),
        _ => "",
    };
    text.split_whitespace()
}

/// Answers the command in the agent's place.
pub(crate) struct PermissionsCommand;

#[async_trait]
impl Agent for PermissionsCommand {
    async fn turn(&self, cx: &mut TurnContext) -> Result<StopReason, AgentError> {
        let words: Vec<_> = words(cx.prompt()).skip(1).map(str::to_owned).collect();
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        match words[..] {
            [] => {
                let shown = show(cx).await;
                cx.say(shown).await?;
            }
            ["revoke", id] => {
                let told = revoke(cx, id).await?;
                cx.say(told).await?;
            }
            _ => {
                cx.say("Say `/permissions`, or `/permissions revoke ID`.\n")
                    .await?;
            }
        }
        Ok(StopReason::EndTurn)
    }
}

async fn show(cx: &TurnContext) -> String {
    let mode = cx.session_mode().describe();
    let mut text = format!("**Mode** `{}`: {}.\n\n", mode.id, mode.description);
    let others = SessionMode::ALL
        .iter()
        .map(|mode| format!("`{}`", mode.id()));
    text.push_str(&format!(
        "The modes are {}.\n\n",
        others.collect::<Vec<_>>().join(", ")
    ));
    match cx.rules_shown().await {
        Ok(rules) if rules.is_empty() => text.push_str("**Rules**: none beyond the mode's.\n\n"),
        Ok(rules) => text.push_str(&format!("**Rules**\n\n```toml\n{rules}```\n\n")),
        Err(error) => text.push_str(&format!("**Rules** cannot be read: {error}\n\n")),
    }
    let (session, lasting) = cx.grants().await;
    list(&mut text, "Remembered for this session", &session);
    match lasting {
        Ok(lasting) => list(&mut text, "Remembered for this workspace", &lasting),
        Err(error) => text.push_str(&format!("What is remembered cannot be read: {error}\n")),
    }
    text
}

fn list(text: &mut String, title: &str, grants: &[Grant]) {
    if grants.is_empty() {
        text.push_str(&format!("**{title}**: nothing.\n\n"));
        return;
    }
    text.push_str(&format!("**{title}**\n\n"));
    for grant in grants {
        let verb = match grant.effect {
            GrantEffect::Allow => "allow",
            GrantEffect::Deny => "reject",
        };
        let what = harn_policy::describe_whole(grant);
        text.push_str(&format!(
            "- `{}` {verb} {what} ({})\n",
            grant.id, grant.tool
        ));
    }
    text.push('\n');
}

async fn revoke(cx: &TurnContext, id: &str) -> Result<String, AgentError> {
    let (session, _) = cx.grants().await;
    if session.iter().any(|grant| grant.id == id) {
        let grant_id = id.to_owned();
        let revoked = TurnItem::Event(AgentEvent::GrantRevoked { grant_id });
        cx.push(revoked).await?;
        cx.flush().await?;
        return Ok(format!("Forgot `{id}` for this session.\n"));
    }
    Ok(match cx.revoke_lasting(id).await {
        Ok(true) => format!("Forgot `{id}` for this workspace.\n"),
        Ok(false) => format!("There is no grant `{id}`; `/permissions` lists them.\n"),
        Err(error) => format!("Nothing was forgotten: {error}\n"),
    })
}
