//! Matches skills with the prompt, ranked here or by the host, and activates the best. Events are emitted in the order
//! that clients are promised.

use std::{path::Path, sync::Arc};

use harn_model::{AgentEvent, SkillCandidate, SkillMatch, SkillMatchRequest, SkillToMatch};
use harn_runtime::{AgentError, BoxFuture, HostError, TurnContext, answer_within};

use super::{SessionSkills, active::ActivationCause, lock, slash_commands::parse_command, warn};
use crate::skills::{card::Skill, glob, rank::rank, registry::SkillRegistry};

/// The logger name for matching.
const LOGGER: &str = "agent.skill_match";
/// How many candidates the event lists.
const MAX_TOLD: usize = 64;
/// How many files in use are remembered.
const MAX_FILES: usize = 64;

/// The settings for matching skills.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SkillMatching {
    /// The strategy of the ranking.
    pub strategy: SkillMatchStrategy,
    /// How many of the best become active.
    pub top_n: usize,
    /// Whether matched skills stay active; otherwise they are matched again at each iteration.
    pub sticky: bool,
}

impl Default for SkillMatching {
    fn default() -> Self {
        Self {
            strategy: SkillMatchStrategy::Metadata,
            top_n: 1,
            sticky: true,
        }
    }
}

/// The strategies for ranking skills.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SkillMatchStrategy {
    /// Ranking by their cards, in this process.
    Metadata,
    /// Ranking by the host.
    Host,
    /// Ranking by the host, under another name.
    Embedding,
}

impl SkillMatchStrategy {
    /// Returns its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Metadata => "metadata",
            Self::Host => "host",
            Self::Embedding => "embedding",
        }
    }

    /// Returns the strategy with this name. An unknown name returns the default and a warning.
    pub fn from_name(name: &str) -> (Self, Option<String>) {
        let all = [Self::Metadata, Self::Host, Self::Embedding];
        match all.into_iter().find(|one| one.as_str() == name) {
            Some(strategy) => (strategy, None),
            None => {
                let known = all.map(Self::as_str).join(", ");
                let warning = format!(
                    "{LOGGER}: unknown strategy {name:?}, using metadata; known strategies: {known}"
                );
                (Self::Metadata, Some(warning))
            }
        }
    }
}

impl SessionSkills {
    /// Ranks the skills and activates the best. Emits no event if there are no skills, or if the prompt is a slash
    /// command and no file in use matches.
    pub(super) async fn match_pass(
        &self,
        cx: &TurnContext,
        reassess: bool,
    ) -> Result<(), AgentError> {
        let command = parse_command(cx.prompt());
        // The command of a skill is the user's choice.
        let chosen = command.is_some_and(|(name, _)| self.is_command(name));
        if self.registry().skills().is_empty() || chosen {
            return Ok(());
        }
        match self.config.matching.strategy {
            SkillMatchStrategy::Host | SkillMatchStrategy::Embedding if command.is_none() => {
                self.fetch_cards(cx).await?;
            }
            SkillMatchStrategy::Host
            | SkillMatchStrategy::Embedding
            | SkillMatchStrategy::Metadata => {}
        }
        let (registry, working_files) = {
            let state = lock(&self.state);
            (state.registry.clone(), state.working_files.clone())
        };
        let (strategy, ranked) = match command {
            None => self.rank_candidates(cx, &registry, &working_files).await?,
            // The words of a command do not describe the work; the files in use still do.
            Some(_) => (
                SkillMatchStrategy::Metadata,
                rank_by_cards(&registry, "", &working_files),
            ),
        };
        if command.is_some() && ranked.is_empty() {
            return Ok(());
        }
        cx.emit(AgentEvent::SkillMatched(Box::new(SkillMatch {
            strategy: strategy.as_str().to_owned(),
            iteration: cx.iteration(),
            reassess,
            candidates: ranked.iter().take(MAX_TOLD).cloned().collect(),
            working_files,
        })))
        .await?;
        let chosen = self.choose(cx, &registry, &ranked).await?;
        if !self.config.matching.sticky {
            let leavers: Vec<_> = {
                let state = lock(&self.state);
                let stays = |skill: &Arc<Skill>| chosen.iter().any(|(one, _)| one.id == skill.id);
                let leavers = state.active.matched_skills().filter(|skill| !stays(skill));
                leavers.map(|skill| skill.id.clone()).collect()
            };
            for id in leavers {
                self.make_inactive(cx, &id).await?;
            }
        }
        for (skill, reason) in chosen {
            self.make_active(cx, skill, ActivationCause::Matched, &reason)
                .await?;
        }
        Ok(())
    }

