//! A rule book without rules that stores grants in memory, so that every option is offered.

use std::{
    path::Path,
    sync::{Arc, Mutex},
};

use harn_model::{Grant, Timestamp};
use harn_policy::{Policy, PolicyError};
use harn_runtime::{NoRules, RuleBook};

/// A rule book without rules; its grants are in memory.
#[derive(Default)]
pub(crate) struct Book {
    rules: NoRules,
    grants: Mutex<Vec<Grant>>,
}

impl RuleBook for Book {
    fn policy(&self, workspace: &Path) -> Result<Arc<Policy>, PolicyError> {
        self.rules.policy(workspace)
    }

    fn grants(&self, _: &Path) -> Result<Vec<Grant>, PolicyError> {
        Ok(self.grants.lock().unwrap().clone())
    }

    fn can_remember(&self) -> bool {
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
