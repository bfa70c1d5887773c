//! The script engine through its public interface: files that load, files that are rejected, turns that play.

mod files;
mod people;
mod play;
mod refuse;
mod rig;
mod steering;
mod workers;
