//! `/skills`: lists the skills of the session, or activates or ends one.

use harn_runtime::{AgentError, BoxFuture, TurnContext};
use harn_tools::skills::{SessionSkills, Skill, SkillError};

use super::{
    markdown::{code, shorten},
    toolbox,
};

/// The maximum length of a skill's description in the list, in characters.
const SAID: usize = 100;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum SkillRequest<'a> {
    List,
    Use(&'a str),
    Drop(&'a str),
}

impl<'a> SkillRequest<'a> {
    /// Parses the words after the command; `None` if they are invalid.
    pub(super) fn parse(words: &'a str) -> Option<Self> {
        let words: Vec<_> = words.split_whitespace().collect();
        match words[..] {
            [] => Some(Self::List),
            ["use", id] => Some(Self::Use(id)),
            ["drop", id] => Some(Self::Drop(id)),
            _ => None,
        }
    }
}

pub(super) fn answer<'a>(
    cx: &'a TurnContext,
    wanted: SkillRequest<'a>,
) -> BoxFuture<'a, Result<(), AgentError>> {
    Box::pin(async move {
        let toolbox = toolbox(cx);
        let Some(skills) = toolbox.skills() else {
            return cx.say("This session has no skills.").await;
        };
        let done = match wanted {
            SkillRequest::List => return cx.say(list(skills)).await,
            SkillRequest::Use(id) => {
                let used = skills.activate(cx, id, "the user asked for it").await;
                used.map(|()| format!("{} is active.", code(id)))
            }
            SkillRequest::Drop(id) => {
                let dropped = skills.deactivate(cx, id).await;
                dropped.map(|()| format!("{} is no longer active.", code(id)))
            }
        };
        match done {
            Ok(said) => cx.say(said).await,
            Err(SkillError::Turn(error)) => Err(error),
            Err(error) => cx.say(format!("Nothing was done: {error}.")).await,
        }
    })
}

fn list(skills: &SessionSkills) -> String {
    let registry = skills.registry();
    let active = skills.active();
    let is_active = |skill: &Skill| active.iter().any(|it| it.id == skill.id);
    let mut out = match registry.skills() {
        [] => "No skills found; `harn-serve skills list` shows the searched folders.\n".to_owned(),
        _ => "Skills (`/skills use ID` activates one, `/skills drop ID` ends it):\n\n".to_owned(),
    };
    for skill in registry.skills() {
        out.push_str(&item(skill, is_active(skill)));
    }
    let hidden = registry.shadowed().len();
    if hidden > 0 {
        let are = if hidden == 1 { "is" } else { "are" };
        out.push_str(&format!(
            "\n{hidden} more {are} hidden by another of the same name.\n"
        ));
    }
    for problem in registry.problems() {
        out.push_str(&format!("\nNote: {problem}\n"));
    }
    out
}

/// Formats one skill as one line.
fn item(skill: &Skill, active: bool) -> String {
    let active = if active { ", active" } else { "" };
    let about = match shorten(skill.purpose(), SAID) {
        about if about.is_empty() => about,
        about => format!(": {about}"),
    };
    let layer = skill.layer.as_str();
    format!("- {} ({layer}{active}){about}\n", code(&skill.id))
}
