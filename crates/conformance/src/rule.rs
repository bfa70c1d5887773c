//! The rules by name, each with its requirement as a sentence. The file of each subject has the check.

use std::fmt;

use serde::{Serialize, Serializer};

macro_rules! rules {
    ($($variant:ident $name:literal $sentence:literal)*) => {
        /// A rule for every recording of a conversation.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum ConformanceRule {
            $(#[doc = $sentence] $variant,)*
        }

        impl ConformanceRule {
            /// All rules, in reading order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// Returns the name that reports use; it is stable.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// Returns the requirement as a sentence.
            pub fn sentence(self) -> &'static str {
                match self { $(Self::$variant => $sentence,)* }
            }
        }
    };
}

rules! {
    NotJson "not-json" "A line is one JSON text in UTF-8."
    LineTooLong "line-too-long" "A line is no longer than 64 MiB."
    NotAMessage "not-a-message" "A line is one JSON-RPC 2.0 request, notification or answer, not a batch."
    IdInUse "id-in-use" "A request has an id that no open request of its side has."
    AnswerWithoutRequest "answer-without-request" "An answer has the id of a request that was made."
    AnsweredTwice "answered-twice" "A request is answered once."
    UnknownMethod "unknown-method" "A method is ACP's or the contract's and comes from the side that may use it; others begin with `_`."
    WrongShape "wrong-shape" "Params and results fit the ACP schema."
    UnknownMember "unknown-member" "Members are in the schema; additions are under `_meta`."
    UnknownUpdate "unknown-update" "A `sessionUpdate` is ACP's or one of the extensions, a `kind` of `_harn/agentEvent` one of its kinds."
    WrongExtension "wrong-extension" "Data under `_meta.harn`, in `_harn/agentEvent`, in the methods that steer a turn and over the host bridge fits the schemas of the extensions."
    NotAdvertised "not-advertised" "Extensions, kinds, methods and fields are sent only if the answer to `initialize` named them."
    NotOffered "not-offered" "The agent asks a host for tools, operations and skills (`builtin_call`, `host/…`, `skills/…`, `skill/match`) only if the host declared `hostBridge`, or the answer to `initialize` named the method."
    SessionNotOpen "session-not-open" "Updates and requests are for open sessions: after the answer to `session/new`, `resume` or `fork`, from `session/load` on, until `session/close`."
    UpdateBeforeCall "update-before-call" "A `tool_call_update` comes after the `tool_call` it updates."
    CallAnnouncedTwice "call-announced-twice" "A tool call is announced once."
    UpdateAfterEnd "update-after-end" "A tool call has no updates after `completed` or `failed`."
    CallLeftOpen "call-left-open" "Every tool call of a turn has ended when its `session/prompt` is answered."
    CallOutsideTurn "call-outside-turn" "Tool calls are announced and updated only while a turn runs."
    AskBeforeCall "ask-before-call" "A permission request names a tool call that was announced and has not ended."
    RequestOutsideTurn "request-outside-turn" "The agent asks a client for permission, files, terminals and host operations only while a turn runs."
    ApprovalLacking "approval-lacking" "A permission request has the contract's members under `_meta.harn` and, to a client that asked for the profile `harn`, beside ACP's."
    ApprovalDiffers "approval-differs" "The members that a permission request has beside ACP's are the same under `_meta.harn`, and the id of its `approvalRequest` is that of its call."
    NoDeadline "no-deadline" "The `approvalRequest` of a permission request has the `deadline` for the answer."
    DurationBeforeEnd "duration-before-end" "`durationMs` and `executionDurationMs` are on the update that ends the call."
    CategoryWithoutFailure "category-without-failure" "`errorCategory` is beside `error` on an update with status `failed`."
    TwoRawInputs "two-raw-inputs" "`rawInput` and `rawInputPartial` are not on the same update."
    ParsingOutOfOrder "parsing-out-of-order" "`parsing: true` is on the `tool_call`, `parsing: false` follows once, before or with the end of the call."
    WorkOutsideTurn "work-outside-turn" "Workers and composition runs make progress, and agents are idle, only while a turn runs."
    WorkerNotSpawned "worker-not-spawned" "The first event of a worker is `WorkerSpawned`."
    WorkerAfterEnd "worker-after-end" "A worker has no events after its terminal event."
    WorkerTerminalWrong "worker-terminal-wrong" "`terminal` is true for `WorkerCompleted`, `WorkerFailed`, `WorkerStopped` and `WorkerCancelled`, else false."
    WorkerStatusWrong "worker-status-wrong" "A worker's `status` matches its `event`."
    CompositionNotOpen "composition-not-open" "A composition run begins with `composition_start`, and its other events follow."
    CompositionStartedTwice "composition-started-twice" "A composition run is started once."
    CompositionAfterEnd "composition-after-end" "A composition run has no events after its finish or error."
    CompositionResultWithoutCall "composition-result-without-call" "A child's result comes once, after its call in the same run."
    HitlNotAsked "hitl-not-asked" "A `hitl_resolved` comes once, after its `hitl_request`."
    SkillNotActive "skill-not-active" "A skill is deactivated after it was activated."
    DeliveredEarly "delivered-early" "A message that is injected is delivered after the answer that accepts it."
    DeliveredTwice "delivered-twice" "A message that is injected is delivered once."
    DeliveredRevoked "delivered-revoked" "A message that was revoked is not delivered."
    OutcomeWrong "outcome-wrong" "A `control_outcome` is about its own session, and has its outcome as `reason` if its status is `rejected`, and only then."
    SkipWrong "skip-wrong" "A `loop_checkpoint` reports skipped tools only at `pre_tool_dispatch`, and with a `skipReason`."
    RosterWrong "roster-wrong" "The live clients are consistent: each is listed once, at most one is a controller and it is the active one, observers neither inject messages nor receive questions."
    EventIdsOutOfOrder "event-ids-out-of-order" "The event ids of a session grow from line to line; they begin again only after a request that opens the session again."
}

impl fmt::Display for ConformanceRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Serialize for ConformanceRule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}
