//! Rules and grants in files, which implement the runtime's `RuleBook`.
//!
//! No file is read before a call needs it. An unusable file is an error that names it, so that no call runs
//! under rules that could not be read.

mod disk;
mod grants;
mod layers;
pub(crate) mod state_file;
#[cfg(test)]
mod tests;

use std::{
    fmt::Display,
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};

use harn_model::{Grant, Timestamp};
use harn_policy::{Policy, PolicyError};
use harn_runtime::RuleBook;
use harn_tools::LinkPolicy;

use self::layers::RuleLayers;
use crate::ServeOptions;

pub(crate) use grants::GrantStore;

/// The user's own policy, in their configuration directory.
const OF_USER: &str = "policy.toml";

#[derive(Debug)]
pub(crate) struct FileRules {
    layers: RuleLayers,
    grants: GrantStore,
}

impl FileRules {
    /// Uses the files that the options name. Touches nothing.
    pub(crate) fn new(options: &ServeOptions) -> Self {
        let user = options.config_dir.as_deref().map(user_policy_path);
        Self {
            layers: RuleLayers::new(options.policy.clone(), options.policy_files.clone(), user),
            grants: GrantStore::new(&options.state_dir),
        }
    }
}

impl RuleBook for FileRules {
    fn policy(&self, workspace: &Path) -> Result<Arc<Policy>, PolicyError> {
        self.layers.policy(workspace)
    }

    fn grants(&self, workspace: &Path) -> Result<Vec<Grant>, PolicyError> {
        self.grants.for_workspace(workspace)
    }

    fn can_remember(&self) -> bool {
        true
    }

    fn remember(&self, grant: &Grant, at: Timestamp) -> Result<(), PolicyError> {
        self.grants.remember(grant, at)
    }

    fn revoke(&self, id: &str) -> Result<bool, PolicyError> {
        let gone = self.grants.forget(|grant| grant.id == id)?;
        Ok(!gone.is_empty())
    }
}

/// Returns the path of the user's policy in a configuration directory.
pub(crate) fn user_policy_path(config_dir: &Path) -> PathBuf {
    config_dir.join(OF_USER)
}

/// Returns the path of a workspace's policy.
pub(crate) fn workspace_policy_path(workspace: &Path) -> PathBuf {
    workspace.join(layers::OF_WORKSPACE)
}

/// Checks that a file that the user named or owns is a usable policy. It may be a link.
pub(crate) fn check_named(path: &Path) -> Result<(), PolicyError> {
    layers::check(path, LinkPolicy::Follow)
}

/// Checks that a workspace's file is a usable policy. Others may have created it, so a link is rejected.
pub(crate) fn check_found(path: &Path) -> Result<(), PolicyError> {
    layers::check(path, LinkPolicy::Refuse)
}

/// Returns the paths that no tool may write, because their content decides about tools.
pub(crate) fn protected_paths(options: &ServeOptions) -> Vec<PathBuf> {
    let mut places = vec![options.state_dir.clone()];
    places.extend(options.sessions_dir.clone());
    places.extend(options.config_dir.clone());
    places.extend(options.policy_files.iter().cloned());
    // The files may be links; their targets are protected too.
    let user = options.config_dir.as_deref().map(user_policy_path);
    let files = user.iter().chain(&options.policy_files);
    let targets = files.filter(|file| file.is_symlink());
    places.extend(targets.filter_map(|file| file.canonicalize().ok()));
    places
}

fn display_path(path: &Path) -> String {
    path.display().to_string()
}

fn unusable_error(path: &Path, why: impl Display) -> PolicyError {
    PolicyError::Syntax {
        origin: display_path(path),
        message: why.to_string(),
    }
}

/// Returns an error as one line. The TOML parser's error has several lines, which does not fit into a sentence.
fn to_one_line(error: PolicyError) -> PolicyError {
    let PolicyError::Syntax { origin, message } = error else {
        return error;
    };
    let is_picture = |line: &&str| {
        let line = line
            .trim_start()
            .trim_start_matches(|c: char| c.is_ascii_digit());
        line.trim_start().starts_with('|')
    };
    let lines = message
        .lines()
        .filter(|line| !is_picture(line))
        .map(str::trim);
    let lines: Vec<_> = lines.filter(|line| !line.is_empty()).collect();
    let message = match &lines[..] {
        [place, reason @ ..] if !reason.is_empty() => {
            let place = place.trim_start_matches("TOML parse error at ");
            format!("{place}: {}", reason.join(", "))
        }
        lines => lines.join(", "),
    };
    PolicyError::Syntax { origin, message }
}

#[allow(
    clippy::disallowed_methods,
    reason = "compared with the times of files, which the machine's clock gave"
)]
fn now() -> SystemTime {
    SystemTime::now()
}
