//! Parses `--engine`, which names the agent to serve.

use std::{path::PathBuf, str::FromStr, sync::Arc};

use anyhow::{Result, anyhow};
use harn_engines::{ExploreAgent, ScriptAgent};
use harn_runtime::Agent;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum EngineChoice {
    /// Answers questions about a workspace.
    #[default]
    Explore,
    Script(PathBuf),
}

impl EngineChoice {
    /// Creates the agent. Reads and checks a scenario here, so that a wrong one is rejected before a client
    /// relies on it.
    pub(super) fn load(&self) -> Result<Arc<dyn Agent>> {
        Ok(match self {
            Self::Explore => Arc::new(ExploreAgent::new()),
            Self::Script(file) => {
                // The error names the file and the position in it.
                let agent =
                    ScriptAgent::load(file).map_err(|error| anyhow!("--engine: {error}"))?;
                Arc::new(agent)
            }
        })
    }
}

impl FromStr for EngineChoice {
    type Err = &'static str;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        match word.split_once(':') {
            None if word == "explore" => Ok(Self::Explore),
            Some(("script", file)) if !file.is_empty() => Ok(Self::Script(file.into())),
            _ => Err("known engines: explore, script:FILE"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engine_choice_parses_names_and_rejects_others() {
        let parse = EngineChoice::from_str;
        assert_eq!(parse("explore"), Ok(EngineChoice::Explore));
        let file = EngineChoice::Script("C:\\tour.yaml".into());
        assert_eq!(parse("script:C:\\tour.yaml"), Ok(file));
        for wrong in ["", "llm", "script", "script:", "explore:"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
