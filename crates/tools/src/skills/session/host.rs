//! The host's skills: a list without texts, asked for once and whenever the host says that it changed, and each
//! skill whole when it is used.

use std::{
    collections::BTreeSet,
    sync::{Arc, atomic::Ordering},
};

use harn_model::{SkillRef, TurnId};
use harn_runtime::{AgentError, EquipmentChange, HostError, TurnContext, answer_within};

use super::{SessionSkills, lock, warn};
use crate::skills::{
    card::{Skill, SkillCard, SkillLayer, SkillOrigin, check_id},
    decode,
    error::SkillError,
    problem::{ProblemSeverity, SkillProblem},
    registry::{DiskSkills, SkillRegistry},
};

/// What finding skills is called in logs.
pub(super) const LOGGER: &str = "agent.skills";

/// How many skills are fetched before a ranking.
const MAX_FETCHES: usize = 32;

/// What the host has, as far as it is known.
#[derive(Default)]
pub(super) struct HostLayer {
    /// Whether it was asked.
    asked: bool,
    skills: Vec<Arc<Skill>>,
    problems: Vec<SkillProblem>,
    /// The turn in which it did not hand over a skill in time: it is not waited for again.
    silent: Option<TurnId>,
    /// The ids of those that were fetched since they were listed.
    fetched: BTreeSet<String>,
    /// The ids of those that were asked for in vain, to be ranked.
    missing: BTreeSet<String>,
}

impl HostLayer {
    /// Whether it adds nothing to what lies on this disk.
    pub(super) fn is_empty(&self) -> bool {
        self.skills.is_empty() && self.problems.is_empty()
    }

    /// All there is, the host's included.
    pub(super) fn on_top_of(&self, found: &DiskSkills) -> Arc<SkillRegistry> {
        Arc::new(found.registry(&self.skills, &self.problems))
    }

    /// Puts what was fetched in the place of what the list said.
    fn complete(&mut self, whole: &Arc<Skill>) {
        self.fetched.insert(whole.id.clone());
        let listed = self.skills.iter_mut().find(|skill| skill.id == whole.id);
        if let Some(listed) = listed {
            *listed = whole.clone();
        }
    }
}

impl SessionSkills {
    /// Asks the host for its list, where it has not been asked or said that it changed. One that fails is not
    /// asked again until it says so.
    pub(super) async fn look_at_host(&self, cx: &TurnContext) -> Result<(), AgentError> {
        let changed = self.host_changed.swap(false, Ordering::Relaxed);
        if !cx.host().client_offers().tools {
            lock(&self.state).host = HostLayer::default();
            return Ok(());
        }
        if lock(&self.state).host.asked && !changed {
            return Ok(());
        }
        let listed = match answer_within(
            self.config.deadlines.list,
            "skills/list",
            cx.host().list_skills(),
        )
        .await
        {
            Ok(listed) => listed,
            Err(_) if cx.is_cancelled() => return Err(AgentError::Cancelled),
            Err(HostError::Unsupported(_)) => Vec::new(),
            Err(error) => {
                let message = format!("the host's skills are left out: {error}");
                warn(cx, LOGGER, message).await?;
                Vec::new()
            }
        };
        let mut layer = HostLayer {
            asked: true,
            ..HostLayer::default()
        };
        for listed in listed {
            match skill(listed) {
                Ok((skill, problem)) => {
                    layer.skills.push(Arc::new(skill));
                    layer.problems.extend(problem);
                }
                Err(problem) => layer.problems.push(problem),
            }
        }
        let told = layer.problems.iter();
        // What cannot be used is told with the rest of its kind.
        for problem in told.filter(|problem| problem.severity == ProblemSeverity::Warning) {
            warn(cx, LOGGER, problem.to_string()).await?;
        }
        lock(&self.state).host = layer;
        Ok(())
    }

    /// A skill with all that its card says, and its text where that came along.
    pub(super) async fn whole(
        &self,
        cx: &TurnContext,
        skill: &Arc<Skill>,
    ) -> Result<(Arc<Skill>, Option<String>), SkillError> {
        let SkillOrigin::Host { id, source } = &skill.origin else {
            return Ok((skill.clone(), None));
        };
        let silent = lock(&self.state).host.silent.as_ref() == Some(cx.turn_id());
        let fetched = match silent {
            true => Err(HostError::TimedOut("skills/fetch")),
            false => {
                let fetched = cx.host().fetch_skill(id);
                answer_within(self.config.deadlines.skill, "skills/fetch", fetched).await
            }
        };
        let fetched = match fetched {
            Ok(fetched) => fetched,
            Err(_) if cx.is_cancelled() => return Err(AgentError::Cancelled.into()),
            Err(source) => {
                if matches!(source, HostError::TimedOut(_)) {
                    lock(&self.state).host.silent = Some(cx.turn_id().clone());
                }
                return Err(SkillError::Host {
                    id: skill.id.clone(),
                    source,
                });
            }
        };
        let mut decoded = decode::host(&fetched);
        let Some(card) = decoded.card.take() else {
            let wrong = decoded.problems.into_iter();
            let wrong = wrong.filter(|problem| problem.severity == ProblemSeverity::Error);
            let wrong: Vec<_> = wrong.map(|problem| problem.message).collect();
            return Err(SkillError::Refused {
                id: skill.id.clone(),
                reason: wrong.join("; "),
            });
        };
        let whole = Arc::new(Skill {
            id: skill.id.clone(),
            card: SkillCard {
                // An id that cannot be typed is no command, whatever the host says.
                user_invocable: card.user_invocable && skill.card.user_invocable,
                ..card
            },
            layer: SkillLayer::Host,
            origin: SkillOrigin::Host {
                id: id.clone(),
                source: source.clone(),
            },
        });
        lock(&self.state).host.complete(&whole);
        Ok((whole, Some(fetched.body)))
    }

