//! One suite for every wire: the content of a conversation does not depend on its wire.
//!
//! A scenario is written once, against [`wire::Wire`], and compares with [`turns::Heard`]; only the file of a
//! wire knows its messages. To add a wire: a file in `wires/` with a client that implements `Wire` (and
//! `Enter`, if it can open sessions of other wires) and folds its messages into `turns::Ear`; then a line
//! `suite!(…)` below, and one `meetings!` for each pair.

mod agent_hub;
mod conversations;
mod meetings;
mod pages;
mod turns;
mod wire;
mod wires;

/// Plays every scenario over a wire.
macro_rules! suite {
    ($wire:ident, $client:ty) => {
        mod $wire {
            play!(conversations, [$client]:
                a_prompt_is_answered,
                a_tool_runs_between_two_messages,
                a_tool_that_fails_does_not_end_the_turn,
                call_allowed_once_is_asked_again,
                call_always_allowed_is_not_asked_again,
                rejected_call_fails_and_the_turn_continues,
                a_turn_is_cancelled_while_its_tool_runs,
                a_turn_is_cancelled_while_it_waits_for_a_decision,
                failed_agent_reports_its_reason,
                a_conversation_does_not_wait_for_another,
                history_after_a_restart_equals_the_live_turns,
                turn_cut_by_a_crash_is_failed_in_the_history,
            );
        }
    };
}

/// Plays scenarios in which two wires share one session; `$first` begins it.
macro_rules! meetings {
    ($pair:ident, $first:ty, $second:ty, $($scenario:ident),* $(,)?) => {
        mod $pair {
            play!(meetings, [$first, $second]: $($scenario),*,);
        }
    };
}

macro_rules! play {
    ($where:ident, [$first:ty]: $($scenario:ident),* $(,)?) => {
        $(play!($scenario, crate::scenarios::$where::$scenario::<$first>());)*
    };
    ($where:ident, [$first:ty, $second:ty]: $($scenario:ident),* $(,)?) => {
        $(play!($scenario, crate::scenarios::$where::$scenario::<$first, $second>());)*
    };
    ($scenario:ident, $done:expr) => {
        #[tokio::test(start_paused = true)]
        async fn $scenario() {
            crate::scenarios::agent_hub::with_timeout(stringify!($scenario), $done).await;
        }
    };
}

suite!(acp, crate::scenarios::wires::Acp);
suite!(threads, crate::scenarios::wires::Threads);
suite!(openharness, crate::scenarios::wires::OpenHarness);
suite!(state, crate::scenarios::wires::State);

meetings!(
    acp_then_threads,
    crate::scenarios::wires::Acp,
    crate::scenarios::wires::Threads,
    session_of_one_wire_continues_on_another,
    request_of_one_wire_is_answered_on_another,
    controller_decides_and_both_receive_the_result,
    remaining_client_decides_when_the_controller_has_left,
);
meetings!(
    threads_then_acp,
    crate::scenarios::wires::Threads,
    crate::scenarios::wires::Acp,
    session_of_one_wire_continues_on_another,
    request_of_one_wire_is_answered_on_another,
    controller_decides_and_both_receive_the_result,
    remaining_client_decides_when_the_controller_has_left,
);
meetings!(
    acp_then_state,
    crate::scenarios::wires::Acp,
    crate::scenarios::wires::State,
    session_of_one_wire_continues_on_another,
    request_of_one_wire_is_answered_on_another,
    controller_decides_and_both_receive_the_result,
    remaining_client_decides_when_the_controller_has_left,
);
meetings!(
    state_then_acp,
    crate::scenarios::wires::State,
    crate::scenarios::wires::Acp,
    session_of_one_wire_continues_on_another,
    request_of_one_wire_is_answered_on_another,
    controller_decides_and_both_receive_the_result,
    remaining_client_decides_when_the_controller_has_left,
);
meetings!(
    threads_then_state,
    crate::scenarios::wires::Threads,
    crate::scenarios::wires::State,
    session_of_one_wire_continues_on_another,
    request_of_one_wire_is_answered_on_another,
    controller_decides_and_both_receive_the_result,
    remaining_client_decides_when_the_controller_has_left,
);
meetings!(
    state_then_threads,
    crate::scenarios::wires::State,
    crate::scenarios::wires::Threads,
    session_of_one_wire_continues_on_another,
    request_of_one_wire_is_answered_on_another,
    controller_decides_and_both_receive_the_result,
    remaining_client_decides_when_the_controller_has_left,
);
meetings!(
    state_then_state,
    crate::scenarios::wires::State,
    crate::scenarios::wires::State,
    session_of_one_wire_continues_on_another,
    request_of_one_wire_is_answered_on_another,
    controller_decides_and_both_receive_the_result,
    remaining_client_decides_when_the_controller_has_left,
);
// OpenHarness has its own names for conversations, so it cannot open a session of another wire. It stays the
// controller until its runs are over, so no other client receives requests.
meetings!(
    openharness_then_acp,
    crate::scenarios::wires::OpenHarness,
    crate::scenarios::wires::Acp,
    session_of_one_wire_continues_on_another,
);
meetings!(
    openharness_then_threads,
    crate::scenarios::wires::OpenHarness,
    crate::scenarios::wires::Threads,
    session_of_one_wire_continues_on_another,
);
meetings!(
    openharness_then_state,
    crate::scenarios::wires::OpenHarness,
    crate::scenarios::wires::State,
    session_of_one_wire_continues_on_another,
);
