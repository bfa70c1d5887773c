//! Tests of the permission request in every profile, and a table of answers.

use std::sync::Arc;

use agent_client_protocol::Error;
use harn_model::{
    ApprovalPolicy, Decision, ExecutionKind, GrantScope, JudgedAct, LineageEntry, MutationScope,
    MutationSession, PathKind, PermissionAsked, PermissionOption, PermissionOptionKind,
    PolicyAction, PolicyContext, PolicyDecision, ReceiptType, SessionId, ToolCall, ToolContent,
    ToolKind, WorkspacePathInfo,
};
use serde_json::{Value, json};

use super::{decision, message, route};
use crate::Profile;

fn option(id: &str, kind: PermissionOptionKind, scope: GrantScope) -> PermissionOption {
    PermissionOption {
        option_id: id.to_owned(),
        name: id.to_owned(),
        kind,
        scope,
    }
}

fn ask() -> PermissionAsked {
    use PermissionOptionKind::{AllowAlways, AllowOnce, RejectAlways, RejectOnce};
    PermissionAsked {
        ask_id: "a".into(),
        tool_call: ToolCall::new("t", "write_file"),
        lineage: Vec::new(),
        policy_decision: None,
        judged: JudgedAct::default(),
        grant: None,
        requested_at: 1_767_225_600_000,
        deadline: Some(1_767_225_660_000),
        pending: 0,
        options: vec![
            option("allow_once", AllowOnce, GrantScope::Once),
            option("allow_session", AllowAlways, GrantScope::Session),
            option("allow_always", AllowAlways, GrantScope::Always),
            option("reject_once", RejectOnce, GrantScope::Once),
            option("reject_always", RejectAlways, GrantScope::Always),
        ],
    }
}

/// Returns a request that a policy asks for, with a path and a mutation session.
fn ask_with_policy() -> PermissionAsked {
    let mut ask = ask();
    ask.policy_decision = Some(PolicyDecision {
        receipt: ReceiptType::V1,
        action: PolicyAction::Ask,
        reason: "the session's mode is ask".to_owned(),
        matched_rule: None,
        risk_labels: Vec::new(),
        context: PolicyContext {
            tool_name: "write_file".to_owned(),
            paths: vec![WorkspacePathInfo {
                input: "./a.txt".to_owned(),
                kind: PathKind::WorkspaceRelative,
                normalized: "/w/a.txt".to_owned(),
                workspace_path: Some("a.txt".to_owned()),
                host_path: Some("/w/a.txt".to_owned()),
                recovered_root_drift: false,
                reason: None,
            }],
            ..PolicyContext::default()
        },
        confinement: None,
    });
    ask.tool_call.audit = Some(Arc::new(MutationSession {
        session_id: "s".into(),
        parent_session_id: None,
        run_id: None,
        worker_id: None,
        execution_kind: Some(ExecutionKind::Run),
        mutation_scope: MutationScope::ApplyWorkspace,
        approval_policy: ApprovalPolicy::None,
    }));
    ask
}

fn params(ask: &PermissionAsked, profile: Profile) -> Value {
    message(
        &SessionId::from("s"),
        ask,
        profile,
        super::QuestionAddressee::default(),
    )
    .unwrap()
    .into_parts()
    .1
}

const OURS: [&str; 4] = [
    "approvalRequest",
    "policyDecision",
    "mutation",
    "declaredPaths",
];

#[test]
fn contract_fields_are_beside_acps_only_in_harn_and_under_meta_in_every_profile() {
    let ask = ask_with_policy();
    let harn = params(&ask, Profile::Harn);
    assert_eq!(harn["approvalRequest"]["id"], "t");
    assert_eq!(harn["approvalRequest"]["action"], "write_file");
    assert_eq!(harn["approvalRequest"]["principal"], "s");
    assert_eq!(
        harn["approvalRequest"]["deadline"],
        "2026-01-01T00:01:00.000Z"
    );
    assert_eq!(harn["approvalRequest"]["evidence_refs"][0]["ref"], "a.txt");
    assert_eq!(harn["declaredPaths"], json!(["a.txt"]));
    assert_eq!(harn["policyDecision"]["action"], "ask");
    assert_eq!(harn["mutation"]["session_id"], "s");
    assert_eq!(harn["toolCall"]["toolName"], "write_file");
    for name in OURS {
        assert_eq!(harn[name], harn["_meta"]["harn"][name], "{name}");
    }
    for profile in [Profile::Meta, Profile::Acp] {
        let plain = params(&ask, profile);
        assert_eq!(plain["_meta"], harn["_meta"]);
        let members: Vec<_> = plain.as_object().unwrap().keys().collect();
        assert_eq!(members, ["sessionId", "toolCall", "options", "_meta"]);
        assert_eq!(plain["toolCall"].get("toolName"), None);
    }
}

