//! A client a wire. Each knows its own wire and nothing of what is played.

mod acp;
mod openharness;
mod state;
mod threads;

pub(crate) use acp::Acp;
pub(crate) use openharness::OpenHarness;
pub(crate) use state::State;
pub(crate) use threads::Threads;
