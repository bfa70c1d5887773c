//! The composition root: parts are put together here and nowhere else.
//!
//! An agent author implements [`Agent`] and calls [`acp_stdio`], or [`threads_stdio`]; who has a runtime of their own takes a
//! [`hub`] and brings the connections. Clock, ids, environment and paths enter the project through this
//! crate. It knows no protocol beyond whom to hand a stream to.
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
mod server_runtime;
mod session_store;
mod skill_places;
mod stdio;
mod trust;

#[cfg(feature = "port")]
pub use net::{ListenOptions, listen};
pub use options::{ServeOptions, chosen_host_call_timeout, default_config_dir, default_state_dir};
pub use ports::{RandomIds, SystemClock};
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
