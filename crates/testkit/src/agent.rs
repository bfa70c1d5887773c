//! An agent whose turns are a closure.

use std::future::Future;

use async_trait::async_trait;
use futures::future::BoxFuture;
use harn_model::{ConfigOption, PromptSupport, SlashCommand, StopReason};
use harn_runtime::{Agent, AgentError, AgentProfile, TurnContext};

type TurnClosure =
    dyn Fn(TurnContext) -> BoxFuture<'static, Result<StopReason, AgentError>> + Send + Sync;

/// An agent that calls a closure for every turn.
pub struct ScriptedAgent {
    profile: AgentProfile,
    turn: Box<TurnClosure>,
}

impl ScriptedAgent {
    /// Returns an agent that calls `turn` in every turn. Its version never changes, so that fixtures stay valid
    /// after a release.
    pub fn new<F, Fut>(turn: F) -> Self
    where
        F: Fn(TurnContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<StopReason, AgentError>> + Send + 'static,
    {
        Self {
            profile: AgentProfile {
                name: "scripted".to_owned(),
                title: "Scripted".to_owned(),
                version: "0.0.0".to_owned(),
                ..AgentProfile::default()
            },
            turn: Box::new(move |cx| Box::pin(turn(cx))),
        }
    }

    /// Returns an agent that ends every turn at once.
    pub fn silent() -> Self {
        Self::new(|_| async { Ok(StopReason::EndTurn) })
    }

    /// Sets the slash commands.
    #[must_use]
    pub fn commands(mut self, commands: Vec<SlashCommand>) -> Self {
        self.profile.commands = commands;
        self
    }

    /// Sets the agent's own options.
    #[must_use]
    pub fn options(mut self, options: Vec<ConfigOption>) -> Self {
        self.profile.options = options;
        self
    }

    /// Sets the content that the agent accepts in a prompt besides text and links.
    #[must_use]
    pub fn prompt_support(mut self, prompt: PromptSupport) -> Self {
        self.profile.prompt = prompt;
        self
    }
}

#[async_trait]
impl Agent for ScriptedAgent {
    fn profile(&self) -> AgentProfile {
        self.profile.clone()
    }

    async fn turn(&self, cx: &mut TurnContext) -> Result<StopReason, AgentError> {
        (self.turn)(cx.clone()).await
    }
}