#[test]
fn principal_is_the_first_nonempty_name() {
    let table = [
        (Some("w"), "acting", "w"),
        (Some(""), "acting", "acting"),
        (None, "acting", "acting"),
        (Some("w"), "", "w"),
        (Some(""), "", "s"),
        (None, "", "s"),
    ];
    for (worker, acting, principal) in table {
        let mut ask = ask_with_policy();
        let audit = ask.tool_call.audit.as_deref().unwrap().clone();
        ask.tool_call.audit = Some(Arc::new(MutationSession {
            session_id: acting.into(),
            worker_id: worker.map(Into::into),
            ..audit
        }));
        let named = &params(&ask, Profile::Harn)["approvalRequest"]["principal"];
        assert_eq!(named, principal, "{worker:?} {acting:?}");
    }
}

#[test]
fn request_without_a_policy_has_no_receipt() {
    let harn = params(&ask(), Profile::Harn);
    for place in [&harn, &harn["_meta"]["harn"]] {
        assert_eq!(place.get("policyDecision"), None);
        assert_eq!(place["mutation"], Value::Null);
        assert!(place.as_object().unwrap().contains_key("mutation"));
        assert_eq!(place["declaredPaths"], json!([]));
        assert_eq!(place["approvalRequest"]["id"], "t");
        assert_eq!(place["approvalRequest"]["undo_metadata"], Value::Null);
    }
}

#[test]
fn request_contains_scopes_and_deadline() {
    let harn = params(&ask(), Profile::Acp)["_meta"]["harn"].take();
    assert_eq!(harn["deadline"], "2026-01-01T00:01:00.000Z");
    let scope = |at: usize| {
        (
            &harn["options"][at]["optionId"],
            &harn["options"][at]["scope"],
        )
    };
    assert_eq!(scope(1), (&json!("allow_session"), &json!("session")));
    assert_eq!(scope(2), (&json!("allow_always"), &json!("always")));
    assert_eq!(scope(3), (&json!("reject_once"), &json!("once")));
    assert_eq!(harn.get("lineage"), None);
}

#[test]
fn request_contains_its_lineage() {
    let mut ask = ask();
    ask.lineage = vec![LineageEntry {
        worker_id: "w-1".into(),
        worker_name: "reviewer".to_owned(),
        session_id: "child".into(),
    }];
    for profile in [Profile::Harn, Profile::Meta, Profile::Acp] {
        assert_eq!(
            params(&ask, profile)["_meta"]["harn"]["lineage"],
            json!([{"workerId": "w-1", "workerName": "reviewer", "sessionId": "child"}])
        );
    }
}

/// Returns the content that a client shows for a call with this command line and title.
fn shown_content(title: Option<&str>, line: &str) -> Value {
    let mut ask = ask();
    ask.tool_call.kind = Some(ToolKind::Execute);
    ask.tool_call.title = title.map(str::to_owned);
    ask.tool_call.raw_input = json!({"command": line});
    params(&ask, Profile::Acp)["toolCall"]["content"].take()
}

#[test]
fn request_shows_the_whole_command() {
    let text = |text: &str| json!([{"type": "content", "content": {"type": "text", "text": text}}]);
    assert_eq!(shown_content(Some("ls -l"), "ls -l"), Value::Null);
    assert_eq!(shown_content(None, "ls -l"), text("```sh\nls -l\n```"));
    assert_eq!(
        shown_content(Some("List"), "ls *a*"),
        text("```sh\nls *a*\n```")
    );
    // Clients cut a title of more than one line.
    assert_eq!(
        shown_content(Some("ls\nrm -rf x"), "ls\nrm -rf x"),
        text("```sh\nls\nrm -rf x\n```")
    );
    let long = format!("echo {}", "x".repeat(10_000));
    assert_eq!(
        shown_content(Some(&long), &long),
        text(&format!("```sh\n{long}\n```"))
    );
    // Nothing in the command closes the block.
    assert_eq!(
        shown_content(None, "echo '\n```\n'; rm x"),
        text("````sh\necho '\n```\n'; rm x\n````")
    );
}

