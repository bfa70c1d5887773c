//! Fixed rules, and grants in memory.

use std::{
    path::Path,
    sync::{Arc, Mutex},
};

use harn_model::{Grant, Timestamp};
use harn_policy::{Policy, PolicyError, ToolApprovalPolicy};
use harn_runtime::RuleBook;

use crate::{lock, must};

/// Fixed rules, with the remembered grants in memory.
pub struct MemoryRules {
    policy: Arc<Policy>,
    grants: Mutex<Vec<Grant>>,
}

impl MemoryRules {
    /// Returns a rule book with these rules, in TOML.
    ///
    /// # Panics
    ///
    /// If they are not valid rules.
    pub fn new(rules: &str) -> Arc<Self> {
        let policy = ToolApprovalPolicy::from_toml("rules", rules);
        let policy = policy.and_then(|policy| policy.compile());
        Arc::new(Self {
            policy: Arc::new(must(policy, "rules")),
            grants: Mutex::default(),
        })
    }

    /// Returns the ids of the remembered grants.
    pub fn remembered_ids(&self) -> Vec<String> {
        let grants = lock(&self.grants);
        grants.iter().map(|grant| grant.id.clone()).collect()
    }
}

impl RuleBook for MemoryRules {
    fn policy(&self, _: &Path) -> Result<Arc<Policy>, PolicyError> {
        Ok(self.policy.clone())
    }

    fn grants(&self, _: &Path) -> Result<Vec<Grant>, PolicyError> {
        Ok(lock(&self.grants).clone())
    }

    fn can_remember(&self) -> bool {
        true
    }

    fn remember(&self, grant: &Grant, _: Timestamp) -> Result<(), PolicyError> {
        lock(&self.grants).push(grant.clone());
        Ok(())
    }

    fn revoke(&self, id: &str) -> Result<bool, PolicyError> {
        let mut grants = lock(&self.grants);
        let before = grants.len();
        grants.retain(|grant| grant.id != id);
        Ok(grants.len() < before)
    }
}
