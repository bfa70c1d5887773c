//! The clients that run in a terminal, and what every command of the program prints with.
//!
//! [`attach`] joins a session that lives in a server; [`run`] sends one prompt to an agent in this process. Both are
//! ACP clients. They own the screen and the keyboard, and nothing of the agent: the connection to it, the clock and
//! the environment are passed in.

#[cfg(feature = "clients")]
pub mod attach;
pub mod console;
pub mod listed;
pub mod paint;
#[cfg(feature = "clients")]
mod reading;
#[cfg(feature = "clients")]
pub mod run;
pub mod session_ids;
pub mod signals;
pub mod text;
