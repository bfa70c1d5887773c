//! The one hash function of the crate, in hex.

use std::fmt::Write;

use sha2::{Digest, Sha256};

/// Returns the SHA-256 of the parts, with NUL between them.
pub(crate) fn sha256(parts: &[&[u8]]) -> String {
    let digest = Sha256::digest(parts.join(&0));
    digest.iter().fold(String::new(), |mut hex, byte| {
        // Writing to a string cannot fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}
