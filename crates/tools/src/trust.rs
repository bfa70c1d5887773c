//! Trust in the files of a workspace, by content: a file that changed is no longer the one that the user trusted.

use std::{
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

use sha2::{Digest as _, Sha256};

/// The SHA-256 hash of a file's content.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentHash([u8; 32]);

impl ContentHash {
    /// Returns the hash of a content.
    pub fn of(content: &[u8]) -> Self {
        Self(Sha256::digest(content).into())
    }

    /// Parses 64 hexadecimal digits.
    pub fn from_hex(text: &str) -> Option<Self> {
        let mut hash = [0; 32];
        let digits = text.as_bytes().chunks_exact(2);
        let plain = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        for (byte, digits) in hash.iter_mut().zip(digits).filter(|_| plain) {
            *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
        }
        plain.then_some(Self(hash))
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Files by their paths relative to the workspace's root.
pub type FileHashes = BTreeMap<PathBuf, ContentHash>;

/// The files of a workspace that may cause programs to run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum WorkspaceTrust {
    /// No file.
    #[default]
    Nothing,
    /// The files with exactly this content.
    Files(FileHashes),
    /// Every file, whatever its content: for an embedder that answers for the workspace.
    Everything,
}

impl WorkspaceTrust {
    /// Checks that every file is trusted as it is; the error names the first that is not.
    pub fn check(&self, files: &FileHashes) -> Result<(), TrustRefusal> {
        let trusted = match self {
            Self::Everything => return Ok(()),
            Self::Nothing => return Err(TrustRefusal::Untrusted),
            Self::Files(trusted) => trusted,
        };
        for (path, hash) in files {
            match trusted.get(path) {
                Some(known) if known == hash => {}
                Some(_) => return Err(TrustRefusal::Changed(path.clone())),
                None => return Err(TrustRefusal::New(path.clone())),
            }
        }
        Ok(())
    }
}

/// The reason why a file of a workspace is not obeyed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TrustRefusal {
    /// The user never trusted the workspace, or revoked it.
    #[error("the workspace is not trusted")]
    Untrusted,
    /// The user has not seen this file.
    #[error("{} is not among the files of the workspace that are trusted", .0.display())]
    New(PathBuf),
    /// The user has not seen this content.
    #[error("{} has changed since the workspace was trusted", .0.display())]
    Changed(PathBuf),
    /// The content is unknown.
    #[error("{} cannot be checked: {why}", .path.display())]
    Unreadable {
        /// The path relative to the root.
        path: PathBuf,
        /// The reason.
        why: String,
    },
}

impl TrustRefusal {
    /// Returns what the user can do, as the end of a sentence.
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Untrusted => "`harn-serve trust` trusts it",
            Self::New(_) | Self::Changed(_) => "`harn-serve trust` shows the difference",
            Self::Unreadable { .. } => "make it a small readable file of the workspace",
        }
    }
}

/// Checks that the files of a program are still trusted, before each start. May read the disk.
pub type StartCheck = Arc<dyn Fn() -> Result<(), TrustRefusal> + Send + Sync>;

/// Decides which files of workspaces may cause programs to run: hooks of skills, MCP servers.
pub trait TrustLookup: Send + Sync + 'static {
    /// Returns the trusted files of the workspace with this root. May read the disk.
    fn trust(&self, workspace: &Path) -> WorkspaceTrust;
}

/// A lookup that trusts no workspace.
#[derive(Clone, Copy, Debug, Default)]
pub struct NothingTrusted;

impl TrustLookup for NothingTrusted {
    fn trust(&self, _: &Path) -> WorkspaceTrust {
        WorkspaceTrust::Nothing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hash_is_printed_and_parsed() {
        let hash = ContentHash::of(b"abc");
        let text = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hash.to_string(), text);
        assert_eq!(ContentHash::from_hex(text), Some(hash));
        for wrong in [
            "",
            "ab",
            &text[1..],
            &text.replace('b', "g"),
            &text.replace("ba", "+b"),
        ] {
            assert_eq!(ContentHash::from_hex(wrong), None, "{wrong}");
        }
    }
}
