//! Combined policies only restrict: tables for pairs, properties for all.

use crate::decide_support::*;
use harn_model::{ApprovalLists, PolicyAction, RuleSource, ToolKind};
use harn_policy::{PolicyRule, RuleMatcher, SessionMode, ToolApprovalPolicy};
use proptest::{
    collection::vec,
    option, prop_assert, prop_assert_eq, prop_oneof, proptest,
    sample::select,
    strategy::{Just, Strategy},
};

#[test]
fn combined_policies_must_agree() {
    let table = [
        // If one policy does not match, the other decides.
        (
            "auto_approve = ['*']",
            "",
            edit(&["a"]),
            "allow auto_approve * #0",
        ),
        (
            "",
            "auto_approve = ['*']",
            edit(&["a"]),
            "allow auto_approve * #0",
        ),
        (
            "auto_approve = ['*']",
            "require_approval = ['*']",
            edit(&["a"]),
            "ask require_approval * #0",
        ),
        (
            "auto_approve = ['*']",
            "auto_deny = ['*']",
            edit(&["a"]),
            "deny auto_deny * #0",
        ),
        // If both approve something, only the common part is approved.
        (
            "auto_approve = ['*']",
            "auto_approve = ['edit_*']",
            edit(&["a"]),
            "allow auto_approve * #0",
        ),
        (
            "auto_approve = ['x']",
            "auto_approve = ['edit_*']",
            edit(&["a"]),
            "ask mode ask",
        ),
        (
            "auto_approve = ['x']",
            "auto_approve = ['edit_*']",
            call("x"),
            "ask mode ask",
        ),
        (
            "rules = [{ allow = 'x' }]",
            "auto_approve = ['edit_*']",
            edit(&["a"]),
            "ask mode ask",
        ),
        // Two lists of paths with nothing in common allow nothing, not everything.
        (
            "write_path_allowlist = ['src/**']\nauto_approve = ['*']",
            "write_path_allowlist = ['docs/**']",
            edit(&["src/a"]),
            "deny write_path_allowlist",
        ),
        (
            "write_path_allowlist = ['src/**']\nauto_approve = ['*']",
            "write_path_allowlist = ['docs/**']",
            edit(&["docs/a"]),
            "deny write_path_allowlist",
        ),
        (
            "write_path_allowlist = ['src/**']\nauto_approve = ['*']",
            "write_path_allowlist = ['src/a*']",
            edit(&["src/a"]),
            "allow auto_approve * #0",
        ),
        // Of equals, the first policy's.
        (
            "auto_deny = ['e*']",
            "auto_deny = ['edit*']",
            edit(&["a"]),
            "deny auto_deny e* #0",
        ),
        (
            "rules = [{ id = 'one', ask = '*' }]",
            "rules = [{ id = 'two', deny = '*' }]",
            edit(&["a"]),
            "deny rules two #0",
        ),
    ];
    for (one, two, call, expected) in table {
        let both = policy(one).and(policy(two));
        let decision = decide_by(&both, &call);
        assert_eq!(outcome(&decision), expected, "{one}\nand\n{two}\n{call:?}");
    }
}

#[test]
fn tightening_policy_approves_nothing() {
    let all = || policy("auto_approve = ['*']\nrules = [{ allow = { path = '/etc/**' } }]");
    let nested = ToolApprovalPolicy::default()
        .and(all())
        .with_only_tightens();
    for tight in [all().with_only_tightens(), nested] {
        for call in [edit(&["a"]), call("x")] {
            assert_eq!(outcome(&decide_by(&tight, &call)), "ask mode ask");
            let both = ToolApprovalPolicy::default().and(tight.clone());
            assert_eq!(outcome(&decide_by(&both, &call)), "ask mode ask");
        }
        let outside = outcome(&decide_by(&tight, &read(&["/etc/x"])));
        assert_eq!(outside, "deny default_external_path");
    }
    // It narrows the approvals of others.
    let narrowed = all().and(policy("auto_approve = ['read_*']").with_only_tightens());
    assert_eq!(
        outcome(&decide_by(&narrowed, &edit(&["a"]))),
        "ask mode ask"
    );
    // A policy combined with it approves as before, in either order.
    let call = edit(&["a"]);
    let tight = || policy("auto_deny = ['x']").with_only_tightens();
    for both in [all().and(tight()), tight().and(all())] {
        assert_eq!(outcome(&decide_by(&both, &call)), "allow auto_approve * #0");
    }
}

