//! A loaded session shows the same updates as the live one: every turn of every scenario, in each profile.

use std::{fs, path::Path};

use harn_engines::ScriptAgent;
use harn_testkit::TestHub;
use harn_tests::{Audience, Heard, repository_path};
use serde_json::Value;

/// Whether a line is sent live and left out of a replay.
fn is_live_only(line: &Value) -> bool {
    // A loaded session is open.
    line["params"]["kind"] == "session_closed"
}

/// Returns prompts that reach every turn of a scenario: the words its patterns begin with, and one that matches
/// none.
fn prompts(scenario: &Path) -> Vec<String> {
    let text = fs::read_to_string(scenario).unwrap();
    let turns = text.lines().filter_map(|line| line.strip_prefix("  - "));
    let mut prompts = Vec::new();
    let mut rest = false;
    for turn in turns {
        if let Some(pattern) = turn.strip_prefix("match: ") {
            let word = pattern
                .trim_matches('"')
                .trim_start_matches("^/?")
                .trim_start_matches('^');
            let plain = word
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "_-".contains(c));
            assert!(
                plain,
                "{}: no prompt is known for {pattern}",
                scenario.display()
            );
            prompts.push(word.to_owned());
        } else if turn.starts_with("steps:") {
            rest = true;
        }
    }
    assert!(rest, "{}: no turn for everything else", scenario.display());
    prompts.push("Look around".to_owned());
    prompts
}

async fn play_scenario(scenario: &Path, profile: &str) -> Heard {
    let test = TestHub::new(ScriptAgent::load(scenario).unwrap());
    let mut audience = Audience::open(test, profile).await;
    for prompt in prompts(scenario) {
        // A failed turn is replayed like any other.
        let _ = audience.play(&prompt, false).await;
    }
    audience.end().await
}

#[tokio::test(start_paused = true)]
async fn replay_of_every_scenario_equals_the_live_stream() {
    let mut scenarios = 0;
    for file in fs::read_dir(repository_path("fixtures/scenarios")).unwrap() {
        let scenario = file.unwrap().path();
        scenarios += 1;
        for profile in ["harn", "meta", "acp"] {
            let heard = play_scenario(&scenario, profile).await;
            let live: Vec<_> = heard
                .live
                .iter()
                .filter(|line| !is_live_only(line))
                .collect();
            let place = format!("{} in the profile {profile}", scenario.display());
            assert!(live.len() > 5, "{place}: {} lines", live.len());
            for (at, (live, replayed)) in live.iter().zip(&heard.replayed).enumerate() {
                assert_eq!(*live, replayed, "{place}: line {}", at + 1);
            }
            assert_eq!(live.len(), heard.replayed.len(), "{place}");
        }
    }
    assert!(scenarios >= 2);
}
