//! From events to what clients see. Pure: no clock, no disk, nothing is waited for.

pub(crate) mod output;
