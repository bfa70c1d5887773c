//! `/permissions`: lists the permissions and grants of a session, stores the session's grants for its
//! workspace, and revokes grants. Every session has it, with any agent.

use async_trait::async_trait;
use harn_model::{
    AgentEvent, CommandInput, ContentBlock, Grant, GrantEffect, SlashCommand, StopReason,
};
use harn_policy::SessionMode;

use crate::{Agent, AgentError, TurnContext, turn::TurnItem};

pub(crate) const COMMAND: &str = "permissions";

/// Adds this command to an agent's commands.
pub(crate) fn with_command(mut commands: Vec<SlashCommand>) -> Vec<SlashCommand> {
    commands.retain(|command| command.name != COMMAND);
    commands.push(SlashCommand {
        name: COMMAND.to_owned(),
        description:
            "Show what is allowed and remembered here; `keep` makes the session's grants last for \
                      the workspace, `revoke ID` forgets a grant"
                .to_owned(),
        input: Some(CommandInput {
            hint: "[keep [ID] | revoke ID]".to_owned(),
        }),
    });
    commands
}

/// Whether a prompt is this command, which the agent does not receive.
pub(crate) fn is_permissions_command(prompt: &[ContentBlock]) -> bool {
    words(prompt).next() == Some("/permissions")
}

fn words(prompt: &[ContentBlock]) -> impl Iterator<Item = &str> {
    let text = match prompt.first() {
        Some(ContentBlock::Text { text }) => text.as_str(),
        _ => "",
    };
    text.split_whitespace()
}

/// Answers the command instead of the agent.
pub(crate) struct PermissionsCommand;

#[async_trait]
impl Agent for PermissionsCommand {
    async fn turn(&self, cx: &mut TurnContext) -> Result<StopReason, AgentError> {
        let words: Vec<_> = words(cx.prompt()).skip(1).map(str::to_owned).collect();
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        let told = match words[..] {
            [] => show(cx).await,
            ["keep"] => keep(cx, None).await?,
            ["keep", id] => keep(cx, Some(id)).await?,
            ["revoke", id] => revoke(cx, id).await?,
            _ => "Write `/permissions`, `/permissions keep`, `/permissions keep ID` or \
                  `/permissions revoke ID`.\n"
                .to_owned(),
        };
        cx.say(told).await?;
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
    match cx.rules_text().await {
        Ok(rules) if rules.is_empty() => text.push_str("**Rules**: none beyond the mode's.\n\n"),
        Ok(rules) => text.push_str(&format!("**Rules**\n\n```toml\n{rules}```\n\n")),
        Err(error) => text.push_str(&format!("**Rules** cannot be read: {error}\n\n")),
    }
    let (session, lasting) = cx.grants().await;
    list(&mut text, "Remembered for this session", &session);
    match lasting {
        Ok(lasting) => list(&mut text, "Remembered for this workspace", &lasting),
        Err(error) => text.push_str(&format!("Remembered grants cannot be read: {error}\n")),
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
        text.push_str(&format!("- {}\n", describe_grant(grant)));
    }
    text.push('\n');
}

fn describe_grant(grant: &Grant) -> String {
    let verb = match grant.effect {
        GrantEffect::Allow => "allow",
        GrantEffect::Deny => "reject",
    };
    let what = harn_policy::describe_whole(grant);
    format!("`{}` {verb} {what} ({})", grant.id, grant.tool)
}

/// Moves one grant of the session, or all, to the workspace. A grant that cannot be stored stays with the session.
async fn keep(cx: &TurnContext, id: Option<&str>) -> Result<String, AgentError> {
    if !cx.can_remember() {
        return Ok("Grants cannot be kept here for longer than the session.\n".to_owned());
    }
    let (mut grants, _) = cx.grants().await;
    grants.retain(|grant| id.is_none_or(|id| grant.id == id));
    if grants.is_empty() {
        return Ok(match id {
            Some(id) => {
                format!("The session has no grant `{id}`; `/permissions` lists them.\n")
            }
            None => "Nothing is remembered for this session.\n".to_owned(),
        });
    }
    let mut text = String::new();
    for grant in grants {
        let (id, what) = (grant.id.clone(), describe_grant(&grant));
        match cx.keep_for_workspace(grant).await {
            Ok(()) => {
                text.push_str(&format!("Kept for this workspace: {what}\n\n"));
                let moved = AgentEvent::GrantRevoked { grant_id: id };
                cx.push(TurnItem::Event(moved)).await?;
            }
            Err(error) => {
                text.push_str(&format!("`{id}` applies to the session only: {error}\n\n"))
            }
        }
    }
    cx.flush().await?;
    Ok(text)
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
    Ok(match cx.revoke_stored_grant(id).await {
        Ok(true) => format!("Forgot `{id}` for this workspace.\n"),
        Ok(false) => format!("Unknown grant `{id}`; `/permissions` lists all.\n"),
        Err(error) => format!("No grant was forgotten: {error}\n"),
    })
}
