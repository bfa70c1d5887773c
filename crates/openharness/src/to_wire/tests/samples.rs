//! Requests, runs and questions for the tests of responses.

use std::sync::Arc;

use harn_model::{
    Artifact, AskId, GrantScope, HitlKind, HitlRequest, LineageEntry, PermissionAsked,
    PermissionOption, PermissionOptionKind, Plan, PlanEntry, PlanEntryStatus, PlanPriority,
    PolicyAction, PolicyContext, PolicyDecision, ReceiptType, RiskLabel, Seq, StopReason,
    Timestamp, ToolCall, ToolCallId, ToolCallStatus, ToolContent, ToolKind, TurnId,
};
use serde_json::{Value, json};

use crate::{
    continuation::RunCursor,
    fixtures,
    from_wire::read,
    report::{CallSummary, RunPhase, RunReport},
    request::ShellRequest,
};

pub(super) const NOW: Timestamp = 1_700_000_010_000;

/// Returns the request of a fixture, with a change.
pub(super) fn read_fixture(name: &str, change: impl FnOnce(&mut Value)) -> ShellRequest {
    let mut message = fixtures::message(name);
    change(&mut message);
    read(message.to_string().as_bytes()).unwrap()
}

/// Returns the request of a Shell of this kind with these capabilities.
pub(super) fn request_of_shell(kind: &str, capabilities: Value) -> ShellRequest {
    read_fixture("request-minimal", |it| {
        it["request_id"] = json!("req_1");
        it["capabilities"] = capabilities;
        it["request"]["context"]["shell"] = json!({ "shell_kind": kind });
    })
}

pub(super) fn plain_request() -> ShellRequest {
    request_of_shell("im_bot", json!({}))
}

pub(super) fn report(state: RunPhase) -> RunReport {
    RunReport {
        place: RunCursor {
            session: "oh_1".into(),
            turn: TurnId::new("trn_1"),
            after: Seq(12),
        },
        state,
        began_at: NOW - 8_400,
        until: NOW,
        messages: Vec::new(),
        calls: Vec::new(),
        artifacts: Vec::new(),
        plan: None,
        asks: Vec::new(),
        questions: Vec::new(),
    }
}

pub(super) fn ended_report(messages: &[&str]) -> RunReport {
    RunReport {
        messages: messages.iter().map(|&text| text.to_owned()).collect(),
        ..report(RunPhase::Ended(StopReason::EndTurn))
    }
}

pub(super) fn call(id: &str, tool: &str, kind: ToolKind, status: ToolCallStatus) -> CallSummary {
    CallSummary {
        id: ToolCallId::new(id),
        tool: tool.to_owned(),
        title: Some(format!("{tool} README.md")),
        kind: Some(kind),
        status,
        error: None,
    }
}

pub(super) fn busy_report() -> RunReport {
    let failed = CallSummary {
        error: Some("no such file".to_owned()),
        title: None,
        ..call("c2", "read_file", ToolKind::Read, ToolCallStatus::Failed)
    };
    let step = |content: &str, status| PlanEntry {
        content: content.to_owned(),
        status,
        priority: PlanPriority::Medium,
    };
    RunReport {
        calls: vec![
            call("c1", "read_file", ToolKind::Read, ToolCallStatus::Completed),
            failed,
        ],
        plan: Some(Plan::Entries(vec![
            step("Read the README", PlanEntryStatus::Completed),
            step("Count its lines", PlanEntryStatus::InProgress),
        ])),
        artifacts: vec![Artifact {
            artifact_id: "art_1".to_owned(),
            kind: "file".to_owned(),
            title: Some("Line counts".to_owned()),
            mime_type: "text/csv".to_owned(),
            spec: json!({"uri": "file:///work/lines.csv"}),
            fallback: "Line counts are in lines.csv.".to_owned(),
            size_bytes: 120,
            provenance: Value::Null,
            metadata: Value::Null,
        }],
        ..ended_report(&["Let me look.", "The README has **120** lines."])
    }
}

pub(super) fn options(lasting: bool) -> Vec<PermissionOption> {
    use PermissionOptionKind::{AllowAlways, AllowOnce, RejectOnce};
    let option = |id: &str, name: &str, kind, scope| PermissionOption {
        option_id: id.to_owned(),
        name: name.to_owned(),
        kind,
        scope,
    };
    let mut options = vec![option("y", "Allow this once", AllowOnce, GrantScope::Once)];
    if lasting {
        let always = "Always allow `cargo test` in this workspace";
        options.push(option(
            "s",
            "Allow for this session",
            AllowAlways,
            GrantScope::Session,
        ));
        options.push(option("a", always, AllowAlways, GrantScope::Always));
    }
    options.push(option(
        "n",
        "Reject this once",
        RejectOnce,
        GrantScope::Once,
    ));
    options
}

pub(super) fn receipt(reason: &str, risk_labels: Vec<RiskLabel>) -> PolicyDecision {
    PolicyDecision {
        receipt: ReceiptType::V1,
        action: PolicyAction::Ask,
        reason: reason.to_owned(),
        matched_rule: None,
        risk_labels,
        context: PolicyContext::default(),
        confinement: None,
    }
}

pub(super) fn command_ask() -> PermissionAsked {
    let call = ToolCall {
        title: Some("Run the tests".to_owned()),
        kind: Some(ToolKind::Execute),
        raw_input: json!({"command": "cargo test --workspace"}),
        ..ToolCall::new("c3", "shell")
    };
    PermissionAsked {
        policy_decision: Some(receipt(
            "commands ask in this mode",
            vec![RiskLabel::ApprovalRequired],
        )),
        requested_at: NOW - 10_000,
        deadline: Some(NOW + 1_790_000),
        ..PermissionAsked::new(AskId::new("ask_1"), call, options(true))
    }
}

