//! The script engine as its users meet it: files that load, files that are refused, turns that play.

mod files;
mod people;
mod play;
mod refuse;
mod rig;
mod steering;
mod workers;
