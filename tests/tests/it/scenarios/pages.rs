//! An editor and a page on one session: both show the controller, a takeover changes it, and only the
//! controller decides.
//!
//! In addition to the meetings of any two wires, for content that only a page shows: the controller and the
//! questions to a person.

use harn_testkit::{MessageFromAgent, StrictClient};
use harn_tests::initialize_params;
use serde_json::{Map, Value, json};

use crate::scenarios::{
    agent_hub::{PATIENCE, Stage, with_timeout},
    turns::{End, expected_turn},
    wire::{Answer, Wire, answer_and_wait, prompt_and_wait},
    wires::State,
};

/// The client id of the editor.
const EDITOR: &str = "strict-1";

/// An editor that opened a session, and a page that observes it as `ada`.
struct Desk {
    stage: Stage,
    editor: StrictClient,
    page: State,
    session: String,
}

impl Desk {
    async fn new() -> Self {
        let stage = Stage::new();
        let mut editor = stage.connect().with_patience(PATIENCE);
        let wishes = Map::from_iter([("hostBridge".to_owned(), json!(true))]);
        editor
            .request("initialize", initialize_params(&wishes))
            .await;
        let new = json!({"cwd": stage.workspace(), "mcpServers": []});
        let made = editor.request("session/new", new).await;
        let session = made["sessionId"].as_str().unwrap().to_owned();
        let mut page = State::connect(&stage).await.with_name("ada");
        page.enter(&session).await;
        Self {
            stage,
            editor,
            page,
            session,
        }
    }

    async fn prompt(&mut self, words: &str) -> Value {
        let words = json!([{"type": "text", "text": words}]);
        let prompt = json!({"sessionId": self.session, "prompt": words});
        self.editor.send_request("session/prompt", prompt).await
    }

    /// Reads the editor's messages until `found` returns a value.
    async fn read_until<T>(&mut self, found: impl Fn(&MessageFromAgent) -> Option<T>) -> T {
        loop {
            let message = self.editor.next().await;
            if let Some(found) = found(&message) {
                return found;
            }
        }
    }

    /// Waits for the response to a request of the editor.
    async fn wait_for_response(&mut self, request: &Value) -> Result<Value, Value> {
        let answers = |message: &MessageFromAgent| match message {
            MessageFromAgent::Response { id, result } if id == request => Some(result.clone()),
            _ => None,
        };
        self.read_until(answers).await
    }

    /// Waits until the page's document satisfies the predicate.
    async fn wait_until_shown(&mut self, what: &str, like_this: impl Fn(&Value) -> bool) -> Value {
        let page = self.page.page(&self.session);
        with_timeout(what, page.read_until(like_this))
            .await
            .unwrap()
            .clone()
    }

    /// Sends a command of the page that is rejected; returns the error message.
    async fn send_rejected_command(&mut self, command: Value) -> String {
        self.page.send_command(&self.session, command).await;
        let page = self.page.page(&self.session);
        with_timeout("a refusal", page.read_until_error())
            .await
            .unwrap()
    }

    async fn leave(self) {
        self.page.leave().await;
        self.editor.hang_up().await;
    }
}

#[tokio::test(start_paused = true)]
async fn page_takes_control_from_an_editor() {
    let mut desk = Desk::new().await;
    desk.wait_until_shown("who drives", |it| it["controller"] == EDITOR)
        .await;
    let running = desk.prompt("hold").await;
    desk.stage.wait_until_reached().await;
    desk.wait_until_shown("the turn", |it| it["status"] == "running")
        .await;
    for command in [
        json!({"type": "submit", "prompt": "greet"}),
        json!({"type": "steer", "message": "greet"}),
        json!({"type": "cancel"}),
        json!({"type": "configure", "config": {"permissionMode": "plan"}}),
    ] {
        let words = desk.send_rejected_command(command.clone()).await;
        assert!(words.contains(EDITOR), "{command}: {words}");
    }

    let takeover = json!({"type": "takeover"});
    desk.page.send_command(&desk.session, takeover).await;
    desk.wait_until_shown("the takeover", |it| it["controller"] == "ada")
        .await;
    // The running turn continues, and the editor gets the response to its prompt.
    desk.stage.let_continue();
    let stopped = desk.wait_for_response(&running).await.unwrap();
    assert_eq!(stopped["stopReason"], "end_turn");
    let first = desk.page.wait_for_turn(&mut desk.session.clone()).await;
    assert_eq!(
        first,
        expected_turn("hold", &["Let go."], &[], End::Completed)
    );

    // The new controller receives the next request.
    let mut talk = desk.session.clone();
    let asked = prompt_and_wait(&mut desk.page, &mut talk, "write").await;
    assert_eq!(asked.end, End::Parked);
    let done = answer_and_wait(&mut desk.page, &mut talk, Answer::Once).await;
    assert_eq!(done.end, End::Completed);
    assert_eq!(desk.stage.write_count(), 1);
    let late = desk.prompt("greet").await;
    let error = desk.wait_for_response(&late).await.unwrap_err();
    assert_eq!(error["data"]["reason"], "not_controller", "{error}");

    // After a handback, the next client that sends a prompt becomes the controller.
    let handback = json!({"type": "handback"});
    desk.page.send_command(&desk.session, handback).await;
    desk.wait_until_shown("the handback", |it| it["controller"] != "ada")
        .await;
    let again = desk.prompt("greet").await;
    let stopped = desk.wait_for_response(&again).await.unwrap();
    assert_eq!(stopped["stopReason"], "end_turn");
    desk.wait_until_shown("who drives", |it| it["controller"] == EDITOR)
        .await;
    desk.leave().await;
}

