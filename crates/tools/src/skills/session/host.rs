//! The host's skills: a list without texts, requested once and after each change, and each whole skill when it is
//! used.

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

/// The logger name for finding skills.
pub(super) const LOGGER: &str = "agent.skills";

/// How many skills are fetched before a ranking.
const MAX_FETCHES: usize = 32;

/// The skills of the host, as far as they are known.
#[derive(Default)]
pub(super) struct HostLayer {
    /// Whether the list was requested.
    asked: bool,
    skills: Vec<Arc<Skill>>,
    problems: Vec<SkillProblem>,
    /// The turn in which a fetch timed out; later fetches in that turn fail at once.
    silent: Option<TurnId>,
    /// The ids of the skills that were fetched since the list.
    fetched: BTreeSet<String>,
    /// The ids of the skills whose card could not be fetched for a ranking.
    missing: BTreeSet<String>,
}

impl HostLayer {
    /// Whether the host adds nothing to the skills on disk.
    pub(super) fn is_empty(&self) -> bool {
        self.skills.is_empty() && self.problems.is_empty()
    }

    /// Builds the registry of the disk's and the host's skills.
    pub(super) fn merge_with(&self, found: &DiskSkills) -> Arc<SkillRegistry> {
        Arc::new(found.build_registry(&self.skills, &self.problems))
    }

    /// Replaces a listed skill by the fetched one.
    fn complete(&mut self, whole: &Arc<Skill>) {
        self.fetched.insert(whole.id.clone());
        let listed = self.skills.iter_mut().find(|skill| skill.id == whole.id);
        if let Some(listed) = listed {
            *listed = whole.clone();
        }
    }
}

impl SessionSkills {
    /// Requests the host's list if it was never requested or has changed. After a failure, the list is requested again
    /// only when the host reports a change.
    pub(super) async fn refresh_host_list(&self, cx: &TurnContext) -> Result<(), AgentError> {
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
            match skill_from_list(listed) {
                Ok((skill, problem)) => {
                    layer.skills.push(Arc::new(skill));
                    layer.problems.extend(problem);
                }
                Err(problem) => layer.problems.push(problem),
            }
        }
        let told = layer.problems.iter();
        // Errors are reported later, together with those of the disk.
        for problem in told.filter(|problem| problem.severity == ProblemSeverity::Warning) {
            warn(cx, LOGGER, problem.to_string()).await?;
        }
        lock(&self.state).host = layer;
        Ok(())
    }

    /// Returns a skill with its full card, and its text if the host sent it along.
    pub(super) async fn fetch_whole(
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
        let mut decoded = decode::decode_host_skill(&fetched);
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
                // An id that cannot be typed is no command, even if the host allows it.
                user_invocable: card.user_invocable && skill.card.user_invocable,
                ..card
            },
            layer: SkillLayer::Host,
            origin: SkillOrigin::Host {
                id: id.clone(),
                source: source.clone(),
            },
            hash: None,
        });
        lock(&self.state).host.complete(&whole);
        Ok((whole, Some(fetched.body)))
    }

    /// Fetches the cards of host skills whose list entry has too little for a ranking. The turn waits meanwhile, so
    /// the number and the time are limited. A card that cannot be fetched stays as listed.
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
                match self.fetch_whole(cx, skill).await {
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
        // Skills that there was no time for: the next turn does not wait for them.
        let late = unknown.iter().map(|skill| skill.id.clone());
        lock(&self.state).host.missing.extend(late);
        if self.rebuild_registry() {
            self.config.link.report(EquipmentChange::Commands).await;
        }
        Ok(())
    }

    /// Returns a skill that may activate by itself, with its full card; `None` if it may not or cannot be fetched.
    pub(super) async fn fetch_for_models(
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
            // The registry has the fetched card.
            true => Ok((skill.clone(), None)),
            false => self.fetch_whole(cx, skill).await,
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

/// Converts an entry of the host's list into a skill, with a warning if its id cannot be typed.
fn skill_from_list(listed: SkillRef) -> Result<(Skill, Option<SkillProblem>), SkillProblem> {
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
        let message = format!("{:?} is not a slash command: {wrong}", listed.id);
        problem(ProblemSeverity::Warning, message)
    });
    let name = match listed.name.trim().is_empty() {
        true => listed.id.clone(),
        false => listed.name,
    };
    let mut card = SkillCard::with_name(name);
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
        hash: None,
    };
    Ok((skill, untypable))
}
