//! Many Shells at once, some of which disconnect: each receives its own runs, and no task is left over.

use std::time::Duration;

use harn_testkit::openharness::{OpenHarnessShell, decision_request, intent_request};
use serde_json::{Value, json};
use tokio::{runtime::Handle, task::JoinSet, time::timeout};

use crate::support::{Agent, PATIENCE};

fn request_in_session(session: usize, request: &str, intent: &str) -> Value {
    let mut message = intent_request(request, intent);
    message["request"]["context"]["session_id"] = json!(format!("sess_{session}"));
    message
}

/// Waits until at most this many tasks are alive.
async fn wait_for_tasks(tasks: usize) {
    let calm = async {
        while Handle::current().metrics().num_alive_tasks() > tasks {
            tokio::task::yield_now().await;
        }
    };
    let left = timeout(PATIENCE, calm).await;
    let alive = Handle::current().metrics().num_alive_tasks();
    assert!(left.is_ok(), "{alive} tasks are left of {tasks}");
}

#[tokio::test]
async fn runs_without_a_waiting_request_count_against_the_limit() {
    let agent = Agent::new();
    let hub = agent.hub();
    let shell = OpenHarnessShell::with_config(&hub, |config| config.runs = 4);
    let one = |session: usize| request_in_session(session, &format!("req_{session}"), "write");
    let mut parked = Vec::new();
    // A quarter is reserved for other principals.
    for session in 0..3 {
        parked.push(shell.post(&one(session)).await);
    }
    assert_eq!(shell.post(&one(3)).await.code(), "too_many_requests");
    let stop = decision_request("stop", &parked[0].continuation(), &json!({"cancel": true}));
    assert_eq!(shell.post(&stop).await.code(), "run_cancelled");
    assert_eq!(shell.post(&one(3)).await.state(), "parked");
}

#[tokio::test]
async fn idle_session_costs_one_task() {
    const SESSIONS: usize = 50;
    let agent = Agent::new();
    let hub = agent.hub();
    let shell = OpenHarnessShell::with_config(&hub, |config| config.waiting = 16);
    let mut posts = JoinSet::new();
    for number in 0..SESSIONS * 4 {
        let shell = shell.clone();
        let message = request_in_session(number % SESSIONS, &format!("req_{number}"), "hello");
        posts.spawn(async move { shell.post(&message).await.text() });
    }
    while let Some(text) = posts.join_next().await {
        assert_eq!(text.unwrap(), "You said hello.");
    }
    assert_eq!(agent.turns(), SESSIONS * 4);
    // Each session has one task, that of the runtime; no task follows it.
    wait_for_tasks(SESSIONS).await;
    hub.hub().shutdown().await;
    wait_for_tasks(0).await;
}

#[tokio::test]
async fn disconnected_shells_leave_no_task() {
    const SESSIONS: usize = 20;
    let agent = Agent::new();
    let hub = agent.hub();
    let shell = OpenHarnessShell::new(&hub);
    for round in 0..3 {
        let mut posts = JoinSet::new();
        for number in 0..SESSIONS {
            let shell = shell.clone();
            let message = request_in_session(number, &format!("req_{round}_{number}"), "wait");
            posts.spawn(async move { shell.post(&message).await });
        }
        for _ in 0..SESSIONS {
            agent.wait_for_turn().await;
        }
        posts.shutdown().await;
        for _ in 0..SESSIONS {
            agent.release_turn();
        }
        wait_for_tasks(SESSIONS).await;
        // A repeat of the request finds the run.
        let message = request_in_session(0, &format!("req_{round}_0"), "wait");
        assert_eq!(shell.post(&message).await.text(), "Working. Done.");
    }
    assert_eq!(agent.turns(), SESSIONS * 3);
    hub.hub().shutdown().await;
    wait_for_tasks(0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn prompts_of_a_session_run_one_after_another() {
    let agent = Agent::new();
    let hub = agent.hub();
    let shell = OpenHarnessShell::with_config(&hub, |config| config.waiting = 64);
    let mut posts = JoinSet::new();
    for number in 0..60 {
        let shell = shell.clone();
        let intent = format!("word{number}");
        let message = request_in_session(0, &format!("req_{number}"), &intent);
        posts.spawn(async move { (shell.post(&message).await.text(), intent) });
    }
    while let Some(answer) = posts.join_next().await {
        let (text, intent) = answer.unwrap();
        assert_eq!(
            text,
            format!("You said {intent}."),
            "its own and nothing else"
        );
    }
    assert_eq!(agent.turns(), 60);
}

/// Pseudo-random numbers that are the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// Plays a Shell that asks, decides, stops, repeats and disconnects at random.
async fn play(shell: OpenHarnessShell, player: u64) -> (usize, usize) {
    let mut dice = Dice(player);
    let (mut begun, mut ended) = (0, 0);
    for round in 0..12 {
        let session = usize::try_from(dice.roll(12)).unwrap();
        let intent = ["hello", "write", "choose", "both"][usize::try_from(dice.roll(4)).unwrap()];
        let message = request_in_session(session, &format!("p{player}r{round}"), intent);
        let answer = match dice.roll(3) {
            0 => {
                let gone = timeout(Duration::from_micros(dice.roll(2000)), shell.post(&message));
                drop(gone.await);
                shell.post(&message).await
            }
            1 => tokio::join!(shell.post(&message), shell.post(&message)).0,
            _ => shell.post(&message).await,
        };
        if answer.code() == "engine_busy" {
            continue;
        }
        begun += 1;
        let mut answer = answer;
        let mut step = 0;
        while answer.state() == "parked" {
            step += 1;
            let ours = match dice.roll(4) {
                0 => json!({"cancel": true}),
                1 if intent == "choose" => {
                    json!({"answer": {"id": answer.questions()[0], "text": "8080"}})
                }
                _ => json!({"approval": {"id": answer.questions()[0], "decision": "reject"}}),
            };
            let id = format!("p{player}r{round}s{step}");
            let decided = decision_request(&id, &answer.continuation(), &ours);
            answer = shell.post(&decided).await;
        }
        let over = ["ended", ""].contains(&answer.state()) || answer.code() == "run_cancelled";
        assert!(over, "{}", answer.envelope);
        ended += 1;
    }
    (begun, ended)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_run_starts_once_and_ends() {
    let agent = Agent::new();
    let hub = agent.hub();
    let shell = OpenHarnessShell::with_config(&hub, |config| {
        config.sessions = 4;
        config.waiting = 2;
    });
    let mut players = JoinSet::new();
    for player in 0..8 {
        players.spawn(play(shell.clone(), player));
    }
    let all = timeout(PATIENCE, players.join_all()).await.unwrap();
    let begun: usize = all.iter().map(|(begun, _)| begun).sum();
    let ended: usize = all.iter().map(|(_, ended)| ended).sum();
    assert_eq!(begun, ended);
    // A run that was stopped while it waited never reached the agent.
    assert!(agent.turns() <= begun, "{} of {begun}", agent.turns());
    assert!(begun > 40, "{begun}");
    hub.hub().shutdown().await;
    drop(shell);
    wait_for_tasks(0).await;
}
