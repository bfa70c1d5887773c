//! A client a wire. Each knows its own wire and nothing of what is played.

mod acp;

pub(crate) use acp::Acp;
