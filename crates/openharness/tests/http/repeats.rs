//! Repeated requests: each is carried out once, whichever Shell waits and whatever happened in between.

use harn_testkit::openharness::{
    OpenHarnessShell, continuation_request, decision_request, intent_request,
};
use serde_json::json;

use crate::support::Agent;

#[tokio::test]
async fn repeat_gets_the_stored_response_with_its_own_ids() {
    let agent = Agent::new();
    let hub = agent.hub();
    let shell = OpenHarnessShell::new(&hub);
    let mut message = intent_request("req_1", "hello");
    message["correlation_id"] = json!("corr_1");
    let first = shell.post(&message).await;
    message["correlation_id"] = json!("corr_2");
    let second = shell.post(&message).await;
    assert_eq!(first.response(), second.response());
    assert_eq!(agent.turns(), 1);
    // Without an id, each request is a new one.
    for turns in [2, 3] {
        message.as_object_mut().unwrap().remove("request_id");
        assert!(shell.post(&message).await.is_success());
        assert_eq!(agent.turns(), turns);
    }
}

#[tokio::test]
async fn decision_takes_effect_once() {
    let agent = Agent::new();
    let hub = agent.hub();
    let shell = OpenHarnessShell::new(&hub);
    let asked = shell.post(&intent_request("req_1", "write")).await;
    let id = &asked.questions()[0];
    let yes = json!({"approval": {"id": id, "decision": "once"}});
    let yes = decision_request("req_2", &asked.continuation(), &yes);
    let (one, two) = tokio::join!(shell.post(&yes), shell.post(&yes));
    assert_eq!(one.text(), "It is in notes.txt.");
    assert_eq!(one.bytes, two.bytes);
    assert_eq!(shell.post(&yes).await.bytes, one.bytes);
    let no = json!({"approval": {"id": id, "decision": "reject"}});
    let changed = decision_request("req_2", &asked.continuation(), &no);
    assert_eq!(shell.post(&changed).await.code(), "request_id_conflict");
    let late = decision_request("req_3", &asked.continuation(), &no);
    assert_eq!(shell.post(&late).await.code(), "approval_not_found");
    // The first request keeps its own response.
    let first = shell.post(&intent_request("req_1", "write")).await;
    assert_eq!(first.bytes, asked.bytes);
}

#[tokio::test]
async fn rejected_request_may_be_sent_again() {
    let agent = Agent::new();
    let hub = agent.hub();
    let shell = OpenHarnessShell::new(&hub);
    let lost = json!({"run_id": "run_oh_0.turn-1"});
    let mut message = continuation_request("req_1", &lost);
    assert_eq!(shell.post(&message).await.code(), "continuation_not_found");
    message["request"]["context"] = json!({"user_intent": "hello"});
    assert!(shell.post(&message).await.is_success());
}

#[tokio::test]
async fn a_request_without_a_session_is_known_after_a_restart() {
    let agent = Agent::new();
    let mut hub = agent.hub();
    let mut message = intent_request("req_1", "write");
    let context = message["request"]["context"].as_object_mut().unwrap();
    context.remove("session_id");
    let asked = OpenHarnessShell::new(&hub).post(&message).await;
    assert_eq!(asked.state(), "parked");
    hub.restart().await;
    let shell = OpenHarnessShell::new(&hub);
    // The process shut down and cancelled the run.
    assert_eq!(shell.post(&message).await.code(), "run_cancelled");
    let yes = json!({"approval": {"id": asked.questions()[0], "decision": "once"}});
    let yes = decision_request("req_2", &asked.continuation(), &yes);
    assert_eq!(shell.post(&yes).await.code(), "approval_not_found");
    let poll = continuation_request("req_3", &asked.continuation());
    assert_eq!(shell.post(&poll).await.code(), "run_cancelled");
    assert_eq!(agent.turns(), 1);
}

#[tokio::test]
async fn many_requests_join_one_run_and_some_disconnect() {
    let agent = Agent::new();
    let hub = agent.hub();
    let shell = OpenHarnessShell::new(&hub);
    let message = intent_request("req_1", "wait");
    let mut joined = tokio::task::JoinSet::new();
    let mut leaving = Vec::new();
    for number in 0..40 {
        let (shell, message) = (shell.clone(), message.clone());
        let post = async move { shell.post(&message).await };
        match number % 2 {
            0 => leaving.push(joined.spawn(post)),
            _ => drop(joined.spawn(post)),
        }
    }
    agent.wait_for_turn().await;
    for leaving in leaving {
        leaving.abort();
    }
    agent.release_turn();
    let mut answers = 0;
    while let Some(answer) = joined.join_next().await {
        match answer {
            Ok(answer) => {
                assert_eq!(answer.text(), "Working. Done.");
                answers += 1;
            }
            Err(error) => assert!(error.is_cancelled()),
        }
    }
    assert_eq!((answers, agent.turns()), (20, 1));
}