#[test]
fn command_of_words_is_shown_as_the_policy_judged_it() {
    let mut ask = ask();
    ask.tool_call.raw_input = json!({"command": ["ls", "a b"]});
    ask.judged.line = Some("ls 'a b'".to_owned());
    let content = params(&ask, Profile::Acp)["toolCall"]["content"].take();
    assert_eq!(content[0]["content"]["text"], "```sh\nls 'a b'\n```");
    ask.tool_call.title = Some("ls 'a b'".to_owned());
    assert_eq!(params(&ask, Profile::Acp)["toolCall"].get("content"), None);
}

#[test]
fn command_precedes_the_agents_content() {
    let mut ask = ask();
    ask.tool_call.kind = Some(ToolKind::Execute);
    ask.tool_call.raw_input = json!({"command": "make"});
    ask.tool_call.content = vec![ToolContent::text("builds everything")];
    let content = params(&ask, Profile::Harn)["toolCall"]["content"].take();
    assert_eq!(content[0]["content"]["text"], "```sh\nmake\n```");
    assert_eq!(content[1]["content"]["text"], "builds everything");
    // The content already shows the command, or the call has no command.
    ask.tool_call.content = vec![ToolContent::text("make")];
    let content = params(&ask, Profile::Harn)["toolCall"]["content"].take();
    assert_eq!(content.as_array().unwrap().len(), 1);
    ask.tool_call.kind = Some(ToolKind::Read);
    ask.tool_call.content = Vec::new();
    assert_eq!(params(&ask, Profile::Harn)["toolCall"].get("content"), None);
}

#[test]
fn route_names_the_client_that_was_asked() {
    let client = json!({
        "client_id": "an editor", "mode": "controller", "attached_at": "1767225600",
        "last_seen_at": "1767225600", "prompt_injection": true, "permission_routing": true,
        "metadata": {},
    });
    let asked = serde_json::from_value(client.clone()).unwrap();
    let routed = serde_json::to_value(route(&ask(), asked)).unwrap();
    assert_eq!(
        routed,
        json!({
            "request_id": "t",
            "ask_id": "a",
            "client": client,
        })
    );
}

/// Returns the decision as a word, with the chosen option or the reason.
fn describe_decision(profile: Profile, answer: Value) -> String {
    match decision(&ask(), profile, Ok(answer)) {
        Decision::Allowed {
            option_id,
            args: None,
        } => format!("allowed {option_id}"),
        Decision::Allowed {
            option_id,
            args: Some(args),
        } => format!("allowed {option_id} with {args}"),
        Decision::Rejected { option_id, reason } => {
            let reason = reason.unwrap_or_default();
            format!("rejected {}: {reason}", option_id.unwrap_or_default())
        }
        Decision::Cancelled => "cancelled".to_owned(),
        Decision::Unavailable { reason } => format!("none: {reason}"),
    }
}

const NOT_UNDERSTOOD: &str = "none: the client's answer was not understood";
const BOTH: &str = "none: the client's answer contradicts itself about whether the call is granted";
const OTHERWISE: &str =
    "none: the client's answer contradicts the decision that it recorded, so it does not count";