#[tokio::test(start_paused = true)]
async fn editor_sees_the_turn_of_a_page() {
    let mut desk = Desk::new().await;
    let takeover = json!({"type": "takeover"});
    desk.page.send_command(&desk.session, takeover).await;
    desk.wait_until_shown("the takeover", |it| it["controller"] == "ada")
        .await;
    let mut talk = desk.session.clone();
    let done = prompt_and_wait(&mut desk.page, &mut talk, "look").await;
    assert_eq!(done.end, End::Completed);
    let shown = desk.wait_until_shown("the author", |_| true).await;
    assert_eq!(shown["messages"][0]["author"], "ada");
    let mut seen = Vec::new();
    while seen.len() < 5 {
        if let MessageFromAgent::Notification { params, .. } = desk.editor.next().await {
            let update = &params["update"];
            let kind = update["sessionUpdate"].as_str().unwrap_or_default();
            let text = update["content"]["text"].as_str();
            match kind {
                "user_message_chunk" | "agent_message_chunk" => {
                    seen.push(text.unwrap().to_owned());
                }
                "tool_call" | "tool_call_update" => {
                    seen.push(update["status"].as_str().unwrap().to_owned());
                }
                _ => {}
            }
        }
    }
    let expected = [
        "look",
        "Let me look.",
        "in_progress",
        "completed",
        "There is a parser.",
    ];
    assert_eq!(seen, expected);
    desk.leave().await;
}

#[tokio::test(start_paused = true)]
async fn only_the_editor_answers_its_permission_request() {
    let mut desk = Desk::new().await;
    let prompt = desk.prompt("write").await;
    let is_ask = |message: &MessageFromAgent| match message {
        MessageFromAgent::Request { id, params, .. } => Some((id.clone(), params.clone())),
        MessageFromAgent::Response { .. } | MessageFromAgent::Notification { .. } => None,
    };
    let (id, params) = desk.read_until(is_ask).await;
    let shown = desk
        .wait_until_shown("the question", |it| it["approvals"][0].is_object())
        .await;
    let call = &shown["approvals"][0]["toolCallId"];
    assert_eq!(*call, params["toolCall"]["toolCallId"]);
    let approve = json!({"type": "approve", "toolCallId": call});
    let words = desk.send_rejected_command(approve).await;
    assert!(words.contains(EDITOR), "{words}");
    assert_eq!(desk.stage.write_count(), 0);

    let outcome = json!({"outcome": "selected", "optionId": "allow_once"});
    desk.editor.respond(&id, json!({"outcome": outcome})).await;
    desk.wait_for_response(&prompt).await.unwrap();
    let shown = desk
        .wait_until_shown("the end", |it| it["status"] == "idle")
        .await;
    assert_eq!(shown["approvals"], json!([]));
    let calls = &shown["messages"][1]["toolCalls"];
    assert_eq!(calls[0]["approval"], "approved");
    assert_eq!(desk.stage.write_count(), 1);
    desk.leave().await;
}

#[tokio::test(start_paused = true)]
async fn only_the_controller_answers_a_question() {
    let mut desk = Desk::new().await;
    let prompt = desk.prompt("wonder").await;
    let shown = desk
        .wait_until_shown("the question", |it| it["questions"][0].is_object())
        .await;
    let question = &shown["questions"][0];
    assert_eq!(question["subject"], "Which port?");
    assert_eq!(question["choices"], json!(["8080", "9090"]));
    let answer = json!({"type": "answer", "questionId": question["id"], "answer": "8080"});
    let words = desk.send_rejected_command(answer).await;
    assert!(words.contains(EDITOR), "{words}");

    let respond = json!({"request_id": question["id"], "answer": "9090"});
    let sent = desk.editor.send_request("harn.hitl.respond", respond).await;
    assert_eq!(desk.wait_for_response(&sent).await, Ok(json!({"ok": true})));
    desk.wait_for_response(&prompt).await.unwrap();
    let shown = desk
        .wait_until_shown("the end", |it| it["status"] == "idle")
        .await;
    assert_eq!(shown["questions"], json!([]));
    assert_eq!(shown["messages"][1]["content"], "Port 9090.");

    // The page is the controller now.
    let takeover = json!({"type": "takeover"});
    desk.page.send_command(&desk.session, takeover).await;
    desk.wait_until_shown("the takeover", |it| it["controller"] == "ada")
        .await;
    let submit = json!({"type": "submit", "prompt": "wonder"});
    desk.page.send_command(&desk.session, submit).await;
    let shown = desk
        .wait_until_shown("the question", |it| it["questions"][0].is_object())
        .await;
    let question = &shown["questions"][0];
    let answer = json!({"type": "answer", "questionId": question["id"], "answer": "8080"});
    desk.page.send_command(&desk.session, answer).await;
    let shown = desk
        .wait_until_shown("the end", |it| it["status"] == "idle")
        .await;
    assert_eq!(shown["messages"][3]["content"], "Port 8080.");
    desk.leave().await;
}
