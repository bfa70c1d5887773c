//! Many Shells at once, some of which leave: everybody is told of their own, and nothing is left behind.

use harn_testkit::openharness::{Shell, says};
use serde_json::{Value, json};
use tokio::{runtime::Handle, task::JoinSet, time::timeout};

use crate::support::{Agent, PATIENCE};

fn in_session(session: usize, request: &str, intent: &str) -> Value {
    let mut message = says(request, intent);
    message["request"]["context"]["session_id"] = json!(format!("sess_{session}"));
    message
}

/// Waits until no more tasks are alive than these.
async fn calm(tasks: usize) {
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
async fn a_session_that_rests_costs_a_task() {
    const SESSIONS: usize = 50;
    let agent = Agent::new();
    let hub = agent.hub();
    let shell = Shell::with(&hub, |config| config.waiting = 16);
    let mut posts = JoinSet::new();
    for number in 0..SESSIONS * 4 {
        let shell = shell.clone();
        let message = in_session(number % SESSIONS, &format!("req_{number}"), "hello");
        posts.spawn(async move { shell.post(&message).await.text() });
    }
    while let Some(text) = posts.join_next().await {
        assert_eq!(text.unwrap(), "You said hello.");
    }
    assert_eq!(agent.turns(), SESSIONS * 4);
    // Each has its own, which is the runtime's; nobody follows it.
    calm(SESSIONS).await;
    hub.hub().shutdown().await;
    calm(0).await;
}

#[tokio::test]
async fn shells_that_leave_leave_nothing() {
    const SESSIONS: usize = 20;
    let agent = Agent::new();
    let hub = agent.hub();
    let shell = Shell::new(&hub);
    for round in 0..3 {
        let mut posts = JoinSet::new();
        for number in 0..SESSIONS {
            let shell = shell.clone();
            let message = in_session(number, &format!("req_{round}_{number}"), "wait");
            posts.spawn(async move { shell.post(&message).await });
        }
        for _ in 0..SESSIONS {
            agent.waits().await;
        }
        posts.shutdown().await;
        for _ in 0..SESSIONS {
            agent.go_on();
        }
        calm(SESSIONS).await;
        // What they began is there for who asks again.
        let message = in_session(0, &format!("req_{round}_0"), "wait");
        assert_eq!(shell.post(&message).await.text(), "Working. Done.");
    }
    assert_eq!(agent.turns(), SESSIONS * 3);
    hub.hub().shutdown().await;
    calm(0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn prompts_of_a_session_run_one_after_another() {
    let agent = Agent::new();
    let hub = agent.hub();
    let shell = Shell::with(&hub, |config| config.waiting = 64);
    let mut posts = JoinSet::new();
    for number in 0..60 {
        let shell = shell.clone();
        let intent = format!("word{number}");
        let message = in_session(0, &format!("req_{number}"), &intent);
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
