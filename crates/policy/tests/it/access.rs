//! Commands that request more than the sandbox gives: the network, or to run outside of it.

use crate::decide_support::*;
use harn_model::{GrantEffect, PolicyAction, SideEffectLevel, ToolKind};
use harn_policy::{SessionMode, describe_whole, grant_for_call, matches};
use serde_json::json;

fn with(call: Owned, network: bool, sandbox: bool) -> Owned {
    let mut arguments = call.arguments.clone();
    if network {
        arguments["network"] = json!(true);
    }
    if !sandbox {
        arguments["sandbox"] = json!(false);
    }
    call.with_arguments(arguments)
}

fn online(line: &str) -> Owned {
    with(run(line), true, true)
}

fn outside(line: &str) -> Owned {
    with(run(line), false, false)
}

#[test]
fn every_mode_asks_before_more_access() {
    for mode in [
        SessionMode::Ask,
        SessionMode::AcceptEdits,
        SessionMode::Auto,
    ] {
        let decision = decide("", &online("ls").with_mode(mode));
        assert_eq!(decision.action, PolicyAction::Ask, "{mode:?}");
        assert!(decision.reason.ends_with("the command reaches the network"));
        assert_eq!(decision.context.side_effect, Some(SideEffectLevel::Network));
        let decision = decide("", &outside("ls").with_mode(mode));
        assert_eq!(decision.action, PolicyAction::Ask, "{mode:?}");
        assert!(
            decision
                .reason
                .ends_with("the command runs outside the sandbox")
        );
    }
    let decision = decide("", &online("ls").with_mode(SessionMode::ReadOnly));
    assert_eq!(decision.action, PolicyAction::Deny);
    // Without more access, `auto` runs it.
    let decision = decide("", &run("ls").with_mode(SessionMode::Auto));
    assert_eq!(decision.action, PolicyAction::Allow);
}

#[test]
fn allow_rule_covers_only_the_access_that_it_names() {
    let plain = "rules = [{ allow = { command = 'curl *' } }]";
    let network = "rules = [{ allow = { command = 'curl *', side_effect = 'network' } }]";
    let placed = "rules = [{ allow = { command = 'curl *', sandbox = false } }]";
    let inside = "rules = [{ allow = { command = 'curl *', sandbox = true } }]";
    let table = [
        (plain, run("curl x"), "allow rules #0"),
        (plain, online("curl x"), "ask mode ask"),
        (plain, outside("curl x"), "ask mode ask"),
        (network, run("curl x"), "ask mode ask"),
        (network, online("curl x"), "allow rules #0"),
        (network, outside("curl x"), "ask mode ask"),
        (placed, outside("curl x"), "allow rules #0"),
        (placed, with(run("curl x"), true, false), "allow rules #0"),
        (placed, run("curl x"), "ask mode ask"),
        (placed, online("curl x"), "ask mode ask"),
        (inside, run("curl x"), "allow rules #0"),
        (inside, online("curl x"), "ask mode ask"),
        (
            "auto_approve = ['run']",
            run("curl x"),
            "allow auto_approve run #0",
        ),
        ("auto_approve = ['run']", online("curl x"), "ask mode ask"),
        ("auto_approve = ['run']", outside("curl x"), "ask mode ask"),
    ];
    for (policy, call, expected) in table {
        let decision = decide(policy, &call);
        assert_eq!(
            outcome(&decision),
            expected,
            "{policy} {:?}",
            call.arguments
        );
    }
}

#[test]
fn restricting_rule_matches_with_any_access() {
    let by_level = |level: &str| format!("rules = [{{ deny = {{ side_effect = '{level}' }} }}]");
    let exec = |call: Owned| call.with_side_effect(SideEffectLevel::ProcessExec);
    let table = [
        (
            by_level("process_exec"),
            exec(online("ls")),
            "deny rules #0",
        ),
        (by_level("network"), exec(online("ls")), "deny rules #0"),
        (by_level("network"), exec(outside("ls")), "deny rules #0"),
        (by_level("network"), exec(run("ls")), "ask mode ask"),
        (
            "rules = [{ deny = { command = 'ls' } }]".to_owned(),
            online("ls"),
            "deny rules #0",
        ),
        (
            "rules = [{ deny = { sandbox = false } }]".to_owned(),
            outside("ls"),
            "deny rules #0",
        ),
        (
            "rules = [{ deny = { sandbox = false } }]".to_owned(),
            online("ls"),
            "ask mode ask",
        ),
        // A call without a command is neither inside nor outside.
        (
            "rules = [{ deny = { sandbox = true } }]".to_owned(),
            call("x"),
            "ask mode ask",
        ),
        // Not a command: the argument means what its tool means by it.
        (
            "auto_approve = ['x']".to_owned(),
            call("x")
                .kind(ToolKind::Other)
                .with_arguments(json!({"network": true})),
            "allow auto_approve x #0",
        ),
    ];
    for (policy, call, expected) in table {
        assert_eq!(
            outcome(&decide(&policy, &call)),
            expected,
            "{policy} {call:?}"
        );
    }
}

#[test]
fn grant_remembers_the_access() {
    let grant = |call: &Owned, effect| grant_for_call(&call.as_call(), effect).unwrap();
    let allowed = grant(&online("curl x"), GrantEffect::Allow);
    assert!(matches(&allowed, &online("curl x").as_call()));
    for other in [run("curl x"), outside("curl x"), online("curl y")] {
        assert!(!matches(&allowed, &other.as_call()), "{other:?}");
    }
    let shown = describe_whole(&allowed);
    assert!(shown.contains(r#""network":true"#), "{shown}");
    let plain = grant(&run("curl x"), GrantEffect::Allow);
    assert!(!matches(&plain, &online("curl x").as_call()));
    // "Never" covers the command with more access, too.
    let never = grant(&run("curl x"), GrantEffect::Deny);
    for call in [run("curl x"), online("curl x"), outside("curl x")] {
        let decision = decide("", &call.clone().with_grants(&[&never]));
        assert_eq!(decision.action, PolicyAction::Deny, "{call:?}");
        assert!(matches(&never, &call.as_call()));
    }
}
