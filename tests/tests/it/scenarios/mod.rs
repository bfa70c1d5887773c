//! One suite for every wire: the content of a conversation does not depend on its wire.
//!
//! A scenario is written once, against [`wire::Wire`], and compares with [`heard::Heard`]; only the file of a
//! wire knows its messages. To add a wire: a file in `wires/` with a client that implements `Wire` (and
//! `Enter`, if it can open sessions of other wires) and folds its messages into `heard::Ear`; then a line
//! `suite!(…)` below, and one `meetings!` for each pair.

mod conversations;
mod heard;
mod meetings;
mod pages;
mod stage;
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
                what_is_allowed_once_is_asked_again,
                what_is_always_allowed_is_not_asked_again,
                what_is_refused_fails_and_the_turn_goes_on,
                a_turn_is_cancelled_while_its_tool_runs,
                a_turn_is_cancelled_while_it_waits_for_a_decision,
                an_agent_that_fails_says_why,
                a_conversation_does_not_wait_for_another,
                what_was_heard_is_told_again_after_a_restart,
                a_turn_cut_by_a_crash_comes_back_as_failed,
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
            crate::scenarios::stage::in_time(stringify!($scenario), $done).await;
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
    what_was_said_here_is_told_there,
    what_was_asked_here_is_answered_there,
    who_drives_decides_and_all_are_told,
    who_stays_decides_when_who_drove_has_left,
);
meetings!(
    threads_then_acp,
    crate::scenarios::wires::Threads,
    crate::scenarios::wires::Acp,
    what_was_said_here_is_told_there,
    what_was_asked_here_is_answered_there,
    who_drives_decides_and_all_are_told,
    who_stays_decides_when_who_drove_has_left,
);
meetings!(
    acp_then_state,
    crate::scenarios::wires::Acp,
    crate::scenarios::wires::State,
    what_was_said_here_is_told_there,
    what_was_asked_here_is_answered_there,
    who_drives_decides_and_all_are_told,
    who_stays_decides_when_who_drove_has_left,
);
meetings!(
    state_then_acp,
    crate::scenarios::wires::State,
    crate::scenarios::wires::Acp,
    what_was_said_here_is_told_there,
    what_was_asked_here_is_answered_there,
    who_drives_decides_and_all_are_told,
    who_stays_decides_when_who_drove_has_left,
);
meetings!(
    threads_then_state,
    crate::scenarios::wires::Threads,
    crate::scenarios::wires::State,
    what_was_said_here_is_told_there,
    what_was_asked_here_is_answered_there,
    who_drives_decides_and_all_are_told,
    who_stays_decides_when_who_drove_has_left,
);
meetings!(
    state_then_threads,
    crate::scenarios::wires::State,
    crate::scenarios::wires::Threads,
    what_was_said_here_is_told_there,
    what_was_asked_here_is_answered_there,
    who_drives_decides_and_all_are_told,
    who_stays_decides_when_who_drove_has_left,
);
meetings!(
    state_then_state,
    crate::scenarios::wires::State,
    crate::scenarios::wires::State,
    what_was_said_here_is_told_there,
    what_was_asked_here_is_answered_there,
    who_drives_decides_and_all_are_told,
    who_stays_decides_when_who_drove_has_left,
);
// OpenHarness has its own names for conversations, so it cannot open a session of another wire. It stays the
// controller until its runs are over, so no other client receives requests.
meetings!(
    openharness_then_acp,
    crate::scenarios::wires::OpenHarness,
    crate::scenarios::wires::Acp,
    what_was_said_here_is_told_there,
);
meetings!(
    openharness_then_threads,
    crate::scenarios::wires::OpenHarness,
    crate::scenarios::wires::Threads,
    what_was_said_here_is_told_there,
);
meetings!(
    openharness_then_state,
    crate::scenarios::wires::OpenHarness,
    crate::scenarios::wires::State,
    what_was_said_here_is_told_there,
);
