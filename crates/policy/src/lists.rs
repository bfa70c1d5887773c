//! A policy as the four lists of the contract, for hosts that show the policy of a call.
//!
//! The lists cannot express rules, and the lists of several policies must agree, so they may only be
//! stricter than the policy: the policy allows whatever they approve. Makes no decision.

use harn_model::{ApprovalLists, PolicyAction};

use crate::{PolicyRule, ToolApprovalPolicy, pattern::may_overlap};

/// One policy of a nested policy, by itself.
#[derive(Clone, Copy)]
struct ListedLayer<'a> {
    policy: &'a ToolApprovalPolicy,
    /// Whether its approvals count by themselves, or only narrow those of others.
    gives: bool,
}

impl ListedLayer<'_> {
    /// Whether it approves anything. If so, others approve nothing that it does not.
    fn approves(&self) -> bool {
        let mut rules = self.policy.rules.iter();
        !self.policy.auto_approve.is_empty() || rules.any(|rule| rule.action == PolicyAction::Allow)
    }
}

impl ToolApprovalPolicy {
    /// Returns the four lists of this policy and the policies in it. The deny lists and the ask lists are
    /// joined. The approve list and the allow list contain only entries that occur literally in every policy
    /// that has such a list. If no entry remains, the list matches nothing, because an empty list would mean
    /// that no policy has one.
    pub fn lists(&self) -> ApprovalLists {
        let mut layers = Vec::new();
        collect(self, true, &mut layers);
        ApprovalLists {
            auto_approve: approved_entries(&layers),
            auto_deny: join_entries(&layers, |policy| &policy.auto_deny),
            require_approval: join_entries(&layers, |policy| &policy.require_approval),
            write_path_allowlist: writable_paths(&layers),
            omitted_bytes: None,
        }
    }
}

/// Collects a policy and those in it. Inside a policy that only tightens, no approval counts by itself.
fn collect<'a>(policy: &'a ToolApprovalPolicy, gives: bool, layers: &mut Vec<ListedLayer<'a>>) {
    let gives = gives && !policy.only_tightens;
    layers.push(ListedLayer { policy, gives });
    for inner in &policy.all_of {
        collect(inner, gives, layers);
    }
}

fn join_entries<'a>(
    layers: &[ListedLayer<'a>],
    list: impl Fn(&'a ToolApprovalPolicy) -> &'a [String],
) -> Vec<String> {
    let mut joined: Vec<String> = Vec::new();
    for entry in layers.iter().flat_map(|layer| list(layer.policy)) {
        if !joined.contains(entry) {
            joined.push(entry.clone());
        }
    }
    joined
}

/// Returns the entries common to all approving policies, if one gives approval, without those a rule may restrict.
fn approved_entries(layers: &[ListedLayer<'_>]) -> Vec<String> {
    let listed = layers
        .iter()
        .any(|layer| !layer.policy.auto_approve.is_empty());
    let approving = layers.iter().filter(|layer| layer.approves());
    let lists: Vec<_> = approving
        .clone()
        .map(|it| &it.policy.auto_approve)
        .collect();
    let is_given = approving.clone().any(|layer| layer.gives);
    let rules = || layers.iter().flat_map(|layer| &layer.policy.rules);
    let mut entries = intersect(&lists);
    entries.retain(|entry| is_given && !rules().any(|rule| may_restrict(rule, entry)));
    mark_if_emptied(entries, listed)
}

fn writable_paths(layers: &[ListedLayer<'_>]) -> Vec<String> {
    let lists = layers
        .iter()
        .map(|layer| &layer.policy.write_path_allowlist);
    let lists: Vec<_> = lists.filter(|list| !list.is_empty()).collect();
    mark_if_emptied(intersect(&lists), !lists.is_empty())
}

/// Returns the entries of the first list that occur in all others, without duplicates.
fn intersect(lists: &[&Vec<String>]) -> Vec<String> {
    let Some((first, others)) = lists.split_first() else {
        return Vec::new();
    };
    let mut entries: Vec<String> = Vec::new();
    for entry in *first {
        if others.iter().all(|list| list.contains(entry)) && !entries.contains(entry) {
            entries.push(entry.clone());
        }
    }
    entries
}

fn mark_if_emptied(entries: Vec<String>, listed: bool) -> Vec<String> {
    match entries.is_empty() && listed {
        true => vec![ApprovalLists::NOTHING.to_owned()],
        false => entries,
    }
}

/// Whether a rule may ask about or deny a call of a tool that an entry of an approve list matches.
fn may_restrict(rule: &PolicyRule, entry: &str) -> bool {
    match rule.action {
        PolicyAction::Allow => false,
        PolicyAction::Ask | PolicyAction::Deny => {
            let mut tools = rule.matcher.tool.iter();
            rule.matcher.tool.is_empty() || tools.any(|tool| may_overlap(tool, entry))
        }
    }
}
