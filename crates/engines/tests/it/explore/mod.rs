//! The explore engine on small workspaces: questions, commands, permissions, and no process left running.

mod commands;
mod explore_all;
mod hosts;
mod permissions;
mod questions;
mod run;
mod test_session;
mod tools;
mod watch;
