//! `script`: an agent that plays a scenario file, so that hosts and fixtures can exercise everything that an agent
//! can do. The format is in `docs/scenarios.md`.

mod action;
mod decode;
mod error;
mod hitl;
mod player;
mod scenario;
mod scenario_workers;
mod steering;
mod turn_workers;
mod typed_yaml;

use std::{io, path::Path};

use async_trait::async_trait;
use harn_model::{PromptSupport, StopReason};
use harn_runtime::{Agent, AgentError, AgentProfile, TurnContext};
use harn_tools::{
    LinkPolicy, read_regular_file,
    yaml::{YamlFault, YamlPosition},
};

pub use error::ScenarioError;
use scenario::Scenario;

/// Applies a setting to a builder if there is a value for it.
fn apply_if_some<B, T>(builder: B, given: Option<T>, say: impl FnOnce(B, T) -> B) -> B {
    match given {
        Some(it) => say(builder, it),
        None => builder,
    }
}

/// An agent that plays a scenario: the first turn that matches a prompt.
#[derive(Debug)]
pub struct ScriptAgent {
    scenario: Scenario,
}

const MAX_BYTES: usize = 1024 * 1024;

impl ScriptAgent {
    /// Reads a scenario file.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, ScenarioError> {
        let path = path.as_ref();
        let name = path.display().to_string();
        let bytes = match read_regular_file(path, LinkPolicy::Follow, MAX_BYTES as u64) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {
                return Err(ScenarioError::TooLarge { file: name });
            }
            Err(source) => {
                let path = path.to_owned();
                return Err(ScenarioError::Read { path, source });
            }
        };
        match std::str::from_utf8(&bytes) {
            Ok(text) => Self::parse(&name, text),
            Err(error) => {
                let fault = YamlFault::new(
                    YamlPosition::end_of(&bytes[..error.valid_up_to()]),
                    "this is not UTF-8 text",
                );
                Err(ScenarioError::invalid(&name, fault))
            }
        }
    }

    /// Reads a scenario from its text. `name` is the name of the file in errors.
    pub fn parse(name: &str, text: &str) -> Result<Self, ScenarioError> {
        if text.len() > MAX_BYTES {
            let file = name.to_owned();
            return Err(ScenarioError::TooLarge { file });
        }
        match decode::scenario(text) {
            Ok(scenario) => Ok(Self { scenario }),
            Err(fault) => Err(ScenarioError::invalid(name, fault)),
        }
    }

    /// Returns the reply to a prompt that no turn matches.
    fn describe_no_match(&self, prompt: &str) -> String {
        const WORDS: usize = 8;
        let mut words = prompt.split_whitespace();
        let mut start = words.by_ref().take(WORDS).collect::<Vec<_>>().join(" ");
        if words.next().is_some() {
            start.push_str(" …");
        }
        let turns = self.scenario.turns.iter();
        let patterns = turns.filter_map(|turn| turn.pattern.as_ref());
        let patterns: Vec<_> = patterns.map(|p| format!("`{p}`")).collect();
        format!(
            "The scenario {:?} has no turn for {start:?}. Its turns match {}.",
            self.scenario.name,
            patterns.join(", ")
        )
    }
}

#[async_trait]
impl Agent for ScriptAgent {
    fn profile(&self) -> AgentProfile {
        let scenario = &self.scenario;
        AgentProfile {
            name: scenario.name.clone(),
            title: scenario.name.clone(),
            prompt: PromptSupport {
                image: true,
                audio: true,
                embedded: true,
            },
            commands: scenario.commands.clone(),
            options: scenario.options.clone(),
            ..AgentProfile::default()
        }
    }

    async fn turn(&self, cx: &mut TurnContext) -> Result<StopReason, AgentError> {
        let prompt = cx.prompt_text();
        let turn = self
            .scenario
            .turns
            .iter()
            .find(|turn| turn.matches_prompt(&prompt));
        match turn {
            Some(turn) => player::play(&turn.steps, &self.scenario.cast, cx).await,
            None => {
                cx.say(self.describe_no_match(&prompt)).await?;
                Ok(StopReason::EndTurn)
            }
        }
    }
}
