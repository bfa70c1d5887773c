//! A client that rejects everything: whatever an agent tries, and however the client refuses, no content, name,
//! mode or time of a file changes, and its host receives only requests to read.
//!
//! The same routes with a client that approves do change something, which proves that the tests can fail. Unix
//! only, for the links and modes.

mod client;
mod modes;
mod routes;
mod workspace;

use std::{
    fs,
    os::unix::fs::symlink,
    sync::{Arc, OnceLock},
};

use harn_testkit::TestHub;
use harn_tools::{DiskProbe, LocalHost};
use serde_json::{Value, json};

use client::{DEADLINE, Person, Seen, Stance, load};
use routes::{HOSTED, LOCAL, Late, Route};
use workspace::{Picture, Place};

/// The result of a route.
struct Outcome {
    before: Picture,
    after: Picture,
    seen: Seen,
    /// The calls as loaded by another process: status and error category of each.
    calls: Vec<(String, String)>,
}

/// Takes a route in a separate workspace.
async fn take(route: &Route, stance: &Stance, hosts: bool) -> Outcome {
    take_in(route, stance, hosts, None, |_| ()).await
}

async fn take_in(
    route: &Route,
    stance: &Stance,
    hosts: bool,
    mode: Option<&'static str>,
    meanwhile: fn(&Place),
) -> Outcome {
    let late = Arc::new(OnceLock::new());
    let builder = TestHub::builder(Late(late.clone())).config(|config| {
        config.local_host = Arc::new(LocalHost::new());
        config.probe = Arc::new(DiskProbe);
        config.ask_deadline = DEADLINE;
    });
    let test = builder.build();
    let place = Place::create(&test.workspace());
    assert!(late.set(route.agent(&place)).is_ok());
    let before = place.picture();
    let person = Person {
        stance: stance.clone(),
        hosts,
        mode,
        place: &place,
        meanwhile,
    };
    let seen = person.prompt(&test, route.prompt()).await;
    let after = place.picture();
    let calls = read_calls(&test, &place).await;
    assert_eq!(
        place.picture(),
        after,
        "{}: a replay does something",
        route.name
    );
    Outcome {
        before,
        after,
        seen,
        calls,
    }
}

/// Returns every announced call of the session and its workers, with its end. Each has exactly one.
async fn read_calls(test: &TestHub, place: &Place) -> Vec<(String, String)> {
    test.hub().shutdown().await;
    let mut calls = Vec::new();
    for session in fs::read_dir(test.state_dir().join("threads")).unwrap() {
        let session = session.unwrap().file_name();
        let updates = load(test, &session.to_string_lossy(), place).await;
        let of = |kind: &'static str| updates.iter().filter(move |u| u["sessionUpdate"] == kind);
        for call in of("tool_call") {
            let mut ends = of("tool_call_update").filter(|update| {
                let status = update["status"].as_str().unwrap_or_default();
                let ended = ["completed", "failed"].contains(&status);
                ended && update["toolCallId"] == call["toolCallId"]
            });
            let end = ends.next().expect("every call ends");
            assert!(ends.next().is_none(), "a call ends once");
            let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let why = word(&end["_meta"]["harn"]["errorCategory"]);
            calls.push((word(&end["status"]), why));
        }
    }
    calls
}

/// Returns the differences in a readable form.
fn changes(outcome: &Outcome) -> Vec<String> {
    let (before, after) = (&outcome.before, &outcome.after);
    let gone = before
        .iter()
        .filter(|(path, line)| after.get(*path) != Some(line));
    let come = after
        .iter()
        .filter(|(path, line)| before.get(*path) != Some(line));
    let gone = gone.map(|(path, line)| format!("- {} {line}", path.display()));
    gone.chain(come.map(|(path, line)| format!("+ {} {line}", path.display())))
        .collect()
}

fn check_refused(route: &Route, stance: &Stance, outcome: &Outcome) {
    let what = format!("{} / {stance:?}", route.name);
    let none: [String; 0] = [];
    assert_eq!(changes(outcome), none, "{what}");
    assert_eq!(outcome.seen.done, none, "{what}: the host was used");
    for (status, why) in &outcome.calls {
        // Calls that only read may have run.
        let refused = status == "failed" && ["permission_denied", "cancelled"].contains(&&**why);
        let harmless = matches!(route.how, routes::How::Rogue(_));
        assert!(refused || harmless, "{what}: {status} {why}");
    }
    if route.honest {
        assert!(outcome.seen.asked > 0, "{what}: nobody was asked");
    }
    if let Some(stopped) = &outcome.seen.stopped {
        let stopped = stopped
            .as_ref()
            .unwrap_or_else(|error| panic!("{what}: {error}"));
        let cancelled = *stance == Stance::Cancels && outcome.seen.asked > 0;
        let expected = if cancelled { "cancelled" } else { "end_turn" };
        assert_eq!(stopped["stopReason"], expected, "{what}");
    }
}