    /// Fetches the cards of host skills that the list says too little of for a ranking. The turn waits meanwhile,
    /// so not for all of them at once, nor longer than for a list. A card that cannot be had stays as it was listed.
    pub(super) async fn fetch_cards(&self, cx: &TurnContext) -> Result<(), AgentError> {
        let mut unknown: Vec<_> = {
            let state = lock(&self.state);
            let skills = state.registry.skills().iter();
            let unknown = skills.filter(|skill| {
                let said = !skill.card.when_to_use.is_empty() && !skill.card.paths.is_empty();
                let asked = [&state.host.fetched, &state.host.missing];
                skill.layer == SkillLayer::Host
                    && !said
                    && !asked.iter().any(|it| it.contains(&skill.id))
            });
            unknown.take(MAX_FETCHES).cloned().collect()
        };
        if unknown.is_empty() {
            return Ok(());
        }
        let fetched = tokio::time::timeout(self.config.deadlines.list, async {
            while let Some(skill) = unknown.first() {
                match self.whole(cx, skill).await {
                    Ok(_) => {}
                    Err(SkillError::Turn(error)) => return Err(error),
                    Err(error) => {
                        tracing::debug!(%error, "the skill is ranked as the host lists it");
                        lock(&self.state).host.missing.insert(skill.id.clone());
                    }
                }
                unknown.remove(0);
            }
            Ok(())
        });
        fetched.await.unwrap_or(Ok(()))?;
        // Those that there was no time for: the next turn does not wait for them.
        let late = unknown.iter().map(|skill| skill.id.clone());
        lock(&self.state).host.missing.extend(late);
        if self.renew() {
            self.config.link.tell(EquipmentChange::Commands).await;
        }
        Ok(())
    }

    /// A skill that may become active by itself, whole; none if it may not, or cannot be had.
    pub(super) async fn for_models(
        &self,
        cx: &TurnContext,
        skill: &Arc<Skill>,
    ) -> Result<Option<Arc<Skill>>, AgentError> {
        let (active, fetched) = {
            let state = lock(&self.state);
            let fetched = state.host.fetched.contains(&skill.id);
            (state.active.contains(&skill.id), fetched)
        };
        if active {
            return Ok(Some(skill.clone()));
        }
        let whole = match fetched {
            // The registry has its card.
            true => Ok((skill.clone(), None)),
            false => self.whole(cx, skill).await,
        };
        match whole {
            Ok((skill, _)) => Ok((!skill.card.disable_model_invocation).then_some(skill)),
            Err(SkillError::Turn(error)) => Err(error),
            Err(error) => {
                warn(cx, LOGGER, error.to_string()).await?;
                Ok(None)
            }
        }
    }
}

/// The skill that a host's list names, and what is odd about it.
fn skill(listed: SkillRef) -> Result<(Skill, Option<SkillProblem>), SkillProblem> {
    let problem = |severity, message| SkillProblem {
        path: None,
        line: None,
        severity,
        message,
    };
    if listed.id.trim().is_empty() {
        let message = format!("a skill without an id is left out (name {:?})", listed.name);
        return Err(problem(ProblemSeverity::Error, message));
    }
    let untypable = check_id(&listed.id).err().map(|wrong| {
        let message = format!("{:?} is no slash command: {wrong}", listed.id);
        problem(ProblemSeverity::Warning, message)
    });
    let name = match listed.name.trim().is_empty() {
        true => listed.id.clone(),
        false => listed.name,
    };
    let mut card = SkillCard::named(name);
    let first_line = listed.description.lines().next();
    card.short = first_line.unwrap_or_default().to_owned();
    card.description = listed.description;
    card.when_to_use = listed.when_to_use.unwrap_or_default();
    card.paths = listed.paths.unwrap_or_default();
    card.user_invocable = untypable.is_none();
    let skill = Skill {
        id: listed.id.clone(),
        card,
        layer: SkillLayer::Host,
        origin: SkillOrigin::Host {
            id: listed.id,
            source: listed.source,
        },
    };
    Ok((skill, untypable))
}
