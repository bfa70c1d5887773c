//! The port to stored rules and grants; implementations may use files.

use std::{
    io,
    path::Path,
    sync::{Arc, OnceLock},
};

use harn_model::{Grant, Timestamp};
use harn_policy::{PathEntry, PathProbe, Policy, PolicyError, ToolApprovalPolicy};

/// The rules and the remembered grants. The runtime reads them for every call, on a blocking thread, so that
/// a change applies from the next call on. Implementations may read files.
pub trait RuleBook: Send + Sync + 'static {
    /// Returns the rules for a session in this directory. An error denies everything until the rules are fixed.
    fn policy(&self, workspace: &Path) -> Result<Arc<Policy>, PolicyError>;

    /// Returns the grants for this directory. An error denies everything that is not read-only.
    fn grants(&self, workspace: &Path) -> Result<Vec<Grant>, PolicyError>;

    /// Whether grants can outlast a session.
    fn can_remember(&self) -> bool;

    /// Stores a grant until it is revoked; it is stored when this returns.
    fn remember(&self, grant: &Grant, at: Timestamp) -> Result<(), PolicyError>;

    /// Removes the grant of this id; returns false if there is none.
    fn revoke(&self, id: &str) -> Result<bool, PolicyError>;
}

/// A rule book without rules or stored grants; only the mode decides.
#[derive(Debug, Default)]
pub struct NoRules {
    policy: OnceLock<Arc<Policy>>,
}

impl RuleBook for NoRules {
    fn policy(&self, _: &Path) -> Result<Arc<Policy>, PolicyError> {
        if let Some(policy) = self.policy.get() {
            return Ok(policy.clone());
        }
        let empty = Arc::new(ToolApprovalPolicy::default().compile()?);
        Ok(self.policy.get_or_init(|| empty).clone())
    }

    fn grants(&self, _: &Path) -> Result<Vec<Grant>, PolicyError> {
        Ok(Vec::new())
    }

    fn can_remember(&self) -> bool {
        false
    }

    fn remember(&self, _: &Grant, _: Timestamp) -> Result<(), PolicyError> {
        Ok(())
    }

    fn revoke(&self, _: &str) -> Result<bool, PolicyError> {
        Ok(false)
    }
}

/// An empty disk, for an agent without files: paths are judged by their text.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoDisk;

impl PathProbe for NoDisk {
    fn read_entry(&self, _: &Path) -> io::Result<PathEntry> {
        Ok(PathEntry::Absent)
    }
}
