//! The transport of assistant-ui over its route, with an agent that acts on its prompt.

mod disconnects;
mod test_server;

use axum::http::header;
use harn_model::Principal;
use harn_runtime::{AttachClient, NoHost, SeatClaim};
use serde_json::json;

use super::format::StreamFormat;
use test_server::{AssistantStage, BOTH, ReceivedReply, add_message, without_presence};

#[tokio::test]
async fn a_message_is_answered_and_the_next_one_continues_its_session() {
    for format in BOTH {
        let stage = AssistantStage::new();
        let told = stage
            .post_commands("", format, json!([add_message("hello")]))
            .await;
        assert_eq!((told.status, &told.error), (200, &None));
        let first = [
            "user complete: hello",
            "assistant complete: You said hello.",
        ];
        assert_eq!(told.message_lines(), first);
        assert_eq!(told.operations[0], "set /");
        assert_eq!(told.document["status"], "idle");
        let id = told.id().to_owned();
        assert_eq!(
            without_presence(told.document.clone()),
            stage.document(&id).await
        );

        // The page knows the session only from the document it received.
        let again = json!({"commands": [add_message("more")], "state": told.document});
        let told = ReceivedReply::read(stage.post("", format, again).await, format).await;
        assert_eq!(told.id(), id);
        let second = ["user complete: more", "assistant complete: You said more."];
        assert_eq!(told.message_lines(), [first, second].concat());
        assert_eq!(
            without_presence(told.document.clone()),
            stage.document(&id).await
        );
    }
}

#[tokio::test]
async fn each_format_has_its_headers() {
    let stage = AssistantStage::new();
    let told = stage
        .post_commands("", StreamFormat::Lines, json!([]))
        .await;
    let headers = &told.headers;
    assert_eq!(headers[header::CONTENT_TYPE], "text/plain; charset=utf-8");
    assert_eq!(headers["x-vercel-ai-data-stream"], "v1");
    assert_eq!(headers[header::X_CONTENT_TYPE_OPTIONS], "nosniff");
    let told = stage
        .post_commands("", StreamFormat::Events, json!([]))
        .await;
    let headers = &told.headers;
    assert_eq!(headers[header::CONTENT_TYPE], "text/event-stream");
    assert_eq!(headers[header::CACHE_CONTROL], "no-cache");
}

