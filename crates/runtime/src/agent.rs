//! The trait that an agent author implements, and an agent's description of itself.

use async_trait::async_trait;
use harn_model::{ConfigOption, PromptSupport, SlashCommand, StopReason};

use crate::{AgentError, TurnContext};

/// An agent. One value serves every session; the state of a turn is in its [`TurnContext`].
///
/// ```
/// # mod harn_serve {
/// #     pub use harn_runtime::*;
/// #     pub use harn_runtime::model::*;
/// # }
/// use harn_serve::{Agent, AgentError, StopReason, TurnContext, async_trait};
///
/// struct Echo;
///
/// #[async_trait]
/// impl Agent for Echo {
///     async fn turn(&self, cx: &mut TurnContext) -> Result<StopReason, AgentError> {
///         cx.say(cx.prompt_text()).await?;
///         Ok(StopReason::EndTurn)
///     }
/// }
/// ```
#[async_trait]
pub trait Agent: Send + Sync + 'static {
    /// Returns its name and abilities. The runtime calls this once.
    fn profile(&self) -> AgentProfile {
        AgentProfile::default()
    }

    /// Works on one prompt until it is done. A message that is left when this returns becomes the prompt of another call
    /// in the same turn.
    ///
    /// An error fails the turn, except [`AgentError::Denied`] and [`AgentError::Unanswered`], which end it, and
    /// [`AgentError::Cancelled`].
    /// The runtime settles calls and questions that are still open when this returns.
    async fn turn(&self, cx: &mut TurnContext) -> Result<StopReason, AgentError>;
}

/// An agent's description of itself.
///
/// ```
/// # mod harn_serve {
/// #     pub use harn_runtime::*;
/// #     pub use harn_runtime::model::*;
/// # }
/// use harn_serve::AgentProfile;
///
/// let profile = AgentProfile {
///     name: "greeter".to_owned(),
///     title: "Greeter".to_owned(),
///     examples: vec!["Count the lines of README.md".to_owned()],
///     ..AgentProfile::default()
/// };
/// assert!(profile.follows_instructions);
/// ```
#[derive(Clone, Debug)]
pub struct AgentProfile {
    /// Its name, for machines.
    pub name: String,
    /// Its name, for people.
    pub title: String,
    /// Its version.
    pub version: String,
    /// The content it accepts in a prompt beyond text and links.
    pub prompt: PromptSupport,
    /// Slash commands a session starts with.
    pub commands: Vec<SlashCommand>,
    /// Options a session has.
    pub options: Vec<ConfigOption>,
    /// Prompts that show a new user what it does; a front-end offers them before the first prompt.
    pub examples: Vec<String>,
    /// Whether it follows instructions in a prompt. If not, an invoked skill's text is shown to the user
    /// instead of being sent to the agent.
    pub follows_instructions: bool,
}

impl Default for AgentProfile {
    fn default() -> Self {
        Self {
            name: "harn-serve".to_owned(),
            title: "Harn".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            prompt: PromptSupport::default(),
            commands: Vec::new(),
            options: Vec::new(),
            examples: Vec::new(),
            follows_instructions: true,
        }
    }
}