pub(super) fn edit_ask() -> PermissionAsked {
    let location = |path: &str| harn_model::Location {
        path: path.to_owned(),
        line: None,
    };
    let call = ToolCall {
        kind: Some(ToolKind::Edit),
        raw_input: json!({"path": "NOTES.md", "text": "120 lines\n"}),
        locations: vec![location("/work/NOTES.md")],
        content: vec![ToolContent::Diff {
            path: "/work/NOTES.md".to_owned(),
            old_text: None,
            new_text: "120 lines\n".to_owned(),
        }],
        ..ToolCall::new("c4", "write_file")
    };
    PermissionAsked {
        lineage: vec![LineageEntry {
            worker_id: "w_1".into(),
            worker_name: "scribe".to_owned(),
            session_id: "oh_2".into(),
        }],
        ..PermissionAsked::new(AskId::new("ask_2"), call, options(false))
    }
}

pub(super) fn question(kind: HitlKind, subject: &str) -> HitlRequest {
    HitlRequest {
        request_id: kind.request_id("1"),
        kind,
        subject: subject.to_owned(),
        detail: None,
        choices: Vec::new(),
        default: None,
        to: None,
        reviewers: Vec::new(),
        quorum: 1,
        approval: None,
        mutation: None,
        agent: "script".to_owned(),
        turn: TurnId::new("trn_1"),
        requested_at: NOW,
        deadline: NOW + 600_000,
        lineage: Vec::new(),
    }
}

pub(super) fn parked_report(asks: Vec<PermissionAsked>, questions: Vec<HitlRequest>) -> RunReport {
    RunReport {
        asks,
        questions: questions.into_iter().map(Arc::new).collect(),
        ..report(RunPhase::Parked)
    }
}

/// Returns every response about a run, by the name of its file.
pub(super) fn all_responses() -> Vec<(&'static str, ShellRequest, RunReport, &'static str)> {
    let port = HitlRequest {
        choices: vec!["8080".to_owned(), "9090".to_owned()],
        default: Some("8080".to_owned()),
        ..question(HitlKind::Question, "Which port?")
    };
    let deploy = HitlRequest {
        detail: Some("Version 4.1, to production.".to_owned()),
        ..question(HitlKind::Approval, "deploy")
    };
    let rich = || read_fixture("request", |_| {});
    let text = "## Result\n\nThe [README](README.md) has **120** lines, counted with `wc -l`.";
    let long = "The README has **120** lines, of which 80 are about installation, 20 are about \
                the licence, and the others about whatever its authors thought of at the time.\n\n\
                - one\n- two\n- three";
    vec![
        (
            "response",
            rich(),
            ended_report(&[text]),
            "What the agent said, in Markdown",
        ),
        (
            "response-steps",
            plain_request(),
            ended_report(&["Let me look.", text]),
            "What it said step by step, as one message",
        ),
        (
            "response-plain",
            request_of_shell("command_shell", json!({})),
            ended_report(&[text]),
            "The same for a Shell that shows plain text",
        ),
        (
            "response-short",
            request_of_shell("tv", json!({})),
            ended_report(&["Let me look.", long]),
            "The last that it said, for a Shell that is read from afar",
        ),
        (
            "response-card",
            rich(),
            busy_report(),
            "What it did, on a card beside the text",
        ),
        (
            "response-no-card",
            plain_request(),
            busy_report(),
            "The same for a Shell without cards",
        ),
        (
            "response-parked",
            plain_request(),
            RunReport {
                messages: vec!["I would run the tests.".to_owned()],
                ..parked_report(vec![command_ask()], Vec::new())
            },
            "A command waits for a person",
        ),
        (
            "response-parked-several",
            rich(),
            parked_report(vec![command_ask(), edit_ask()], Vec::new()),
            "Two calls wait, one of them a worker's, for a Shell that may ask about both at once",
        ),
        (
            "response-question",
            plain_request(),
            parked_report(Vec::new(), vec![port]),
            "The agent asks a person something",
        ),
        (
            "response-question-decided",
            plain_request(),
            parked_report(Vec::new(), vec![deploy]),
            "The agent asks for a decision",
        ),
        (
            "response-running",
            plain_request(),
            RunReport {
                messages: vec!["This takes a while.".to_owned()],
                ..report(RunPhase::Running)
            },
            "The run takes longer than the request waits",
        ),
        (
            "response-limit",
            plain_request(),
            RunReport {
                state: RunPhase::Ended(StopReason::MaxTokens),
                ..ended_report(&["The README has"])
            },
            "The agent stopped at a limit of its own",
        ),
        (
            "response-cancelled",
            plain_request(),
            RunReport {
                state: RunPhase::Ended(StopReason::Cancelled),
                ..ended_report(&["Let me look."])
            },
            "The run was cancelled; what was said before is told",
        ),
        (
            "response-failed",
            plain_request(),
            RunReport {
                state: RunPhase::Failed("the model could not be reached".to_owned()),
                ..ended_report(&["Let me look."])
            },
            "The agent failed; what was said before is told",
        ),
        (
            "response-interrupted",
            plain_request(),
            report(RunPhase::Interrupted),
            "The engine stopped in the middle of the run",
        ),
        (
            "response-denial",
            request_of_shell("im_bot", json!({"openharness.streaming": true})),
            ended_report(&["The README has 120 lines."]),
            "The Shell wants a capability that is not there",
        ),
        (
            "response-silent",
            plain_request(),
            ended_report(&[]),
            "The agent said nothing",
        ),
    ]
}
