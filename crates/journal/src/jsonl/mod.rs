//! Sessions as folders of JSON lines: `<state>/threads/<id>/{meta.json,events.jsonl}`.
//!
//! One line is one event, and its number is the event's `Seq`. All code that knows a path, a line or a lock is in
//! this module.

mod checksum;
mod disk;
mod file_stamp;
mod index_entry;
mod index_file;
mod line;
mod lock;
mod log;
mod log_file;
mod meta;
mod open_mark;
mod prompt_search;
mod reader;
mod repair;
mod scan;
mod session_index;
mod store;
mod text_chunk;

pub use line::FORMAT_VERSION;
pub use meta::META_VERSION;
pub(crate) use prompt_search::is_prompt;
pub use store::JsonlStore;
