//! Shared pieces of the tests over the whole stack: the binary they start, where transcripts are kept and
//! how they are compared.

// Dependencies for their features alone; tests/Cargo.toml gives the reason.
use agent_client_protocol as _;
use schema_1 as _;

mod audience;
mod binary;
mod page;

pub use audience::{Audience, Heard};
pub use binary::binary;
pub use page::{Page, Told};

use std::path::{Path, PathBuf};

use harn_testkit::{Recorder, golden};
use serde_json::{Map, Value, json};

/// What to run when a transcript or a schema should change.
pub const REPAIR: &str = "UPDATE_EXPECT=1 cargo test -p harn-tests";

/// A folder of the repository.
#[must_use]
pub fn repository(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("..")
        .join(folder)
}

/// Compares what was recorded with `fixtures/acp/<name>.jsonl`.
///
/// # Panics
///
/// When they differ.
#[track_caller]
pub fn check_transcript(name: &str, recorder: &Recorder) {
    let path = repository("fixtures/acp").join(format!("{name}.jsonl"));
    golden::check(&path, &recorder.transcript(), REPAIR);
}

/// The params of an `initialize` of a client that offers nothing, with these members of
/// `clientCapabilities._meta.harn`.
#[must_use]
pub fn hello(wishes: &Map<String, Value>) -> Value {
    let mut capabilities = json!({});
    if !wishes.is_empty() {
        capabilities["_meta"] = json!({"harn": wishes});
    }
    json!({
        "protocolVersion": 1,
        "clientCapabilities": capabilities,
        "clientInfo": {"name": "strict", "version": "0.0.0"},
    })
}