#[test]
fn only_an_explicit_yes_is_a_grant() {
    let chose = |id: Value| json!({"outcome": {"outcome": "selected", "optionId": id}});
    let recorded = |mut answer: Value, outcome: Value| {
        answer["_meta"] = json!({"harn": {"permissionDecision": {"outcome": outcome}}});
        answer
    };
    let with = |mut answer: Value, more: Value| {
        let members = more.as_object().unwrap().clone();
        answer.as_object_mut().unwrap().extend(members);
        answer
    };
    let yes = || chose(json!("allow_once"));
    let no = || chose(json!("reject_once"));
    let cancelled = || json!({"outcome": {"outcome": "cancelled"}});
    let once = "rejected reject_once: the client rejected the call";
    let always = "rejected reject_always: the client rejected such calls from now on";
    let unknown = "rejected : the client chose an option that was not offered";
    let twofold = "none: the client answered `cancelled` and also chose an option";
    let stray = "none: the client's answer has `args` without `granted`";
    #[rustfmt::skip]
    let table = [
        // ACP's own answers.
        (yes(), "allowed allow_once"),
        (chose(json!("allow_session")), "allowed allow_session"),
        (chose(json!("allow_always")), "allowed allow_always"),
        (no(), once),
        (chose(json!("reject_always")), always),
        (chose(json!("allow")), unknown),
        (chose(json!("")), unknown),
        (chose(json!("ALLOW_ONCE")), unknown),
        (chose(json!("allow_once ")), unknown),
        (cancelled(), "cancelled"),
        (with(yes(), json!({"_meta": {"other": 1}, "more": true})), "allowed allow_once"),
        // Malformed answers.
        (chose(json!(null)), NOT_UNDERSTOOD),
        (chose(json!(1)), NOT_UNDERSTOOD),
        (chose(json!(["allow_once"])), NOT_UNDERSTOOD),
        (json!({"outcome": {"outcome": "selected", "option_id": "reject_once", "optionId": {}}}), NOT_UNDERSTOOD),
        (json!({"outcome": {"outcome": "cancelled", "optionId": "allow_once"}}), twofold),
        (json!({"outcome": {"outcome": "allowed", "optionId": "allow_once"}}), NOT_UNDERSTOOD),
        (json!({"outcome": {"outcome": "Selected", "optionId": "allow_once"}}), NOT_UNDERSTOOD),
        (json!({"outcome": {"outcome": true, "optionId": "allow_once"}}), NOT_UNDERSTOOD),
        (json!({"outcome": {"optionId": "allow_once"}}), NOT_UNDERSTOOD),
        (json!({"outcome": {}}), NOT_UNDERSTOOD),
        (json!({"outcome": "selected"}), NOT_UNDERSTOOD),
        (json!({"outcome": "allow"}), NOT_UNDERSTOOD),
        (json!({"outcome": "cancelled"}), NOT_UNDERSTOOD),
        (json!({"outcome": null}), NOT_UNDERSTOOD),
        (json!({"outcome": true}), NOT_UNDERSTOOD),
        (json!({"outcome": [{"outcome": "selected", "optionId": "allow_once"}]}), NOT_UNDERSTOOD),
        (json!({"optionId": "allow_once"}), NOT_UNDERSTOOD),
        (json!({}), NOT_UNDERSTOOD),
        (json!(null), NOT_UNDERSTOOD),
        (json!(true), NOT_UNDERSTOOD),
        (json!("allow_once"), NOT_UNDERSTOOD),
        (json!([]), NOT_UNDERSTOOD),
        (json!([{"outcome": "selected", "optionId": "allow_once"}, true]), NOT_UNDERSTOOD),
        // The contract's answers.
        (json!({"granted": true}), "allowed allow_once"),
        (json!({"granted": true, "args": {"path": "b"}}), r#"allowed allow_once with {"path":"b"}"#),
        (json!({"granted": true, "args": {}}), "allowed allow_once with {}"),
        (json!({"granted": true, "reason": "go on"}), "allowed allow_once"),
        (json!({"granted": true, "reason": null}), "allowed allow_once"),
        (json!({"granted": false}), "rejected : "),
        (json!({"granted": false, "reason": "not on a Friday"}), "rejected : not on a Friday"),
        (json!({"granted": false, "reason": null}), "rejected : "),
        (json!({"granted": false, "args": {}}), "rejected : "),
        (json!({"granted": true, "args": null}), NOT_UNDERSTOOD),
        (json!({"granted": true, "args": []}), NOT_UNDERSTOOD),
        (json!({"granted": true, "args": "{}"}), NOT_UNDERSTOOD),
        (json!({"granted": "true"}), NOT_UNDERSTOOD),
        (json!({"granted": 1}), NOT_UNDERSTOOD),
        (json!({"granted": null}), NOT_UNDERSTOOD),
        (json!({"granted": {}}), NOT_UNDERSTOOD),
        (json!({"Granted": true}), NOT_UNDERSTOOD),
        (json!({"args": {}}), "none: the client's answer has `args` without `granted`"),
        // Both, in agreement.
        (with(yes(), json!({"granted": true})), "allowed allow_once"),
        (with(chose(json!("allow_always")), json!({"granted": true})), "allowed allow_always"),
        (with(yes(), json!({"granted": true, "args": {"a": 1}})), r#"allowed allow_once with {"a":1}"#),
        (with(no(), json!({"granted": false})), once),
        (with(no(), json!({"granted": false, "reason": "why"})), "rejected reject_once: why"),
        (with(cancelled(), json!({"granted": false})), "cancelled"),
        // Both, in contradiction.
        (with(no(), json!({"granted": true})), BOTH),
        (with(no(), json!({"granted": true, "args": {}})), BOTH),
        (with(yes(), json!({"granted": false})), BOTH),
        (with(yes(), json!({"granted": "false"})), NOT_UNDERSTOOD),
        (with(yes(), json!({"granted": null})), NOT_UNDERSTOOD),
        (with(yes(), json!({"args": {}})), stray),
        (with(cancelled(), json!({"granted": true})), BOTH),
        (with(chose(json!("other")), json!({"granted": true})), BOTH),
        (json!({"outcome": null, "granted": true}), NOT_UNDERSTOOD),
        (json!({"outcome": "selected", "granted": true}), NOT_UNDERSTOOD),
        (json!({"outcome": "cancelled", "granted": true}), NOT_UNDERSTOOD),
        // With the decision that the host recorded.
        (recorded(yes(), json!("approved")), "allowed allow_once"),
        (recorded(yes(), json!("granted")), "allowed allow_once"),
        (recorded(json!({"granted": true}), json!("approved")), "allowed allow_once"),
        (recorded(no(), json!("denied")), once),
        (recorded(no(), json!("rejected")), once),
        (recorded(cancelled(), json!("cancelled")), "cancelled"),
        (recorded(yes(), json!("rejected")), OTHERWISE),
        (recorded(yes(), json!("cancelled")), OTHERWISE),
        (recorded(no(), json!("approved")), OTHERWISE),
        (recorded(cancelled(), json!("approved")), OTHERWISE),
        (recorded(yes(), json!("maybe")), NOT_UNDERSTOOD),
        (recorded(yes(), json!(null)), NOT_UNDERSTOOD),
        (with(yes(), json!({"_meta": {"harn": {"permissionDecision": {}}}})), NOT_UNDERSTOOD),
        (with(yes(), json!({"_meta": {"harn": {"permissionDecision": null}}})), NOT_UNDERSTOOD),
        (with(yes(), json!({"_meta": {"harn": {}}})), "allowed allow_once"),
        (with(yes(), json!({"_meta": null})), "allowed allow_once"),
    ];
    assert!(table.len() > 80);
    for (answer, meaning) in table {
        for profile in [Profile::Harn, Profile::Meta, Profile::Acp] {
            let actual = describe_decision(profile, answer.clone());
            assert_eq!(actual, meaning, "{profile:?} {answer}");
        }
    }
}

/// Checks the contract's form that is older than options; only the profile `harn` accepts it.
#[test]
fn only_harn_accepts_a_choice_without_an_option() {
    let bare = || json!({"outcome": {"outcome": "selected"}});
    assert_eq!(
        describe_decision(Profile::Harn, bare()),
        "allowed allow_once"
    );
    for profile in [Profile::Meta, Profile::Acp] {
        assert_eq!(
            describe_decision(profile, bare()),
            "none: the client answered `selected` without an option id"
        );
    }
    let mut denied = bare();
    denied["granted"] = json!(false);
    assert_eq!(describe_decision(Profile::Harn, denied), BOTH);
    let mut granted = bare();
    granted["granted"] = json!(true);
    assert_eq!(
        describe_decision(Profile::Harn, granted),
        "allowed allow_once"
    );
}

#[test]
fn granted_without_an_option_needs_an_allow_once_option() {
    let mut ask = ask();
    ask.options.remove(0);
    let answer = json!({"granted": true});
    let decision = decision(&ask, Profile::Harn, Ok(answer));
    assert!(
        matches!(decision, Decision::Unavailable { .. }),
        "{decision:?}"
    );
}

/// Of options with one id, the one that rejects counts.
#[test]
fn option_id_of_both_kinds_is_no_grant() {
    let mut ask = ask();
    ask.options[3].option_id = "allow_once".to_owned();
    let answer = json!({"outcome": {"outcome": "selected", "optionId": "allow_once"}});
    assert!(!decision(&ask, Profile::Acp, Ok(answer)).allows());
}

#[test]
fn an_error_is_no_answer() {
    let reason = |error: Error| match decision(&ask(), Profile::Harn, Err(error)) {
        Decision::Unavailable { reason } => reason,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        reason(Error::method_not_found()),
        "the client does not offer session/request_permission, so the call could not be approved and \
         did not run"
    );
    let secret = Error::new(-32000, "busy\u{1b}[31m").data(json!({"token": "hush"}));
    assert_eq!(reason(secret), "the client could not be asked: busy[31m");
    let endless = reason(Error::new(-32001, "x".repeat(5000)));
    assert!(endless.len() < 250, "{}", endless.len());
}
