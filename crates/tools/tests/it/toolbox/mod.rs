//! A session's toolbox: what it lists, which calls ask, and what its tools do.

mod commands;
mod fake_host;
mod fetching;
mod files;
mod host_tools;
mod searching;
mod servers;
mod shells;
mod skills;
mod support;