#[tokio::test]
async fn closed_session_is_reopened() {
    let agent = Agent::new();
    let hub = agent.hub();
    let shell = OpenHarnessShell::new(&hub);
    let first = shell.post(&intent_request("req_1", "hello")).await;
    let run = first.continuation()["run_id"].as_str().unwrap().to_owned();
    let session = run.strip_prefix("run_").unwrap().split_once('.').unwrap().0;
    hub.hub().close(&session.into()).await;
    assert!(
        shell
            .post(&intent_request("req_2", "hello"))
            .await
            .is_success()
    );
    let poll = continuation_request("req_3", &first.continuation());
    assert_eq!(shell.post(&poll).await.state(), "ended");
    assert_eq!(agent.turns(), 2);
}

#[tokio::test(start_paused = true)]
async fn cancel_of_a_queued_run_spares_the_running_one() {
    let agent = Agent::new();
    let hub = agent.hub();
    let shell = OpenHarnessShell::new(&hub);
    let running = shell.post(&intent_request("req_1", "wait")).await;
    let waiting = intent_request("req_2", "hello");
    let waits = shell.post(&waiting).await;
    assert_eq!(waits.state(), "running");
    let stop = decision_request("req_3", &waits.continuation(), &json!({"cancel": true}));
    assert_eq!(shell.post(&stop).await.code(), "run_cancelled");
    agent.wait_for_turn().await;
    agent.release_turn();
    let rest = shell
        .post(&continuation_request("req_4", &running.continuation()))
        .await;
    assert_eq!((rest.state(), &*rest.text()), ("ended", " Done."));
    // The run was stopped, and a repeat of the request does not start it.
    assert_eq!(shell.post(&waiting).await.code(), "run_cancelled");
    assert_eq!(agent.turns(), 1);
}

#[tokio::test]
async fn run_is_cancelled_before_its_shell_knows_its_id() {
    let agent = Agent::new();
    let hub = agent.hub();
    let shell = OpenHarnessShell::new(&hub);
    let waiting = intent_request("req_1", "wait");
    let stop = async {
        agent.wait_for_turn().await;
        let mut stop = intent_request("req_2", "");
        stop["request"]["context"]["extensions"] = json!({"dev.harn": {"cancel": true}});
        (shell.post(&stop).await, shell.post(&stop).await)
    };
    let (answer, (stopped, again)) = tokio::join!(shell.post(&waiting), stop);
    assert_eq!(answer.code(), "run_cancelled");
    assert_eq!(stopped.code(), "run_cancelled");
    assert_eq!(stopped.continuation(), answer.continuation());
    // A repeat of the same request, not a second cancel.
    assert_eq!(again.code(), "run_cancelled");
    let mut stop = intent_request("req_3", "");
    stop["request"]["context"]["extensions"] = json!({"dev.harn": {"cancel": true}});
    assert_eq!(shell.post(&stop).await.code(), "no_active_run");
}

#[tokio::test]
async fn request_to_a_parked_session_gets_the_open_questions() {
    let agent = Agent::new();
    let hub = agent.hub();
    let shell = OpenHarnessShell::new(&hub);
    let asked = shell.post(&intent_request("req_1", "write")).await;
    let other = intent_request("req_2", "hello");
    let shown = shell.post(&other).await;
    assert_eq!(shown.state(), "parked");
    assert_eq!(shown.questions(), asked.questions());
    let yes = json!({"approval": {"id": asked.questions()[0], "decision": "once"}});
    let yes = decision_request("req_3", &shown.continuation(), &yes);
    assert_eq!(shell.post(&yes).await.state(), "ended");
    // The request had no effect, so a repeat takes effect now.
    let now = shell.post(&other).await;
    assert_eq!((now.state(), &*now.text()), ("ended", "You said hello."));
    assert_eq!(agent.turns(), 2);
}

#[tokio::test]
async fn rejected_question_ends_the_run() {
    let agent = Agent::new();
    let hub = agent.hub();
    let shell = OpenHarnessShell::new(&hub);
    let asked = shell.post(&intent_request("req_1", "choose")).await;
    let no = json!({"approval": {"id": asked.questions()[0], "decision": "reject"}});
    let no = decision_request("req_2", &asked.continuation(), &no);
    let ended = shell.post(&no).await;
    assert_eq!((ended.state(), &*ended.text()), ("ended", ""));
    let asked = shell.post(&intent_request("req_3", "deploy")).await;
    let no = json!({"approval": {"id": asked.questions()[0], "decision": "reject"}});
    let no = decision_request("req_4", &asked.continuation(), &no);
    assert_eq!(shell.post(&no).await.text(), "Not deployed.");
}

#[tokio::test(start_paused = true)]
async fn repeat_reports_a_running_run_from_the_same_position() {
    let agent = Agent::new();
    let hub = agent.hub();
    let shell = OpenHarnessShell::new(&hub);
    let message = intent_request("req_1", "wait");
    let running = shell.post(&message).await;
    let poll = continuation_request("req_2", &running.continuation());
    for _ in 0..2 {
        let again = shell.post(&message).await;
        assert_eq!((again.state(), &*again.text()), ("running", "Working."));
        let polled = shell.post(&poll).await;
        assert_eq!((polled.state(), &*polled.text()), ("running", ""));
    }
    agent.wait_for_turn().await;
    agent.release_turn();
    assert_eq!(shell.post(&message).await.text(), "Working. Done.");
    let polled = shell.post(&poll).await;
    assert_eq!((polled.state(), &*polled.text()), ("ended", " Done."));
    assert_eq!(agent.turns(), 1);
}
