//! The port behind which rules and grants are kept: files, for whoever has files.

use std::{
    io,
    path::Path,
    sync::{Arc, OnceLock},
};

use harn_model::{Grant, Timestamp};
use harn_policy::{PathEntry, PathProbe, Policy, PolicyError, ToolApprovalPolicy};

/// Rules and what was remembered. Asked at every call, off the async threads, so that a change counts from
/// the next call on; may look at files.
pub trait RuleBook: Send + Sync + 'static {
    /// The rules for a session in this directory. An error denies everything until it is mended.
    fn policy(&self, workspace: &Path) -> Result<Arc<Policy>, PolicyError>;

    /// What was remembered for this directory. An error denies everything that is not read-only.
    fn grants(&self, workspace: &Path) -> Result<Vec<Grant>, PolicyError>;

    /// Whether it can remember for longer than a session.
    fn remembers(&self) -> bool;

    /// Remembers until it is revoked; kept when this returns.
    fn remember(&self, grant: &Grant, at: Timestamp) -> Result<(), PolicyError>;

    /// Forgets the grant of this id; false where there is none.
    fn revoke(&self, id: &str) -> Result<bool, PolicyError>;
}

/// No rules but the mode's, and nothing remembered beyond a session.
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

    fn remembers(&self) -> bool {
        false
    }

    fn remember(&self, _: &Grant, _: Timestamp) -> Result<(), PolicyError> {
        Ok(())
    }

    fn revoke(&self, _: &str) -> Result<bool, PolicyError> {
        Ok(false)
    }
}

/// A disk on which nothing is, for an agent without files: paths are judged by their words.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoDisk;

impl PathProbe for NoDisk {
    fn look(&self, _: &Path) -> io::Result<PathEntry> {
        Ok(PathEntry::Absent)
    }
}