#[test]
fn compile_rejects_a_policy_beyond_the_limits() {
    let nest = |depth: usize| {
        let mut policy = ToolApprovalPolicy::default();
        for _ in 0..depth {
            policy = ToolApprovalPolicy {
                all_of: vec![policy],
                ..ToolApprovalPolicy::default()
            };
        }
        policy.compile()
    };
    nest(16).unwrap();
    assert!(nest(17).unwrap_err().to_string().contains("16 deep"));
    let wide = ToolApprovalPolicy {
        all_of: vec![ToolApprovalPolicy::default(); 64],
        ..ToolApprovalPolicy::default()
    };
    assert!(
        wide.compile()
            .unwrap_err()
            .to_string()
            .contains("at most 64")
    );
    let many = ToolApprovalPolicy {
        auto_deny: vec!["x".to_owned(); 10_001],
        ..ToolApprovalPolicy::default()
    };
    assert!(
        many.compile()
            .unwrap_err()
            .to_string()
            .contains("at most 10000")
    );
    let long = ToolApprovalPolicy {
        rules: vec![PolicyRule::new(PolicyAction::Ask, RuleMatcher::tool("x")); 2_001],
        ..ToolApprovalPolicy::default()
    };
    assert!(
        long.compile()
            .unwrap_err()
            .to_string()
            .contains("too many rules: 2001;")
    );
}

#[test]
fn lists_of_two_policies_are_combined() {
    let lists = |text: &str| serde_json::from_str::<ApprovalLists>(text).unwrap();
    let table = [
        // One policy: its lists as they are.
        (
            "auto_approve = ['a', 'b']\nauto_deny = ['c']\nrequire_approval = ['d']\n\
             write_path_allowlist = ['src/**']",
            "",
            r#"{"auto_approve": ["a", "b"], "auto_deny": ["c"], "require_approval": ["d"],
                "write_path_allowlist": ["src/**"]}"#,
        ),
        // Ask and deny lists are joined; entries of approve lists must occur in both.
        (
            "auto_approve = ['a', 'b']\nauto_deny = ['c']\nwrite_path_allowlist = ['src/**', 'docs/**']",
            "auto_approve = ['b', '*']\nauto_deny = ['d', 'c']\nrequire_approval = ['e']\n\
             write_path_allowlist = ['docs/**']",
            r#"{"auto_approve": ["b"], "auto_deny": ["c", "d"], "require_approval": ["e"],
                "write_path_allowlist": ["docs/**"]}"#,
        ),
        // Nothing in common is not everything.
        (
            "auto_approve = ['a']\nwrite_path_allowlist = ['src/**']",
            "auto_approve = ['b']\nwrite_path_allowlist = ['docs/**']",
            r#"{"auto_approve": ["<nothing>"], "auto_deny": [], "require_approval": [],
                "write_path_allowlist": ["<nothing>"]}"#,
        ),
        // A policy that approves by rules alone must agree, too, and the lists cannot express its rules.
        (
            "auto_approve = ['a']",
            "rules = [{ allow = 'b' }]",
            r#"{"auto_approve": ["<nothing>"], "auto_deny": [], "require_approval": [],
                "write_path_allowlist": []}"#,
        ),
        // A rule may restrict what the list approves.
        (
            "auto_approve = ['a', 'b']",
            "rules = [{ ask = { tool = 'b', path = '*.pem' } }]",
            r#"{"auto_approve": ["a"], "auto_deny": [], "require_approval": [],
                "write_path_allowlist": []}"#,
        ),
        (
            "auto_approve = ['a', 'b']",
            "rules = [{ deny = { path = '*.pem' } }]",
            r#"{"auto_approve": ["<nothing>"], "auto_deny": [], "require_approval": [],
                "write_path_allowlist": []}"#,
        ),
        // A policy that only tightens approves nothing.
        (
            "",
            "only_tightens = true\nauto_approve = ['a']",
            r#"{"auto_approve": ["<nothing>"], "auto_deny": [], "require_approval": [],
                "write_path_allowlist": []}"#,
        ),
        (
            "auto_approve = ['a', 'b']",
            "only_tightens = true\nauto_approve = ['a']",
            r#"{"auto_approve": ["a"], "auto_deny": [], "require_approval": [],
                "write_path_allowlist": []}"#,
        ),
    ];
    for (one, two, expected) in table {
        let both = policy(one).and(policy(two)).lists();
        assert_eq!(both, lists(expected), "{one}\nand\n{two}");
    }
}

