//! The explore engine on small workspaces: questions, commands, permissions, and no process left running.

mod all;
mod commands;
mod hosts;
mod permissions;
mod questions;
mod rig;
mod running;
mod tools;
mod watching;
