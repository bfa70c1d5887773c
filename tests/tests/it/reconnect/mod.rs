//! A client may lose its connection at any line and continue after the last one it has: both parts together
//! equal the stream of a client that stayed connected, with no line repeated or missing.
//!
//! One test uses random sessions and random positions in them; the other has clients that lose their
//! connections repeatedly while turns run and questions are asked.

mod client;
mod reconnecting_clients;

use harn_acp::EventId;
use proptest::{
    prelude::*,
    sample::{Index, select},
};
use serde_json::{Value, json};

use crate::projector::play::play;
use crate::projector::strategy::{Turn, turns};

/// Returns the event id of a line; every line of a stream has one.
fn event_id(line: &Value) -> &str {
    let id = line["params"]["_meta"]["harn"]["eventId"].as_str();
    id.unwrap_or_else(|| panic!("no place: {line}"))
}

fn run_with_paused_clock<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build();
    runtime.unwrap().block_on(work)
}

/// Compares the live stream with the loads after each of these positions.
async fn check_loads_after(turns: Vec<Turn>, profile: &str, cuts: &[Index]) {
    let wishes = json!({"profile": profile, "hostBridge": true, "eventIds": true});
    let audience = play(turns, &wishes).await;
    let live = audience.observer_notifications().to_vec();
    let places = live
        .iter()
        .map(|line| event_id(line).parse::<EventId>().unwrap());
    let places: Vec<_> = places.collect();
    assert!(places.is_sorted_by(|a, b| a < b), "{places:?}");
    assert_eq!(audience.load_after(None).await, live);
    assert_eq!(audience.load_after(Some("0")).await, live);
    for cut in cuts.iter().map(|cut| cut.index(live.len() + 1)) {
        let last = live[..cut].last().map_or("0", event_id);
        let missed = audience.load_after(Some(last)).await;
        assert_eq!(missed, live[cut..], "from behind {last}");
    }
    audience.end().await;
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 60,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn load_after_any_line_returns_the_missed_lines(
        turns in turns(),
        profile in select(&["harn", "meta", "acp"][..]),
        cuts: [Index; 6],
    ) {
        run_with_paused_clock(check_loads_after(turns, profile, &cuts));
    }
}
