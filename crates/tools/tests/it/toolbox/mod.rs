//! A session's toolbox: what it lists, which calls ask, and what its tools do.

mod commands;
mod desk;
mod fetching;
mod files;
mod lent;
mod rig;
mod searching;
mod servers;
mod shells;
mod skills;
