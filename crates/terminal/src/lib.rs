//! The clients that run in a terminal, and the output helpers of all commands.
//!
//! [`attach`] joins a session of a server; [`run`] sends one prompt to an agent in this process. Both are ACP
//! clients. They own the screen and the keyboard; the caller passes in the connection to the agent, the clock and
//! the environment.

#[cfg(feature = "clients")]
mod agent_messages;
#[cfg(feature = "clients")]
pub mod attach;
pub mod console;
pub mod paint;
#[cfg(feature = "clients")]
pub mod run;
pub mod server_session;
pub mod session_ids;
pub mod signals;
pub mod text;
