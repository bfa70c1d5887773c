//! The script engine through its public interface: files that load, files that are rejected, turns that play.

mod files;
mod hitl;
mod invalid_files;
mod play;
mod steering;
mod test_session;
mod workers;