    /// Ranks the skills. Returns the strategy that was used and the candidates.
    async fn rank_candidates(
        &self,
        cx: &TurnContext,
        registry: &SkillRegistry,
        working_files: &[String],
    ) -> Result<(SkillMatchStrategy, Vec<SkillCandidate>), AgentError> {
        let prompt = cx.prompt_text();
        let strategy = self.config.matching.strategy;
        match strategy {
            SkillMatchStrategy::Metadata => {}
            SkillMatchStrategy::Host | SkillMatchStrategy::Embedding => {
                let request = build_request(strategy, &prompt, registry, working_files);
                let ranked = cx.host().match_skills(request);
                match answer_within(self.config.deadlines.list, "skill/match", ranked).await {
                    Ok(matches) => return Ok((strategy, filter_known(registry, matches))),
                    Err(_) if cx.is_cancelled() => return Err(AgentError::Cancelled),
                    Err(error) => {
                        let message = ranking_failure(&error);
                        warn(cx, LOGGER, message).await?;
                    }
                }
            }
        }
        let ranked = rank_by_cards(registry, &prompt, working_files);
        Ok((SkillMatchStrategy::Metadata, ranked))
    }

    /// Returns the best skills that may become active, with full cards and reasons.
    async fn choose(
        &self,
        cx: &TurnContext,
        registry: &SkillRegistry,
        ranked: &[SkillCandidate],
    ) -> Result<Vec<(Arc<Skill>, String)>, AgentError> {
        let mut chosen = Vec::new();
        for candidate in ranked {
            if chosen.len() >= self.config.matching.top_n {
                break;
            }
            let Some(skill) = registry.get(&candidate.name) else {
                continue;
            };
            if lock(&self.state).dismissed.contains(&skill.id) {
                continue;
            }
            if let Some(skill) = self.fetch_for_models(cx, skill).await? {
                chosen.push((skill, candidate.reason.clone()));
            }
        }
        Ok(chosen)
    }

    /// Records a file that is read as in use, and activates skills whose globs match it.
    pub fn note_file<'a>(
        &'a self,
        cx: &'a TurnContext,
        path: &'a Path,
    ) -> BoxFuture<'a, Result<(), AgentError>> {
        Box::pin(async move {
            if !self.is_own(cx) {
                return Ok(());
            }
            let file = Self::file_name(cx, path);
            let fitting: Vec<_> = {
                let mut state = lock(&self.state);
                state.working_files.retain(|known| *known != file);
                state.working_files.push(file.clone());
                let surplus = state.working_files.len().saturating_sub(MAX_FILES);
                state.working_files.drain(..surplus);
                let skills = state.registry.skills().iter();
                let skills = skills.filter(|skill| {
                    !skill.card.disable_model_invocation
                        && !state.active.contains(&skill.id)
                        && !state.dismissed.contains(&skill.id)
                });
                let fitting = skills.filter_map(|skill| {
                    let glob = skill.card.paths.iter();
                    let glob = glob.into_iter().find(|glob| glob::matches(glob, &file))?;
                    Some((skill.clone(), glob.clone()))
                });
                fitting.collect()
            };
            for (skill, glob) in fitting {
                let reason = format!("{file} matches {glob}");
                self.make_active(cx, skill, ActivationCause::Matched, &reason)
                    .await?;
            }
            Ok(())
        })
    }
}

fn rank_by_cards(
    registry: &SkillRegistry,
    prompt: &str,
    working_files: &[String],
) -> Vec<SkillCandidate> {
    let skills = registry.skills().iter().map(|skill| &**skill);
    rank(skills, prompt, working_files)
}

/// Returns a complete sentence about a failed ranking by the host, whose own message may be just "no".
fn ranking_failure(error: &HostError) -> String {
    let why = match error {
        HostError::Denied(said) => format!("the host refused to rank the skills: {said:?}"),
        HostError::Host(why) | HostError::Failed(why) => {
            format!("the host did not rank the skills: {why}")
        }
        HostError::Unsupported(_) | HostError::TimedOut(_) => error.to_string(),
    };
    format!("{why}; they are ranked by metadata instead")
}

fn build_request(
    strategy: SkillMatchStrategy,
    prompt: &str,
    registry: &SkillRegistry,
    working_files: &[String],
) -> SkillMatchRequest {
    let skills = registry.skills().iter();
    let skills = skills.filter(|skill| !skill.card.disable_model_invocation);
    let candidate = |skill: &Arc<Skill>| SkillToMatch {
        name: registry.display_name(&skill.id).to_owned(),
        description: skill.purpose().to_owned(),
        when_to_use: skill.card.when_to_use.clone(),
        paths: skill.card.paths.clone(),
    };
    SkillMatchRequest {
        strategy: strategy.as_str().to_owned(),
        prompt: prompt.to_owned(),
        working_files: working_files.to_vec(),
        candidates: skills.map(candidate).collect(),
    }
}

/// Filters the host's ranking to skills it was asked about: each once, by id, the best first.
fn filter_known(registry: &SkillRegistry, matches: Vec<SkillCandidate>) -> Vec<SkillCandidate> {
    let mut known: Vec<SkillCandidate> = Vec::new();
    for candidate in matches {
        let skill = registry.find(&candidate.name);
        let skill = skill.filter(|skill| !skill.card.disable_model_invocation);
        let Some(skill) = skill.filter(|_| candidate.score.is_finite()) else {
            continue;
        };
        if !known.iter().any(|one| one.name == skill.id) {
            known.push(SkillCandidate {
                name: skill.id.clone(),
                score: candidate.score.max(0.0),
                reason: candidate.reason,
            });
        }
    }
    known.sort_by(|a, b| b.score.total_cmp(&a.score));
    known
}
