//! Shared parts of the tests over the whole stack: the binary they start, the folder of the transcripts and the
//! comparison with them.

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

/// The command that rewrites transcripts and schemas.
pub const REPAIR: &str = "UPDATE_EXPECT=1 cargo test -p harn-tests";

/// Returns the path of a folder of the repository.
#[must_use]
pub fn repository_path(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("..")
        .join(folder)
}

/// Compares the recorded messages with `fixtures/acp/<name>.jsonl`.
///
/// # Panics
///
/// When they differ.
#[track_caller]
pub fn check_transcript(name: &str, recorder: &Recorder) {
    let path = repository_path("fixtures/acp").join(format!("{name}.jsonl"));
    golden::check(&path, &recorder.transcript(), REPAIR);
}

/// Returns the `initialize` params of a client without capabilities, with these members of
/// `clientCapabilities._meta.harn`.
#[must_use]
pub fn initialize_params(wishes: &Map<String, Value>) -> Value {
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