/// The message is in it whether the turn has ended by then or not.
#[tokio::test(flavor = "multi_thread")]
async fn the_first_document_contains_the_message() {
    let stage = AssistantStage::new();
    for round in 1..=20 {
        let query = if round == 1 { "" } else { "session=session-1" };
        let response = stage.post(
            query,
            StreamFormat::Lines,
            json!({"commands": [add_message("hello")]}),
        );
        let mut body = response.await.into_body().into_data_stream();
        let first = futures::StreamExt::next(&mut body).await.unwrap().unwrap();
        let first = std::str::from_utf8(&first).unwrap();
        let asked = first.matches(r#""content":"hello""#).count();
        assert_eq!(asked, round, "{first}");
        let rest: Vec<_> = futures::StreamExt::collect(body).await;
        assert!(rest.into_iter().all(|piece| piece.is_ok()));
    }
}

#[tokio::test]
async fn a_question_ends_the_response_and_an_answer_continues_the_turn() {
    for format in BOTH {
        let stage = AssistantStage::new();
        let told = stage
            .post_commands("", format, json!([add_message("write")]))
            .await;
        assert_eq!(told.error, None);
        assert_eq!(told.document["status"], "running");
        let call = told.document["approvals"][0]["toolCallId"].clone();
        assert_eq!(told.document["messages"][1]["toolCalls"][0]["id"], call);
        let query = format!("session={}", told.id());

        // Without an answer the response does not wait.
        let same = stage.post_commands(&query, format, json!([])).await;
        assert_eq!(
            without_presence(same.document),
            without_presence(told.document)
        );

        stage.agent.open_gate();
        let approve = json!([{"type": "approve", "toolCallId": call}]);
        let told = stage.post_commands(&query, format, approve.clone()).await;
        assert_eq!(told.error, None);
        assert_eq!(told.document["approvals"], json!([]));
        assert_eq!(told.document["status"], "idle");
        let said = told.message_lines();
        assert_eq!(said.last().unwrap(), "assistant complete: It is in a.txt.");
        let id = told.id().to_owned();
        assert_eq!(without_presence(told.document), stage.document(&id).await);

        let late = stage.post_commands(&query, format, approve).await;
        let words = "no open question has this toolCallId; it may be decided already";
        assert_eq!(late.error.as_deref(), Some(words));
    }
}

#[tokio::test]
async fn a_person_is_asked_and_answers() {
    let stage = AssistantStage::new();
    let told = stage
        .post_commands("", StreamFormat::Lines, json!([add_message("choose")]))
        .await;
    let question = &told.document["questions"][0];
    assert_eq!(question["subject"], "Which port?");
    let query = format!("session={}", told.id());
    let answer = json!([{"type": "answer", "questionId": question["id"], "answer": "9090"}]);
    let told = stage
        .post_commands(&query, StreamFormat::Lines, answer)
        .await;
    assert_eq!(told.message_lines()[1], "assistant complete: Port 9090.");
    assert_eq!(told.document["questions"], json!([]));
}

#[tokio::test]
async fn the_response_waits_for_all_queued_prompts() {
    let stage = AssistantStage::new();
    let commands = json!([
        add_message("one"),
        add_message("fail"),
        add_message("three")
    ]);
    let told = stage
        .post_commands("", StreamFormat::Events, commands)
        .await;
    let said = told.message_lines();
    assert_eq!(said.len(), 6, "{said:?}");
    assert_eq!(said[3], "assistant error: ");
    assert_eq!(said[5], "assistant complete: You said three.");
    assert_eq!(told.document["status"], "idle");
    // A failed turn is an error in the document, and no error of the transport.
    let query = format!("session={}", told.id());
    let told = stage
        .post_commands(&query, StreamFormat::Events, json!([add_message("fail")]))
        .await;
    assert_eq!(told.error, None);
    assert_eq!(told.document["error"], "the model is out of reach");
}

#[tokio::test]
async fn a_second_client_follows_a_running_turn_to_its_end() {
    let stage = AssistantStage::new();
    let begun = json!({"commands": [add_message("wait")]});
    let begun = stage.post("", StreamFormat::Lines, begun).await;
    stage.agent.wait_for_gate().await;
    let joined = stage.post(
        "session=session-1",
        StreamFormat::Events,
        json!({"commands": []}),
    );
    let joined = joined.await;
    stage.agent.open_gate();
    let joined = ReceivedReply::read(joined, StreamFormat::Events).await;
    let begun = ReceivedReply::read(begun, StreamFormat::Lines).await;
    assert_eq!(
        begun.message_lines()[1],
        "assistant complete: Working. Done."
    );
    assert_eq!(
        without_presence(joined.document),
        without_presence(begun.document)
    );
}

#[tokio::test]
async fn a_rejection_follows_the_document() {
    for format in BOTH {
        let stage = AssistantStage::new();
        let result = json!({"type": "add-tool-result", "toolCallId": "t", "result": 1});
        // One malformed command rejects the whole request.
        let told = stage
            .post_commands("", format, json!([add_message("hello"), result]))
            .await;
        assert_eq!(told.status, 200);
        assert_eq!(told.operations, ["set /"]);
        assert_eq!(told.message_lines(), [""; 0]);
        let words = "add-tool-result is not supported, because the tools run on the server; decide about a call with approve or deny";
        assert_eq!(told.error.as_deref(), Some(words));

        // Commands before the rejected one keep their effect, and their turn continues.
        let query = format!("session={}", told.id());
        let mode = json!({"type": "configure", "config": {"permissionMode": "nonsense"}});
        let told = stage
            .post_commands(&query, format, json!([add_message("wait"), mode]))
            .await;
        assert!(
            told.error.as_ref().unwrap().contains("nonsense"),
            "{told:?}"
        );
        assert_eq!(told.document["status"], "running");
        stage.agent.wait_for_gate().await;
        stage.agent.open_gate();
        let told = stage.post_commands(&query, format, json!([])).await;
        assert_eq!(
            told.message_lines()[1],
            "assistant complete: Working. Done."
        );
    }
}

#[tokio::test]
async fn a_rejected_prompt_names_the_controller() {
    let stage = AssistantStage::new();
    let told = stage
        .post_commands("", StreamFormat::Lines, json!([]))
        .await;
    let (id, session) = (told.id().to_owned(), stage.session(told.id()));
    let seat = session.take_seat("ada", std::sync::Arc::new(NoHost), SeatClaim::Never);
    seat.attach(AttachClient::controller("ada")).await.unwrap();
    let query = format!("session={id}");
    let told = stage
        .post_commands(&query, StreamFormat::Lines, json!([add_message("hello")]))
        .await;
    let words = told.error.clone().unwrap();
    assert!(words.contains("ada"), "{words}");
    assert_eq!(told.document["controller"], "ada");
    assert_eq!(told.message_lines(), [""; 0]);
    // A named client may take over, and has control while it is connected.
    let query = format!("{query}&client=bob");
    let taken = json!([{"type": "takeover"}, add_message("hello")]);
    let told = stage
        .post_commands(&query, StreamFormat::Lines, taken)
        .await;
    assert_eq!(told.error, None);
    assert_eq!(told.document["messages"][0]["author"], "bob");
    assert_eq!(told.document["controller"], "bob");
}

#[tokio::test]
async fn unauthorized_and_malformed_requests_are_rejected() {
    let stage = AssistantStage::new();
    let told = stage
        .post_commands("", StreamFormat::Lines, json!([add_message("hello")]))
        .await;
    let query = format!("session={}", told.id());
    let nowhere = stage.post_commands(
        "session=nowhere",
        StreamFormat::Lines,
        json!([add_message("hello")]),
    );
    let nowhere = nowhere.await;
    let words = "unknown session; /ws/sessions lists all sessions";
    assert_eq!(
        (nowhere.status, nowhere.error_message().as_str()),
        (404, words)
    );

    let empty = || json!({"commands": []}).to_string();
    let mallory = Some(Principal::new("mallory"));
    let foreign = stage
        .post_as(mallory, &query, StreamFormat::Lines, empty())
        .await;
    let foreign = ReceivedReply::read(foreign, StreamFormat::Lines).await;
    assert_eq!(
        (foreign.status, foreign.error_message().as_str()),
        (404, words)
    );
    let nobody = stage
        .post_as(None, &query, StreamFormat::Lines, empty())
        .await;
    assert_eq!(nobody.status(), 401);

    let (owner, limit) = (Some(Principal::owner()), stage.config.message_bytes);
    for (query, body, status) in [
        (query.as_str(), "{".to_owned(), 400),
        (query.as_str(), "{}".to_owned(), 400),
        ("role=king", empty(), 400),
        ("detach=perhaps", empty(), 400),
        ("cwd=not/absolute", empty(), 400),
        (query.as_str(), " ".repeat(limit + 1), 413),
    ] {
        let answer = stage.post_as(owner.clone(), query, StreamFormat::Lines, body);
        assert_eq!(answer.await.status(), status, "{query}");
    }
}