fn run_with_paused_clock<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build();
    runtime.unwrap().block_on(work)
}

#[test]
fn rejected_calls_change_nothing_on_this_machine() {
    for stance in &Stance::REFUSING {
        for route in &LOCAL {
            let outcome = run_with_paused_clock(take(route, stance, false));
            check_refused(route, stance, &outcome);
        }
    }
}

#[test]
fn rejected_calls_reach_no_host() {
    for stance in &Stance::REFUSING {
        for route in LOCAL.iter().chain(&HOSTED) {
            let outcome = run_with_paused_clock(take(route, stance, true));
            check_refused(route, stance, &outcome);
        }
    }
}

/// The control: if no route ever changed anything, the tests above would prove nothing.
#[tokio::test]
async fn approved_honest_calls_have_an_effect() {
    for (hosts, routes) in [(false, &LOCAL[..]), (true, &LOCAL[..]), (true, &HOSTED[..])] {
        for route in routes {
            let outcome = take(route, &Stance::Allows, hosts).await;
            let changed = !changes(&outcome).is_empty();
            assert_eq!(
                changed,
                route.honest,
                "{} {hosts}: {:?}",
                route.name,
                changes(&outcome)
            );
            assert_eq!(
                !outcome.seen.done.is_empty(),
                hosts && route.honest,
                "{}",
                route.name
            );
        }
    }
}

/// Replaces the target of the write by a link to the outside.
fn replace_target_by_link(place: &Place) {
    let (file, folder) = (place.workspace.join("a.txt"), place.workspace.join("dir"));
    if fs::symlink_metadata(&file).unwrap().is_symlink() {
        return;
    }
    fs::remove_file(&file).unwrap();
    symlink("../outside/secret.txt", &file).unwrap();
    fs::rename(&folder, place.workspace.join("old")).unwrap();
    symlink("../outside", &folder).unwrap();
}

#[tokio::test]
async fn target_replaced_during_a_question_is_not_written() {
    let swapped = ["a.txt", "link.txt", "dir/b.txt", "way/b.txt", "dir/new.txt"];
    for path in swapped {
        for (hosts, stance) in [
            (false, Stance::Allows),
            (true, Stance::Allows),
            (false, Stance::Rejects),
            (
                false,
                Stance::Rewrites(json!({"path": path, "content": "x"})),
            ),
        ] {
            let steps = format!("[{{write: {{path: {path}, text: x}}}}]");
            let route = Route {
                name: "swapped",
                how: routes::How::Steps(steps.leak()),
                honest: false,
            };
            let outcome = take_in(&route, &stance, hosts, None, replace_target_by_link).await;
            assert_eq!(outcome.seen.asked, 1, "{path}");
            assert!(
                outcome.seen.done.is_empty(),
                "{path}: {:?}",
                outcome.seen.done
            );
            let outside = |picture: &Picture| {
                let mut lines = picture.clone();
                lines.retain(|path, _| path.iter().any(|part| part == "outside"));
                lines
            };
            assert_eq!(
                outside(&outcome.after),
                outside(&outcome.before),
                "{path} {stance:?}"
            );
            assert_eq!(outcome.calls[0].0, "failed", "{path} {stance:?}");
        }
    }
}

/// A client that may approve may also change the arguments, but not to something forbidden.
#[tokio::test]
async fn rewritten_arguments_are_judged_again() {
    let write = &LOCAL[0];
    let run = LOCAL.iter().find(|route| route.name == "run").unwrap();
    let path = |path: &str| json!({"path": path, "content": "y"});
    for (route, args, honest) in [
        (write, path("dir/b.txt"), true),
        (write, path("../outside/secret.txt"), false),
        (write, path("out.txt"), false),
        (write, path("exit/x"), false),
        (write, path(".git/config"), false),
        (write, path("gate/config"), false),
        (write, path(".harn/policy.toml"), false),
        (write, path("broken"), false),
        (write, path("a\0b"), false),
        (write, json!({}), false),
        (write, json!({"path": ["a.txt"], "content": "y"}), false),
        (run, json!({"command": "touch other"}), true),
        (run, json!({"command": "touch x > .git/config"}), false),
        (run, json!({"command": ["touch", "other"]}), false),
    ] {
        for hosts in [false, true] {
            let stance = Stance::Rewrites(args.clone());
            let outcome = take(route, &stance, hosts).await;
            let changed = !changes(&outcome).is_empty();
            assert_eq!(changed, honest, "{args}: {:?}", changes(&outcome));
            assert_eq!(outcome.seen.done.is_empty(), !(hosts && honest), "{args}");
        }
    }
}
