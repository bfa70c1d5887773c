//! The answers that a client may send to a question, and the effect that each must have: the oracle. It follows
//! the text of the contract and shares nothing with the code that reads answers.

use proptest::{prelude::*, sample::select};
use serde_json::{Value, json};

/// An answer that a client sends to a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    AllowOnce,
    AllowSession,
    AllowAlways,
    Granted,
    GrantedWithArgs,
    GrantedAndChosen,
    ChosenAndRecorded,
    SelectedNothing,
    RejectOnce,
    RejectAlways,
    Refused,
    RefusedAndRejected,
    UnknownOption,
    EmptyOption,
    OtherSpelling,
    Error,
    NotFound,
    Cancelled,
    Null,
    Number,
    List,
    Empty,
    BareOutcome,
    StrangeOutcome,
    GrantedText,
    GrantedNull,
    NullOption,
    ArgsAlone,
    ArgsList,
    GrantedAndRejected,
    RefusedAndAllowed,
    GrantedAndCancelled,
    CancelledWithOption,
    RecordedOtherwise,
    ResultAndError,
    NoJson,
    OtherId,
}

/// The effect of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Worth {
    /// An explicit approval: the call runs.
    Runs,
    /// An explicit refusal, or an option that was not offered.
    Refuses,
    /// Any other answer. From the client that prompted it refuses the call; from another client it leaves the
    /// question open.
    Fails,
    Cancels,
    /// Not an answer: the question stays open.
    Nothing,
}

use Answer::*;

pub(crate) const ALL: [Answer; 37] = [
    AllowOnce,
    AllowSession,
    AllowAlways,
    Granted,
    GrantedWithArgs,
    GrantedAndChosen,
    ChosenAndRecorded,
    SelectedNothing,
    RejectOnce,
    RejectAlways,
    Refused,
    RefusedAndRejected,
    UnknownOption,
    EmptyOption,
    OtherSpelling,
    Error,
    NotFound,
    Cancelled,
    Null,
    Number,
    List,
    Empty,
    BareOutcome,
    StrangeOutcome,
    GrantedText,
    GrantedNull,
    NullOption,
    ArgsAlone,
    ArgsList,
    GrantedAndRejected,
    RefusedAndAllowed,
    GrantedAndCancelled,
    CancelledWithOption,
    RecordedOtherwise,
    ResultAndError,
    NoJson,
    OtherId,
];

impl Answer {
    /// Returns the effect that the contract gives this answer.
    pub(crate) fn expected_effect(self, profile: &str) -> Worth {
        match self {
            AllowOnce | AllowSession | AllowAlways => Worth::Runs,
            Granted | GrantedWithArgs | GrantedAndChosen | ChosenAndRecorded => Worth::Runs,
            // The contract's own form; only hosts of the profile `harn` use it.
            SelectedNothing if profile == "harn" => Worth::Runs,
            SelectedNothing => Worth::Fails,
            RejectOnce | RejectAlways | Refused | RefusedAndRejected => Worth::Refuses,
            UnknownOption | EmptyOption | OtherSpelling => Worth::Refuses,
            Error | NotFound => Worth::Fails,
            Cancelled => Worth::Cancels,
            Null | Number | List | Empty | BareOutcome | StrangeOutcome => Worth::Fails,
            GrantedText | GrantedNull | NullOption | ArgsAlone | ArgsList => Worth::Fails,
            GrantedAndRejected | RefusedAndAllowed | GrantedAndCancelled => Worth::Fails,
            CancelledWithOption | RecordedOtherwise => Worth::Fails,
            ResultAndError | NoJson | OtherId => Worth::Nothing,
        }
    }