const TOOLS: [&str; 5] = ["read_file", "edit_file", "run", "x", ApprovalLists::NOTHING];
const NAMES: [&str; 8] = [
    "*",
    "read_*",
    "*_file",
    "edit_file",
    "run",
    "x",
    "{run,x}",
    "?",
];
const PATHS: [&str; 7] = [
    "src/a.rs", "docs/b", "src/../c", "/more/d", "/etc/e", ".git/f", "dangles",
];
const PATH_PATTERNS: [&str; 7] = [
    "*", "src/**", "docs/*", "*.rs", "src/*.rs", "/etc/**", "/more/?",
];
const LINES: [&str; 8] = [
    "ls",
    "ls; cat a",
    "rm -rf a",
    "ls > out",
    "ls $x",
    "A=1 ls",
    "find . -exec rm {} ;",
    "ls > ../x",
];
const COMMANDS: [&str; 6] = ["ls", "ls *", "*", "rm", "cat *", "find *"];

/// Returns the lists as a policy of their own.
fn policy_from_lists(lists: ApprovalLists) -> ToolApprovalPolicy {
    ToolApprovalPolicy {
        auto_approve: lists.auto_approve,
        auto_deny: lists.auto_deny,
        require_approval: lists.require_approval,
        write_path_allowlist: lists.write_path_allowlist,
        ..ToolApprovalPolicy::default()
    }
}

fn texts(from: &'static [&'static str], most: usize) -> impl Strategy<Value = Vec<String>> {
    vec(select(from).prop_map(str::to_owned), 0..=most)
}

fn rules() -> impl Strategy<Value = PolicyRule> {
    let action = select(&[PolicyAction::Allow, PolicyAction::Ask, PolicyAction::Deny][..]);
    let kinds = vec(
        select(&[ToolKind::Read, ToolKind::Edit, ToolKind::Execute][..]),
        0..=1,
    );
    let modes = vec(select(&SessionMode::ALL[..]), 0..=1);
    let matcher = (
        texts(&NAMES, 1),
        kinds,
        texts(&PATH_PATTERNS, 2),
        texts(&COMMANDS, 2),
        modes,
    );
    let matcher = matcher.prop_map(|(tool, tool_kind, path, command, mode)| RuleMatcher {
        tool,
        tool_kind,
        path,
        command,
        mode,
        ..RuleMatcher::default()
    });
    let matcher = prop_oneof![4 => matcher, 1 => select(&NAMES[..]).prop_map(RuleMatcher::tool)]
        .prop_filter("a rule is about something", |matcher| !matcher.is_empty());
    (option::of("[a-c]"), action, matcher).prop_map(|(id, action, matcher)| PolicyRule {
        id,
        ..PolicyRule::new(action, matcher)
    })
}

fn flat_policies() -> impl Strategy<Value = ToolApprovalPolicy> {
    let lists = (
        texts(&NAMES, 2),
        texts(&NAMES[3..], 1),
        texts(&NAMES[1..], 1),
        prop_oneof![2 => Just(Vec::new()), 1 => texts(&PATH_PATTERNS, 2)],
    );
    (lists, vec(rules(), 0..4), proptest::bool::weighted(0.2)).prop_map(
        |((auto_approve, auto_deny, require_approval, write), rules, only_tightens)| {
            ToolApprovalPolicy {
                auto_approve,
                auto_deny,
                require_approval,
                write_path_allowlist: write,
                rules,
                only_tightens,
                ..ToolApprovalPolicy::default()
            }
        },
    )
}

