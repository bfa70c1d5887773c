//! Policies in files: read when a call first needs them, cached until a file changes, and combined so that a
//! workspace's policy can only restrict.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use harn_policy::{Policy, PolicyError, ToolApprovalPolicy};
use harn_tools::LinkPolicy;

use super::{
    disk::{self, KnownFile},
    display_path, to_one_line, unusable_error,
};

/// The path of a workspace's policy, relative to its directory.
pub(super) const OF_WORKSPACE: &str = ".harn/policy.toml";

/// The number of workspaces whose rules are cached. Others are read again.
const MOST_KEPT: usize = 256;

/// The policies that apply to each workspace.
#[derive(Debug)]
pub(super) struct RuleLayers {
    /// From the author of this program.
    own: Arc<ToolApprovalPolicy>,
    /// Named on the command line; the files must exist.
    named: Vec<PathBuf>,
    /// The user's own policy file.
    user: Option<PathBuf>,
    kept: Mutex<RuleCache>,
}

#[derive(Debug, Default)]
struct RuleCache {
    files: HashMap<PathBuf, Option<KnownFile<Arc<ToolApprovalPolicy>>>>,
    /// By workspace: the policies that apply, and the result of combining them.
    ready: HashMap<PathBuf, (Vec<Arc<ToolApprovalPolicy>>, Arc<Policy>)>,
}

impl RuleLayers {
    pub(super) fn new(own: ToolApprovalPolicy, named: Vec<PathBuf>, user: Option<PathBuf>) -> Self {
        Self {
            own: Arc::new(own),
            named,
            user,
            kept: Mutex::default(),
        }
    }

    /// Returns the rules for a session in this directory, from the files as they are now.
    pub(super) fn policy(&self, workspace: &Path) -> Result<Arc<Policy>, PolicyError> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let mut layers = vec![self.own.clone()];
        for path in &self.named {
            let found = kept.load_file(path, LinkPolicy::Follow, |policy| {
                name_rules_after(path, policy)
            })?;
            layers.push(found.ok_or_else(|| unusable_error(path, "it no longer exists"))?);
        }
        if let Some(path) = &self.user {
            layers.extend(user_policy(&mut kept, path)?);
        }
        let own = workspace.join(OF_WORKSPACE);
        layers.extend(kept.load_file(&own, LinkPolicy::Refuse, |mut policy| {
            name_rules(OF_WORKSPACE, &mut policy);
            policy.with_only_tightens()
        })?);
        kept.combine(workspace, layers)
    }
}

/// Returns the user's own rules, if there are any. The file may be a link, because dotfile managers create
/// links; a dangling link is an error, not an absence of rules.
fn user_policy(
    kept: &mut RuleCache,
    path: &Path,
) -> Result<Option<Arc<ToolApprovalPolicy>>, PolicyError> {
    let found = kept.load_file(path, LinkPolicy::Follow, |policy| {
        name_rules_after(path, policy)
    })?;
    if found.is_none() && path.is_symlink() {
        return Err(unusable_error(path, "it is a broken link"));
    }
    Ok(found)
}

/// Names the rules without an id after their file.
fn name_rules_after(path: &Path, mut policy: ToolApprovalPolicy) -> ToolApprovalPolicy {
    let file = path.file_name().map_or(path, Path::new);
    name_rules(&display_path(file), &mut policy);
    policy
}

/// Gives rules without an id one that names their position, for reasons and receipts.
fn name_rules(place: &str, policy: &mut ToolApprovalPolicy) {
    for (at, rule) in policy.rules.iter_mut().enumerate() {
        rule.id.get_or_insert_with(|| format!("{place}:{at}"));
    }
    for (at, inner) in policy.all_of.iter_mut().enumerate() {
        name_rules(&format!("{place}:all_of.{at}"), inner);
    }
}

impl RuleCache {
    /// Returns the policy of a file, changed by `treat`; none if there is no file.
    fn load_file(
        &mut self,
        path: &Path,
        links: LinkPolicy,
        treat: impl FnOnce(ToolApprovalPolicy) -> ToolApprovalPolicy,
    ) -> Result<Option<Arc<ToolApprovalPolicy>>, PolicyError> {
        let mut known = self.files.remove(path).unwrap_or_default();
        let policy = disk::read_if_changed(&mut known, path, links, |text| {
            Ok(Arc::new(treat(parse(path, text)?)))
        });
        let policy = policy?.cloned();
        if policy.is_some() {
            if self.files.len() >= MOST_KEPT {
                self.files.clear();
            }
            self.files.insert(path.to_owned(), known);
        }
        Ok(policy)
    }

    fn combine(
        &mut self,
        workspace: &Path,
        layers: Vec<Arc<ToolApprovalPolicy>>,
    ) -> Result<Arc<Policy>, PolicyError> {
        let same = |known: &[Arc<_>]| {
            known.len() == layers.len() && known.iter().zip(&layers).all(|(a, b)| Arc::ptr_eq(a, b))
        };
        match self.ready.get(workspace) {
            Some((made_of, ready)) if same(made_of) => return Ok(ready.clone()),
            _ => {}
        }
        // Leave out empty policies, so that a displayed policy does not contain them.
        let said = layers.iter().filter(|layer| !is_empty_policy(layer));
        let whole = said.fold(ToolApprovalPolicy::default(), |whole, layer| {
            whole.and(ToolApprovalPolicy::clone(layer))
        });
        let ready = Arc::new(whole.compile()?);
        if self.ready.len() >= MOST_KEPT {
            self.ready.clear();
        }
        let made = (layers, ready.clone());
        self.ready.insert(workspace.to_owned(), made);
        Ok(ready)
    }
}

/// Returns whether a policy has no rules at all. `only_tightens` makes no difference then.
fn is_empty_policy(policy: &ToolApprovalPolicy) -> bool {
    let nothing = ToolApprovalPolicy {
        only_tightens: policy.only_tightens,
        ..ToolApprovalPolicy::default()
    };
    *policy == nothing
}

/// Checks that a policy file exists and can be used.
pub(super) fn check(path: &Path, links: LinkPolicy) -> Result<(), PolicyError> {
    match disk::read(path, links) {
        Ok(Some((text, _))) => parse(path, &text).map(drop),
        Ok(None) if path.is_symlink() => Err(unusable_error(path, "it is a broken link")),
        Ok(None) => Err(unusable_error(path, "the file does not exist")),
        Err(error) => Err(unusable_error(path, error)),
    }
}

/// Parses a policy; an error names the file and, where it is known, the line.
fn parse(path: &Path, text: &str) -> Result<ToolApprovalPolicy, PolicyError> {
    let policy = ToolApprovalPolicy::from_toml(&display_path(path), text).map_err(to_one_line)?;
    policy.compile().map_err(|error| {
        let line = match &error {
            PolicyError::Pattern { pattern, .. } => text
                .lines()
                .position(|line| line.contains(pattern.as_str())),
            PolicyError::Rule { index, .. } => {
                let rules = text.lines().enumerate();
                let mut rules =
                    rules.filter(|(_, line)| line.trim_start().starts_with("[[rules]]"));
                rules.nth(*index).map(|(at, _)| at)
            }
            PolicyError::Syntax { .. } | PolicyError::Limit { .. } => None,
        };
        match line {
            Some(line) => unusable_error(path, format_args!("line {}: {error}", line + 1)),
            None => unusable_error(path, error),
        }
    })?;
    Ok(policy)
}