    /// Returns the line that answers the request with this id.
    pub(crate) fn line(self, id: &Value, number: usize) -> String {
        let selected = |option: &str| json!({"outcome": "selected", "optionId": option});
        let result = match self {
            AllowOnce => json!({"outcome": selected("allow_once")}),
            AllowSession => json!({"outcome": selected("allow_session")}),
            AllowAlways => json!({"outcome": selected("allow_always")}),
            Granted => json!({"granted": true}),
            GrantedWithArgs => json!({"granted": true, "args": rewritten_arguments(number)}),
            GrantedAndChosen => json!({"granted": true, "outcome": selected("allow_session")}),
            ChosenAndRecorded => json!({
                "outcome": selected("allow_once"),
                "_meta": {"harn": {"permissionDecision": {"outcome": "approved"}}},
            }),
            SelectedNothing => json!({"outcome": {"outcome": "selected"}}),
            RejectOnce => json!({"outcome": selected("reject_once")}),
            RejectAlways => json!({"outcome": selected("reject_always")}),
            Refused => json!({"granted": false, "reason": "not today"}),
            RefusedAndRejected => json!({"granted": false, "outcome": selected("reject_once")}),
            UnknownOption => json!({"outcome": selected("allow_everything")}),
            EmptyOption => json!({"outcome": selected("")}),
            OtherSpelling => json!({"outcome": selected("Allow_Once ")}),
            Cancelled => json!({"outcome": {"outcome": "cancelled"}}),
            Null => Value::Null,
            Number => json!(1),
            List => json!([{"outcome": "selected", "optionId": "allow_once"}, true]),
            Empty => json!({}),
            BareOutcome => json!({"outcome": "selected", "optionId": "allow_once"}),
            StrangeOutcome => json!({"outcome": {"outcome": "allowed", "optionId": "allow_once"}}),
            GrantedText => json!({"granted": "true"}),
            GrantedNull => json!({"granted": null, "outcome": selected("allow_once")}),
            NullOption => json!({"outcome": {"outcome": "selected", "optionId": null}}),
            ArgsAlone => {
                json!({"outcome": selected("allow_once"), "args": rewritten_arguments(number)})
            }
            ArgsList => json!({"granted": true, "args": [1]}),
            GrantedAndRejected => json!({"granted": true, "outcome": selected("reject_once")}),
            RefusedAndAllowed => json!({"granted": false, "outcome": selected("allow_once")}),
            GrantedAndCancelled => json!({"granted": true, "outcome": {"outcome": "cancelled"}}),
            CancelledWithOption => {
                json!({"outcome": {"outcome": "cancelled", "optionId": "allow_once"}})
            }
            RecordedOtherwise => json!({
                "outcome": selected("allow_once"),
                "_meta": {"harn": {"permissionDecision": {"outcome": "rejected"}}},
            }),
            Error => return error_line(id, -32603, "no window to ask in"),
            NotFound => return error_line(id, -32601, "Method not found"),
            ResultAndError => {
                let error = json!({"code": -32603, "message": "both"});
                let result = json!({"outcome": selected("allow_once")});
                return json!({"jsonrpc": "2.0", "id": id, "result": result, "error": error})
                    .to_string();
            }
            NoJson => return format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"outcome"),
            OtherId => {
                let result = json!({"outcome": selected("allow_once")});
                let id = format!("{}x", id.as_str().unwrap_or_default());
                return json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string();
            }
        };
        json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string()
    }

    /// Returns the arguments that the call runs with after this answer.
    pub(crate) fn arguments(self, number: usize) -> Value {
        match self {
            GrantedWithArgs => rewritten_arguments(number),
            _ => json!({"number": number}),
        }
    }
}

fn error_line(id: &Value, code: i32, message: &str) -> String {
    let error = json!({"code": code, "message": message});
    json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string()
}

fn rewritten_arguments(number: usize) -> Value {
    json!({"number": number, "by": "the client"})
}

/// Half of the answers allow the call, because most errors can only occur after an approval.
pub(crate) fn answer() -> impl Strategy<Value = Answer> {
    let yes = [
        AllowOnce,
        AllowSession,
        AllowAlways,
        Granted,
        GrantedWithArgs,
        GrantedAndChosen,
        ChosenAndRecorded,
    ];
    prop_oneof![5 => select(yes.to_vec()), 5 => select(ALL.to_vec())]
}
