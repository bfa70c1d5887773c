//! One client per wire. Each knows only its own wire and no scenario.

mod acp;
mod openharness;
mod state;
mod threads;

pub(crate) use acp::Acp;
pub(crate) use openharness::OpenHarness;
pub(crate) use state::State;
pub(crate) use threads::Threads;