fn policies() -> impl Strategy<Value = ToolApprovalPolicy> {
    (flat_policies(), vec(flat_policies(), 0..3))
        .prop_map(|(policy, all_of)| ToolApprovalPolicy { all_of, ..policy })
}

fn calls() -> impl Strategy<Value = Owned> {
    let kinds = select(
        &[
            None,
            Some(ToolKind::Read),
            Some(ToolKind::Edit),
            Some(ToolKind::Execute),
            Some(ToolKind::Move),
        ][..],
    );
    let command = prop_oneof![2 => Just(None), 1 => select(&LINES[..]).prop_map(Some)];
    let parts = (
        select(&TOOLS[..]),
        kinds,
        vec(select(&PATHS[..]), 0..3),
        command,
        select(&SessionMode::ALL[..]),
    );
    let effects = vec(
        select(
            &[
                harn_model::GrantEffect::Allow,
                harn_model::GrantEffect::Deny,
            ][..],
        ),
        0..2,
    );
    (parts, effects).prop_map(|((tool, kind, paths, command, mode), effects)| {
        let mut owned = call(tool).paths(&paths).with_mode(mode);
        owned.kind = kind;
        if let Some(line) = command {
            owned = owned.command(line);
        }
        let grants = effects.into_iter();
        let grants =
            grants.filter_map(|effect| harn_policy::grant_for_call(&owned.as_call(), effect));
        let grants: Vec<_> = grants.collect();
        owned.grants = grants;
        owned
    })
}

/// Whether a decision has a source of its own, and is not the default where nothing matches.
fn has_own_source(source: RuleSource) -> bool {
    match source {
        RuleSource::AutoDeny
        | RuleSource::AutoApprove
        | RuleSource::RequireApproval
        | RuleSource::WritePathAllowlist
        | RuleSource::Rules
        | RuleSource::Grant
        | RuleSource::ProtectedPath
        | RuleSource::DefaultPathGuard
        | RuleSource::DefaultCommandGuard => true,
        RuleSource::DefaultExternalPath | RuleSource::Mode => false,
    }
}

