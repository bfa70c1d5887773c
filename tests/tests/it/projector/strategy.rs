//! Random turns: few ids, fields that do not belong there, and no order.

use harn_model::{
    AgentEvent, DeliveryMode, McpServerStatus, McpState, PermissionOption, PermissionOptionKind,
    Seam, ToolCall, ToolsChange,
};
use harn_runtime::{EquipmentChange, Question};
use harn_testkit::EventStrategy;
use proptest::{collection::vec, option, prelude::*, sample::select};

/// The acts of an agent in a turn, and how the turn ends.
#[derive(Clone, Debug)]
pub(crate) struct Turn {
    pub(crate) acts: Vec<Act>,
    pub(crate) ending: Ending,
}

#[derive(Clone, Debug)]
pub(crate) enum Act {
    Report(AgentEvent),
    /// Asks whether a call may run, itself or through a worker, and waits for the answer.
    Ask(Question, bool),
    /// The controller acts meanwhile.
    Want(Wish),
    /// The agent passes a seam, where messages are delivered.
    Pass(Seam),
    /// The equipment of the session changes meanwhile.
    Equip(EquipmentChange),
}

/// An action of the controller; the number selects one of its earlier messages, if there is one.
#[derive(Clone, Debug)]
pub(crate) enum Wish {
    Say(DeliveryMode),
    Unsay(usize),
    Reword(usize),
    /// Whether it has a dedupe key, and its time to live in turns.
    Remind(DeliveryMode, bool, u64),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Ending {
    Stop,
    Fail,
    /// A client cancels before any update.
    CancelAtOnce,
    /// The agent waits for a cancel.
    Hang,
    /// The agent ignores the cancel.
    HangForever,
}

pub(crate) fn turns() -> impl Strategy<Value = Vec<Turn>> {
    let ending = prop_oneof![
        4 => Just(Ending::Stop),
        1 => Just(Ending::Fail),
        1 => Just(Ending::CancelAtOnce),
        2 => Just(Ending::Hang),
        1 => Just(Ending::HangForever),
    ];
    let act = prop_oneof![
        30 => event().prop_map(Act::Report),
        1 => ask(),
        4 => wish().prop_map(Act::Want),
        2 => seam().prop_map(Act::Pass),
        2 => change().prop_map(Act::Equip),
    ];
    let turn = (vec(act, 0..40), ending).prop_map(|(acts, ending)| Turn { acts, ending });
    vec(turn, 1..4)
}

fn event() -> impl Strategy<Value = AgentEvent> {
    let workers = EventStrategy::new(&["u", "v", "w", "x"], text());
    // A call without a name has nothing to show.
    let others = EventStrategy::new(&["a", "b"], text()).with_kept(&["tool_name"]);
    prop_oneof![
        // More ids than for others, because a worker cannot restart after its end.
        12 => workers.events(&[(1, "worker_update")]),
        41 => others.events(&[
            (12, "tool_call"),
            (24, "tool_call_update"),
            (6, "composition_start"),
            (6, "composition_child_call"),
            (6, "composition_child_result"),
            (2, "composition_finish"),
            (2, "composition_error"),
            (4, "hitl_requested"),
            (4, "hitl_resolved"),
            (2, "skill_activated"),
            (2, "skill_deactivated"),
            (2, "skill_scope_tools"),
            (1, "agent_message_chunk"),
            (1, "agent_thought_chunk"),
            (1, "user_message"),
            (1, "plan"),
            (1, "progress_reported"),
            (1, "progress"),
            (1, "log"),
            (1, "artifact"),
            (1, "handoff"),
            (1, "session_info"),
            (1, "usage"),
            (1, "available_commands"),
            (1, "fs_watch"),
        ]),
    ]
}

fn change() -> impl Strategy<Value = EquipmentChange> {
    let names = || vec(text(), 0..3);
    let state = select(vec![
        McpState::Connecting,
        McpState::Ready,
        McpState::Failed,
        McpState::GivenUp,
    ]);
    let server = (text(), state, option::of(0..9u64), option::of(text())).prop_map(
        |(name, state, tools, error)| McpServerStatus {
            name,
            state,
            tools,
            error,
        },
    );
    prop_oneof![
        (names(), names(), names(), 0..9u64).prop_map(|(added, removed, changed, total)| {
            EquipmentChange::Tools(ToolsChange {
                added,
                removed,
                changed,
                total,
            })
        }),
        vec(server, 0..3).prop_map(EquipmentChange::Servers),
    ]
}

fn wish() -> impl Strategy<Value = Wish> {
    let mode = || {
        select(vec![
            DeliveryMode::InterruptImmediate,
            DeliveryMode::FinishStep,
            DeliveryMode::AuditOnly,
        ])
    };
    let said = select(vec![DeliveryMode::FinishStep, DeliveryMode::AuditOnly]);
    prop_oneof![
        4 => said.prop_map(Wish::Say),
        2 => (0..4usize).prop_map(Wish::Unsay),
        1 => (0..4usize).prop_map(Wish::Reword),
        3 => (mode(), any::<bool>(), 1..3u64)
            .prop_map(|(mode, keyed, turns)| Wish::Remind(mode, keyed, turns)),
    ]
}

fn seam() -> impl Strategy<Value = Seam> {
    select(vec![
        Seam::TurnStart,
        Seam::PreToolDispatch,
        Seam::PostToolDispatch,
        Seam::TurnEnd,
    ])
}

/// About a call that was announced, was not, or belongs to a worker.
fn ask() -> impl Strategy<Value = Act> {
    (id(), any::<bool>()).prop_map(|(call, of_worker)| ask_about(&call, of_worker))
}

/// Returns an act that asks whether this call may run.
pub(crate) fn ask_about(call: &str, of_worker: bool) -> Act {
    let kinds = [
        PermissionOptionKind::AllowOnce,
        PermissionOptionKind::RejectOnce,
    ];
    let options = kinds.map(|kind| PermissionOption {
        option_id: format!("{kind:?}"),
        name: format!("{kind:?}"),
        kind,
        scope: harn_model::GrantScope::Once,
    });
    let tool_call = ToolCall::new(call, "look");
    let options = options.to_vec();
    Act::Ask(Question { tool_call, options }, of_worker)
}

fn id() -> impl Strategy<Value = String> + Clone {
    select(&["a", "b"][..]).prop_map(str::to_owned)
}

fn text() -> impl Strategy<Value = String> + Clone {
    select(
        &[
            "",
            "word",
            "two words",
            "\u{1b}[1mloud\u{1b}[0m",
            "line\nbreak \u{1FAA3}",
        ][..],
    )
    .prop_map(str::to_owned)
}
