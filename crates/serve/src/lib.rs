//! Runs an agent and serves it to every host: editors over the Agent Client Protocol (ACP), terminals, browsers and scripts.
//!
//! Implement [`Agent`] and pass it to [`acp_stdio`]:
//!
//! ```no_run
//! use harn_serve::{Agent, AgentError, StopReason, TurnContext, async_trait};
//!
//! struct Echo;
//!
//! #[async_trait]
//! impl Agent for Echo {
//!     async fn turn(&self, cx: &mut TurnContext) -> Result<StopReason, AgentError> {
//!         cx.say(cx.prompt_text()).await?;
//!         Ok(StopReason::EndTurn)
//!     }
//! }
//!
//! fn main() -> harn_serve::Result<()> {
//!     harn_serve::acp_stdio(Echo)
//! }
//! ```
//!
//! An agent author needs these types:
//!
//! | type | use |
//! |---|---|
//! | [`Agent`] | the trait that you implement; one value serves every session |
//! | [`AgentProfile`] | the name, commands, options and examples of your agent |
//! | [`TurnContext`] | one turn: its prompt, and everything that the agent can do in it |
//! | [`ToolBuilder`] | declares a tool call, which the permission rules then judge |
//! | [`ToolHandle`] | an allowed call: run it, show output, complete or fail it |
//! | [`Host`] | the files and commands of the client, or else of this machine |
//! | [`SteeringDelivery`] | the messages that a user sent during the turn, at a [`Seam`] |
//! | [`IdleWait`] | waits for the next message, a timer or an event instead of ending the turn |
//! | [`AgentError`] | ends a turn early; pass it on with `?` |
//! | [`ServeOptions`] | directories, rules, mode and deadlines of the server |
//!
//! [`threads_stdio`] serves threads and turns instead of ACP, and [`listen`] serves on a port. A program with its own runtime takes
//! a [`hub`] and brings the connections.
//!
//! This crate is the composition root: clock, ids, environment and paths enter the project here. It knows no protocol beyond the
//! front-end that gets a stream.

#![cfg_attr(
    not(feature = "cli"),
    allow(dead_code, reason = "the commands of the program use the rest")
)]

#[cfg(feature = "cli")]
pub mod cli;
mod limits;
#[cfg_attr(not(feature = "port"), path = "net_absent.rs")]
mod net;
mod options;
mod ports;
mod private;
mod rules;
mod sandbox;
mod server_runtime;
mod session_store;
mod skill_places;
mod stdio;
mod trust;

#[cfg(feature = "port")]
pub use net::{ListenOptions, listen};
pub use options::{ServeOptions, chosen_host_call_timeout, default_config_dir, default_state_dir};
pub use ports::{RandomIds, SystemClock};
pub use sandbox::{SandboxMode, dispatch_sandbox_helper};
pub use server_runtime::hub;
#[cfg(feature = "port")]
pub use stdio::acp_stdio_and_listen;
pub use stdio::{acp_stdio, acp_stdio_with};
#[cfg(feature = "threads")]
pub use stdio::{threads_stdio, threads_stdio_with};

pub use anyhow::{Error, Result};
pub use harn_acp::{HostBridgeChoice, ProfileChoice, TerminalAuth};
pub use harn_model::{
    AgentEvent, CommandInput, ConfigChoice, ConfigOption, ContentBlock, Decision, ErrorCategory,
    PlanEntry, PlanEntryStatus, PlanPriority, PromptSupport, SlashCommand, StopReason,
    SystemReminder, ToolContent, ToolKind, Usage, WakeReason,
};
pub use harn_policy::{PolicyError, PolicyRule, RuleMatcher, SessionMode, ToolApprovalPolicy};
pub use harn_runtime::{
    Agent, AgentError, AgentProfile, CommandExit, CommandSink, CommandSpec, Host, HostError, Hub,
    IdleOutcome, IdleWait, Seam, Steering, SteeringDelivery, ToolBuilder, ToolError, ToolHandle,
    ToolOutput, TurnContext, async_trait,
};
pub use harn_tools::{
    Catalogue, Toolbox,
    skills::{SkillMatching, SkillPlaces},
    tool_search::ToolSearchOptions,
};
