//! Rules and grants in memory.

use std::{
    path::Path,
    sync::{Arc, Mutex},
};

use harn_model::{Grant, Timestamp};
use harn_policy::{Policy, PolicyError, ToolApprovalPolicy};
use harn_runtime::RuleBook;

/// Rules that stay as they are, and what was remembered.
pub(super) struct Book {
    policy: Arc<Policy>,
    grants: Mutex<Vec<Grant>>,
}

impl Book {
    /// With these rules, in TOML.
    pub(super) fn new(rules: &str) -> Arc<Self> {
        let policy = ToolApprovalPolicy::from_toml("rules", rules).unwrap();
        Arc::new(Self {
            policy: Arc::new(policy.compile().unwrap()),
            grants: Mutex::default(),
        })
    }

    /// The ids of what was remembered.
    pub(super) fn remembered(&self) -> Vec<String> {
        let grants = self.grants.lock().unwrap();
        grants.iter().map(|grant| grant.id.clone()).collect()
    }
}

impl RuleBook for Book {
    fn policy(&self, _: &Path) -> Result<Arc<Policy>, PolicyError> {
        Ok(self.policy.clone())
    }

    fn grants(&self, _: &Path) -> Result<Vec<Grant>, PolicyError> {
        Ok(self.grants.lock().unwrap().clone())
    }

    fn remembers(&self) -> bool {
        true
    }

    fn remember(&self, grant: &Grant, _: Timestamp) -> Result<(), PolicyError> {
        self.grants.lock().unwrap().push(grant.clone());
        Ok(())
    }

    fn revoke(&self, id: &str) -> Result<bool, PolicyError> {
        let mut grants = self.grants.lock().unwrap();
        let before = grants.len();
        grants.retain(|grant| grant.id != id);
        Ok(grants.len() < before)
    }
}