proptest! {
    #[test]
    fn another_deny_never_allows_more(
        policy in policies(), rule in rules(), at in 0..4_usize, layer in 0..3_usize, call in calls(),
    ) {
        let before = decide_by(&policy, &call).action;
        let mut more = policy;
        let into = match more.all_of.get_mut(layer) {
            Some(inner) => inner,
            None => &mut more,
        };
        let at = at.min(into.rules.len());
        into.rules.insert(at, PolicyRule { action: PolicyAction::Deny, ..rule });
        prop_assert!(decide_by(&more, &call).action >= before);
    }

    #[test]
    fn another_ask_never_allows_more(policy in policies(), rule in rules(), call in calls()) {
        let before = decide_by(&policy, &call);
        let mut more = policy;
        more.rules.push(PolicyRule { action: PolicyAction::Ask, ..rule });
        let after = decide_by(&more, &call);
        // An ask rule loosens one thing: an outside path that it names is no longer denied.
        let external = before.matched_rule.as_ref().map(|rule| rule.source);
        if external != Some(RuleSource::DefaultExternalPath) {
            prop_assert!(after.action >= before.action);
        } else {
            prop_assert!(after.action >= PolicyAction::Ask || has_own_source(after.matched_rule.unwrap().source));
        }
    }

    #[test]
    fn combined_policies_are_never_laxer_than_a_match_of_one(a in policies(), b in policies(), call in calls()) {
        let both = decide_by(&a.clone().and(b.clone()), &call).action;
        for one in [&a, &b] {
            let alone = decide_by(one, &call);
            if alone.matched_rule.is_some_and(|rule| has_own_source(rule.source)) {
                prop_assert!(both >= alone.action);
            }
        }
        // The order changes only which source is named.
        prop_assert_eq!(both, decide_by(&b.and(a), &call).action);
    }

    #[test]
    fn combined_policies_are_never_laxer_than_one_where_both_approve(
        a in policies(), b in policies(), call in calls(),
    ) {
        let approve = |mut policy: ToolApprovalPolicy| {
            policy.auto_approve.push("nothing".to_owned());
            // A policy that only tightens approves nothing by itself, so that alone it allows less than it lets
            // pass.
            policy.only_tightens = false;
            policy.all_of.iter_mut().for_each(|inner| inner.only_tightens = false);
            // Any policy that names an outside path lifts its deny; the property excludes such rules.
            for layer in std::iter::once(&mut policy.rules) {
                layer.retain(|rule| rule.matcher.path.iter().all(|path| !path.starts_with('/')));
            }
            for inner in &mut policy.all_of {
                inner.rules.retain(|rule| rule.matcher.path.iter().all(|path| !path.starts_with('/')));
            }
            policy
        };
        let (a, b) = (approve(a), approve(b));
        let both = decide_by(&a.clone().and(b.clone()), &call).action;
        for one in [a, b] {
            prop_assert!(both >= decide_by(&one, &call).action);
        }
    }

    #[test]
    fn tightening_policy_never_loosens(a in policies(), b in policies(), call in calls()) {
        let alone = decide_by(&a, &call).action;
        prop_assert!(decide_by(&a.and(b.with_only_tightens()), &call).action >= alone);
    }

    /// A host that has the lists and no rules never takes a call for allowed that is not.
    #[test]
    fn the_lists_approve_nothing_that_the_policy_does_not_allow(
        policy in policies(), call in calls(),
    ) {
        let by_lists = decide_by(&policy_from_lists(policy.lists()), &call);
        let approved = by_lists.matched_rule.is_some_and(|rule| rule.source == RuleSource::AutoApprove);
        if approved {
            prop_assert_eq!(decide_by(&policy, &call).action, PolicyAction::Allow);
        }
    }

    #[test]
    fn the_lists_are_at_least_as_strict_as_those_of_each_policy(
        policy in policies(), call in calls(),
    ) {
        let by_lists = decide_by(&policy_from_lists(policy.lists()), &call).action;
        let mut unruled = policy;
        unruled.rules.clear();
        unruled.all_of.iter_mut().for_each(|inner| inner.rules.clear());
        prop_assert!(by_lists >= decide_by(&unruled, &call).action);
    }

    #[test]
    fn order_of_rules_only_changes_the_named_rule(
        policy in policies(), call in calls(), turn in 0..4_usize,
    ) {
        let mut turned = policy.clone();
        let by = turn.min(turned.rules.len());
        turned.rules.rotate_left(by);
        prop_assert_eq!(decide_by(&policy, &call).action, decide_by(&turned, &call).action);
    }

    #[test]
    fn the_same_call_gets_the_same_receipt(policy in policies(), call in calls()) {
        let compiled = policy.compile().unwrap();
        let receipt = compiled.decide(&call.as_call());
        prop_assert_eq!(&receipt, &compiled.decide(&call.as_call()));
        prop_assert_eq!(&receipt, &decide_by(&policy, &call));
        prop_assert!(receipt.risk_labels.is_sorted());
        prop_assert!(receipt.matched_rule.is_some_and(|rule| rule.action == receipt.action));
    }

    #[test]
    fn guards_and_read_only_override_every_allow(policy in policies(), call in calls()) {
        let decision = decide_by(&policy, &call);
        if decision.action == PolicyAction::Allow {
            let writes = call.as_call().writes();
            prop_assert!(!(writes && call.mode == SessionMode::ReadOnly));
            prop_assert!(!(writes && call.paths.iter().any(|path| path.protected)));
            let untold = |path: &harn_policy::LocatedPath| path.place.is_none();
            prop_assert!(!call.paths.iter().any(untold));
            let doubtful = call.command.is_some_and(|(_, line)| !line.doubts.is_empty());
            let granted = decision.matched_rule.unwrap().source == RuleSource::Grant;
            prop_assert!(!doubtful || granted);
        }
    }

    #[test]
    fn written_policy_parses_back(policy in policies()) {
        let text = policy.to_toml();
        prop_assert_eq!(&ToolApprovalPolicy::from_toml("test", &text).unwrap(), &policy);
        let json = serde_json::to_value(&policy).unwrap();
        prop_assert_eq!(&ToolApprovalPolicy::from_json("test", json).unwrap(), &policy);
    }
}
