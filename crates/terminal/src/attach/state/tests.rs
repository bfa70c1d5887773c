//! Tests of the screen's state after lines of the wire and keys.

use harn_model::ToolCallStatus;
use serde_json::{Value, json};

use super::*;
use crate::agent_messages::activity::tests::permission_meta;
use crate::attach::{
    actions::{KeyOutcome, act, paste},
    keys::KeyAction,
    protocol::{AttachProtocol, SessionTarget},
    transcript::{MessageAuthor, NoteLevel, TranscriptEntry},
};

/// A client that has joined a session, without a connection.
pub(in crate::attach) struct TestAttachClient {
    pub(in crate::attach) talk: AttachProtocol,
    pub(in crate::attach) screen: AttachScreen,
}

impl TestAttachClient {
    /// Joins session `s` with this controller; our name is `me`.
    pub(in crate::attach) fn new_joined(controller: &str) -> Self {
        let talk = AttachProtocol::new("me".to_owned(), SessionTarget::Live("s".to_owned()), None);
        let screen = AttachScreen::new("me", false);
        let mut played = Self { talk, screen };
        played.join(controller, false);
        played
    }

    pub(in crate::attach) fn join(&mut self, controller: &str, working: bool) {
        self.talk.begin(true);
        self.answer(json!({}));
        let session = json!({"title": "Tidy the tests", "cwd": "/w", "activePrompt": working,
                             "modes": {"currentModeId": "ask"}, "configOptions": [],
                             "availableCommands": [], "lastEventId": "0", "epoch": 0});
        self.answer(json!({"active_controller_id": controller,
                           "_meta": {"harn": {"session": session}}}));
        self.answer(json!({"injections": []}));
    }

    /// Answers the request that was sent last.
    pub(in crate::attach) fn answer(&mut self, result: Value) {
        let sent = self.take_sent();
        let id = sent.last().expect("a request")["id"].clone();
        self.receive(json!({"jsonrpc": "2.0", "id": id, "result": result}));
    }

    /// Returns the messages sent since the last call.
    pub(in crate::attach) fn take_sent(&mut self) -> Vec<Value> {
        let lines = self.talk.take_lines();
        let parse = |line: &String| serde_json::from_str(line).unwrap();
        lines.iter().map(parse).collect()
    }

    pub(in crate::attach) fn receive(&mut self, message: Value) {
        if let Some(heard) = self.talk.handle_line(&message.to_string()) {
            assert!(self.screen.handle_event(heard).is_none());
        }
    }

    pub(in crate::attach) fn receive_update(&mut self, update: Value) {
        let params = json!({"sessionId": "s", "update": update});
        self.receive(json!({"jsonrpc": "2.0", "method": "session/update", "params": params}));
    }

    pub(in crate::attach) fn receive_event(&mut self, mut event: Value) {
        event["sessionId"] = "s".into();
        self.receive(json!({"jsonrpc": "2.0", "method": "_harn/agentEvent", "params": event}));
    }

    pub(in crate::attach) fn receive_message(&mut self, text: &str) {
        let content = json!({"type": "text", "text": text});
        self.receive_update(
            json!({"sessionUpdate": "agent_message_chunk", "messageId": "m",
                           "content": content}),
        );
    }

    pub(in crate::attach) fn receive_permission_request(&mut self, id: &str) {
        let call = json!({"toolCallId": "c", "title": "Clean up", "kind": "execute",
                          "rawInput": {"command": "rm -rf build && git status"}});
        let options = json!([
            {"optionId": "allow_once", "name": "Allow this once", "kind": "allow_once"},
            {"optionId": "allow_session", "name": "Allow it for this session", "kind": "allow_always"},
            {"optionId": "reject_once", "name": "Reject this once", "kind": "reject_once"},
        ]);
        let scopes = json!([{"optionId": "allow_once", "scope": "once"},
                            {"optionId": "allow_session", "scope": "session"},
                            {"optionId": "reject_once", "scope": "once"}]);
        let meta = permission_meta(
            json!({"options": scopes, "deadline": "1970-01-01T00:10:00Z",
                                          "policyDecision": {"reason": "the session's mode is ask"}}),
        );
        let params = json!({"sessionId": "s", "toolCall": call, "options": options,
                            "_meta": meta});
        self.receive(
            json!({"jsonrpc": "2.0", "id": id, "method": "session/request_permission",
                         "params": params}),
        );
    }

    /// Asks for one of these choices, or for any text, and waits until the question is answerable.
    pub(in crate::attach) fn receive_form(&mut self, choices: &[&str]) {
        let mut answer = json!({"type": "string"});
        if !choices.is_empty() {
            answer["enum"] = choices.into();
        }
        let schema = json!({"type": "object", "required": ["answer"],
                            "properties": {"answer": answer}});
        let params = json!({"sessionId": "s", "mode": "form", "message": "Which?",
                            "requestedSchema": schema});
        self.receive(
            json!({"jsonrpc": "2.0", "id": 7, "method": "elicitation/create", "params": params}),
        );
        self.advance_clock(400);
    }

    pub(in crate::attach) fn act(&mut self, action: KeyAction) -> KeyOutcome {
        act(&mut self.screen, &mut self.talk, action)
    }

    pub(in crate::attach) fn type_text(&mut self, text: &str) {
        for c in text.chars() {
            self.act(KeyAction::Type(c));
        }
    }

    /// Advances the clock of the screen.
    pub(in crate::attach) fn advance_clock(&mut self, millis: u64) {
        self.screen.now += Duration::from_millis(millis);
    }

    fn messages(&self) -> Vec<(MessageAuthor, String)> {
        let entries = self.screen.transcript.first..self.screen.transcript.end();
        let words = |number| match self.screen.transcript.entry(number)? {
            TranscriptEntry::Said(said) => Some((said.who.clone(), said.text.clone())),
            _ => None,
        };
        entries.filter_map(words).collect()
    }

    fn notes(&self) -> Vec<String> {
        let entries = self.screen.transcript.first..self.screen.transcript.end();
        let note = |number| match self.screen.transcript.entry(number)? {
            TranscriptEntry::Note(_, text) => Some(text.clone()),
            _ => None,
        };
        entries.filter_map(note).collect()
    }
}

/// Returns the author of a message.
pub(in crate::attach) fn author(who: &str) -> Value {
    json!({"client_id": who, "mode": "controller", "source": "acp", "metadata": null})
}

/// Returns the update for a change of the clients.
pub(in crate::attach) fn client_change(
    action: &str,
    who: &str,
    before: Value,
    now: Value,
) -> Value {
    let client = json!({"client_id": who, "mode": "controller", "attached_at": "", "last_seen_at": "",
                        "prompt_injection": true, "permission_routing": true, "metadata": null});
    let state = json!({"client": client, "previous_controller_id": before,
                       "active_controller_id": now, "clients": []});
    json!({"sessionUpdate": "live_session_client",
           "_meta": {"harn": {"action": action, "state": state}}})
}

#[test]
fn joining_sets_title_mode_and_controller() {
    let played = TestAttachClient::new_joined("me");
    let screen = &played.screen;
    assert_eq!(screen.link, ConnectionStatus::Up);
    assert_eq!(screen.title, "Tidy the tests");
    assert_eq!(screen.mode.as_deref(), Some("ask"));
    assert!(screen.is_controller() && screen.turn.is_none());
}

#[test]
fn our_prompt_is_shown_exactly_once() {
    let me = || MessageAuthor::Person(None);
    // The server does not repeat it over the same connection.
    let mut played = TestAttachClient::new_joined("me");
    played.type_text("go");
    played.act(KeyAction::Send);
    assert_eq!(played.take_sent()[0]["method"], "session/prompt");
    assert_eq!(played.screen.sent[0].1, "go");
    played.receive_event(json!({"kind": "turn_started", "turnId": "t", "messageId": "u1"}));
    assert_eq!(played.messages(), [(me(), "go".to_owned())]);
    assert!(played.screen.sent.is_empty() && played.screen.turn.is_some());
    played.receive_event(json!({"kind": "turn_ended", "turnId": "t", "stopReason": "end_turn"}));
    assert!(played.screen.turn.is_none());

    // The connection broke; the replay contains the prompt.
    let mut played = TestAttachClient::new_joined("me");
    played.type_text("go");
    played.act(KeyAction::Send);
    played.take_sent();
    played
        .screen
        .apply_connection_loss(Duration::ZERO, Vec::new(), None);
    let content = json!({"type": "text", "text": "go"});
    played.talk.begin(true);
    played.receive_update(
        json!({"sessionUpdate": "user_message_chunk", "messageId": "u1",
        "content": content, "_meta": {"harn": {"live_session": author("me")}}}),
    );
    played.receive_event(json!({"kind": "turn_started", "turnId": "t", "messageId": "u1"}));
    played.join("me", true);
    assert_eq!(played.messages(), [(me(), "go".to_owned())]);
    assert!(played.screen.prompt.is_empty() && played.screen.turn.is_some());

    // It never arrived: it is in the prompt box again.
    let mut played = TestAttachClient::new_joined("me");
    played.type_text("go");
    played.act(KeyAction::Send);
    played.take_sent();
    played
        .screen
        .apply_connection_loss(Duration::ZERO, Vec::new(), None);
    played.join("me", false);
    assert_eq!(played.screen.prompt.text(), "go");
    assert!(played.messages().is_empty() && played.screen.sent.is_empty());
}

#[test]
fn an_injected_message_waits_until_it_is_delivered() {
    let mut played = TestAttachClient::new_joined("me");
    played.receive_event(json!({"kind": "turn_started", "turnId": "t", "messageId": "u1"}));
    played.type_text("left");
    played.act(KeyAction::Steer);
    played.answer(json!({"messageId": "i1", "status": "accepted"}));
    played.type_text("then right");
    played.act(KeyAction::Send);
    let sent = played.take_sent();
    assert_eq!(sent[0]["params"]["mode"], "queue");
    assert_eq!(played.screen.waiting.len(), 1);
    let content = json!([{"type": "text", "text": "left"}]);
    played.receive_update(
        json!({"sessionUpdate": "user_message", "messageId": "i1", "content": content}),
    );
    assert!(played.screen.waiting.is_empty());
    assert_eq!(
        played.messages(),
        [(MessageAuthor::Person(None), "left".to_owned())]
    );
    // Delivered before the response that accepts it.
    let content = json!([{"type": "text", "text": "then right"}]);
    played.receive_update(
        json!({"sessionUpdate": "user_message", "messageId": "i2", "content": content}),
    );
    let answer = json!({"messageId": "i2", "status": "accepted"});
    played.receive(json!({"jsonrpc": "2.0", "id": sent[0]["id"], "result": answer}));
    assert!(played.screen.waiting.is_empty());
}

#[test]
fn a_takeover_moves_control_and_questions() {
    let mut played = TestAttachClient::new_joined("me");
    played.receive_permission_request("q");
    assert!(played.screen.question().is_some());
    played.receive_update(client_change(
        "takeover",
        "phone",
        json!("me"),
        json!("phone"),
    ));
    assert!(!played.screen.is_controller() && played.screen.question().is_none());
    played.act(KeyAction::TakeOver);
    assert_eq!(played.take_sent()[0]["method"], "session/takeover");
    played.receive_update(client_change("takeover", "me", json!("phone"), json!("me")));
    assert!(played.screen.is_controller());
    played.receive_update(client_change("attached", "tab", json!("me"), json!("me")));
    played.receive_update(client_change("heartbeat", "tab", json!("me"), json!("me")));
    played.act(KeyAction::HandBack);
    let sent = played.take_sent();
    assert_eq!(sent[0]["params"]["mode"], "observer");
    played.receive_update(client_change("attached", "me", json!("me"), Value::Null));
    assert_eq!(played.screen.controller, None);
    let result = json!({"active_controller_id": null});
    played.receive(json!({"jsonrpc": "2.0", "id": sent[0]["id"], "result": result}));
    played.screen.controller = Some("desk".to_owned());
    played.receive_update(client_change(
        "attached",
        "desk",
        json!("desk"),
        Value::Null,
    ));
    assert_eq!(
        played.notes(),
        [
            "phone took over from you",
            "you took over from phone",
            "tab watches",
            "you gave up control; no client has it",
            "desk gave up control; no client has it",
        ]
    );
    // A client that was started with `--observe` stays an observer.
    played.screen.observe = true;
    played.act(KeyAction::TakeOver);
    assert!(played.take_sent().is_empty() && played.screen.notice.is_some());
}

#[test]
fn a_question_is_answered_by_its_option_and_withdrawn_by_its_id() {
    let mut played = TestAttachClient::new_joined("me");
    played.receive_permission_request("q1");
    played.receive_permission_request("q2");
    assert!(
        !played.screen.question().unwrap().1,
        "nobody has read it yet"
    );
    played.advance_clock(400);
    assert!(played.screen.question().unwrap().1);
    played.act(KeyAction::Answer(1));
    let answer = &played.take_sent()[0];
    assert_eq!(answer["id"], "q1");
    let outcome = json!({"outcome": "selected", "optionId": "allow_session"});
    assert_eq!(answer["result"]["outcome"], outcome);
    assert!(
        !played.screen.question().unwrap().1,
        "the next one is new again"
    );
    let gone = json!({"requestId": "q2"});
    played.receive(json!({"jsonrpc": "2.0", "method": "$/cancel_request", "params": gone}));
    assert!(played.screen.question().is_none() && !played.screen.answering);
}

#[test]
fn a_new_question_does_not_interrupt_typing() {
    let mut played = TestAttachClient::new_joined("me");
    played.type_text("1 more");
    played.receive_permission_request("q");
    assert!(!played.screen.answering);
    played.act(KeyAction::SwitchFocus);
    assert!(played.screen.answering);
}

#[test]
fn a_paste_reaches_the_prompt_or_shows_a_notice() {
    let mut played = TestAttachClient::new_joined("me");
    paste(&mut played.screen, "a\tb");
    assert_eq!(played.screen.prompt.text(), "a\tb");
    assert_eq!(played.screen.notice, None);
    played.receive_permission_request("q");
    played.act(KeyAction::SwitchFocus);
    paste(&mut played.screen, " c");
    assert_eq!(played.screen.prompt.text(), "a\tb c");
    let words = played.screen.notice.take().unwrap();
    assert_eq!(words, "pasted into the prompt; Tab moves there");
    paste(&mut played.screen, &"x".repeat(64 * 1024));
    let words = played.screen.notice.take().unwrap();
    assert_eq!(
        words,
        "the pasted text is cut: the prompt is limited to 64 KiB"
    );
    let mut played = TestAttachClient::new_joined("desk");
    paste(&mut played.screen, "x");
    assert!(played.screen.prompt.is_empty() && played.screen.notice.is_some());
}

#[test]
fn a_typed_line_answers_a_form() {
    let mut played = TestAttachClient::new_joined("me");
    let schema = json!({"type": "object", "required": ["answer"],
                        "properties": {"answer": {"type": "string"}}});
    let params = json!({"sessionId": "s", "mode": "form", "message": "Which port?",
                        "requestedSchema": schema});
    played.receive(
        json!({"jsonrpc": "2.0", "id": 7, "method": "elicitation/create", "params": params}),
    );
    played.type_text("8080");
    played.act(KeyAction::AnswerText);
    let answer = &played.take_sent()[0];
    assert_eq!(answer["id"], 7);
    let result = json!({"action": "accept", "content": {"answer": "8080"}});
    assert_eq!(answer["result"], result);
}

#[test]
fn only_unusual_turn_ends_are_noted() {
    let mut played = TestAttachClient::new_joined("me");
    played.receive_event(json!({"kind": "turn_ended", "turnId": "t", "stopReason": "end_turn"}));
    played.receive_event(json!({"kind": "turn_ended", "turnId": "t", "stopReason": "cancelled"}));
    played.receive_event(json!({"kind": "turn_ended", "turnId": "t", "error": "too deep"}));
    assert_eq!(played.notes(), ["cancelled", "the turn failed: too deep"]);
    played.receive_event(json!({"kind": "session_closed", "reason": "closed", "status": "closed"}));
    assert!(played.screen.ended.is_some());
}

#[test]
fn leaving_needs_two_interrupts_in_a_row() {
    let mut played = TestAttachClient::new_joined("me");
    played.receive_event(json!({"kind": "turn_started", "turnId": "t", "messageId": "u"}));
    assert_eq!(played.act(KeyAction::Interrupt), KeyOutcome::Stay);
    assert_eq!(played.take_sent()[0]["method"], "session/cancel");
    played.act(KeyAction::Unfold);
    assert_eq!(played.act(KeyAction::Interrupt), KeyOutcome::Stay);
    assert_eq!(played.act(KeyAction::Interrupt), KeyOutcome::Leave);
}

#[test]
fn nothing_is_sent_without_a_connection() {
    let mut played = TestAttachClient::new_joined("me");
    played.type_text("go");
    played
        .screen
        .apply_connection_loss(Duration::from_secs(1), vec!["lost".to_owned()], None);
    played.act(KeyAction::Send);
    assert!(played.take_sent().is_empty());
    assert_eq!(played.screen.prompt.text(), "go");
    assert_eq!(played.notes(), ["this message may not have arrived: lost"]);
    // No notice claims that something was done.
    played.screen.turn = Some(Duration::ZERO);
    for action in [
        KeyAction::Cancel,
        KeyAction::Interrupt,
        KeyAction::HandBack,
        KeyAction::TakeOver,
    ] {
        played.act(action);
        assert!(played.take_sent().is_empty());
        let notice = played.screen.notice.clone().unwrap();
        assert!(!notice.contains("cancelling"), "{notice}");
    }
}

#[test]
fn an_unconfirmed_message_returns_to_the_prompt() {
    let mut played = TestAttachClient::new_joined("me");
    let unsure = vec!["left".to_owned()];
    played
        .screen
        .apply_connection_loss(Duration::ZERO, unsure, None);
    played.join("me", true);
    let notice = "this message may not have arrived; Enter sends it again";
    assert_eq!(played.screen.notice.as_deref(), Some(notice));
    assert_eq!(played.screen.prompt.text(), "left");
}

#[test]
fn rejected_text_returns_to_the_user() {
    let mut played = TestAttachClient::new_joined("me");
    let refuse = |played: &mut TestAttachClient, data: Value| {
        let id = played.take_sent().pop().unwrap()["id"].clone();
        let error = json!({"code": -32602, "message": "no", "data": data});
        played.receive(json!({"jsonrpc": "2.0", "id": id, "error": error}));
    };
    played.type_text("go");
    played.act(KeyAction::Send);
    played.type_text("more");
    refuse(&mut played, json!({}));
    assert_eq!(played.screen.notice.as_deref(), Some("no"));
    assert_eq!(played.notes(), ["the server rejected this message: go"]);
    assert_eq!(played.screen.prompt.text(), "more");
    // After this rejection the client knows that it is not the controller.
    played.act(KeyAction::Send);
    let data = json!({"reason": "not_controller", "controller": "phone"});
    refuse(&mut played, data);
    assert!(!played.screen.is_controller());
    assert_eq!(played.screen.controller.as_deref(), Some("phone"));
    let notice = played.screen.notice.clone().unwrap();
    assert!(notice.starts_with("phone controls the session"), "{notice}");
    assert_eq!(played.screen.prompt.text(), "more");
    // The same applies if the controller has our name.
    played.screen.controller = Some("me".to_owned());
    played.act(KeyAction::Send);
    refuse(
        &mut played,
        json!({"reason": "not_controller", "controller": "me"}),
    );
    assert!(!played.screen.is_controller());
    let notice = played.screen.notice.clone().unwrap();
    assert!(
        notice.starts_with("another client of your name controls"),
        "{notice}"
    );
}

#[test]
fn a_client_with_our_name_replaces_us() {
    let mut played = TestAttachClient::new_joined("me");
    played.receive_permission_request("q");
    played.receive_update(client_change("takeover", "me", json!("me"), json!("me")));
    assert!(!played.screen.is_controller() && played.screen.question().is_none());
    let told = "another client attached under your name, and controls the session in your place";
    assert_eq!(played.notes(), [told]);
    // The client sends nothing in the other client's name.
    played.talk.detach();
    assert!(played.take_sent().is_empty());
    // After a takeover the name is ours again.
    played.act(KeyAction::TakeOver);
    let take = played.take_sent().pop().unwrap();
    assert_eq!(take["method"], "session/takeover");
    played.receive_update(client_change("takeover", "me", json!("me"), json!("me")));
    assert!(played.screen.is_controller());
    played.receive(json!({"jsonrpc": "2.0", "id": take["id"], "result": {}}));
    played.talk.send_heartbeat();
    assert!(played.take_sent().is_empty(), "nothing was promised");
    played.talk.promises = true;
    played.talk.send_heartbeat();
    assert_eq!(played.take_sent().len(), 1);
}

#[test]
fn a_client_with_missed_heartbeats_attaches_again() {
    let mut played = TestAttachClient::new_joined("me");
    let mut gone = client_change("detached", "me", json!("me"), Value::Null);
    gone["_meta"]["harn"]["state"]["client"] = Value::Null;
    gone["_meta"]["harn"]["left"] = json!({"client_id": "me", "reason": "heartbeat_missed"});
    played.receive_update(gone.clone());
    let attach = played.take_sent().pop().unwrap();
    assert_eq!(attach["method"], "session/attach");
    assert_eq!(attach["params"]["mode"], "controller");
    assert_eq!(
        played.notes(),
        ["the server received nothing from you for too long; attaching again"]
    );
    played.receive_update(client_change("attached", "me", Value::Null, json!("me")));
    let result = json!({"active_controller_id": "me"});
    played.receive(json!({"jsonrpc": "2.0", "id": attach["id"], "result": result}));
    assert!(played.screen.is_controller() && played.screen.notice.is_none());
    played.take_sent();
    // An observer rejoins as observer, and changes of other clients are ignored.
    gone["_meta"]["harn"]["state"]["previous_controller_id"] = json!("desk");
    played.receive_update(gone.clone());
    assert_eq!(played.take_sent()[0]["params"]["mode"], "observer");
    gone["_meta"]["harn"]["left"]["client_id"] = json!("tab");
    played.receive_update(gone);
    assert!(played.take_sent().is_empty());
}

#[test]
fn an_unnamed_client_changes_only_the_controller() {
    let mut played = TestAttachClient::new_joined("desk");
    for (action, now) in [("takeover", json!("editor")), ("detached", Value::Null)] {
        let mut update = client_change(action, "", json!("desk"), now.clone());
        update["_meta"]["harn"]["state"]["client"] = Value::Null;
        played.receive_update(update);
        assert_eq!(played.screen.controller.as_deref(), now.as_str());
    }
    assert!(played.notes().is_empty());
}

#[test]
fn a_settled_question_shows_its_outcome() {
    let mut played = TestAttachClient::new_joined("desk");
    let asked = json!({"requestId": "q", "kind": "question", "payload": {"prompt": "Which?"}});
    played.receive_update(json!({"sessionUpdate": "hitl_request", "_meta": {"harn": asked}}));
    assert_eq!(
        played.notes(),
        ["the agent asks a person (question): Which?"]
    );
    let settled = json!({"requestId": "q", "kind": "question", "outcome": "answered"});
    played.receive_update(json!({"sessionUpdate": "hitl_resolved", "_meta": {"harn": settled}}));
    assert_eq!(
        played.notes(),
        ["the agent asks a person (question): Which? (answered)"]
    );
}

#[test]
fn two_equal_prompts_are_shown_twice() {
    let mut played = TestAttachClient::new_joined("me");
    let mut ids = Vec::new();
    for _ in 0..2 {
        played.type_text("go");
        played.act(KeyAction::Send);
        ids.push(played.take_sent().pop().unwrap()["id"].clone());
    }
    for (nth, id) in ids.iter().enumerate() {
        let message = format!("u{nth}");
        played.receive_event(json!({"kind": "turn_started", "turnId": "t", "messageId": message}));
        played
            .receive_event(json!({"kind": "turn_ended", "turnId": "t", "stopReason": "end_turn"}));
        let result = json!({"stopReason": "end_turn"});
        played.receive(json!({"jsonrpc": "2.0", "id": id, "result": result}));
    }
    assert_eq!(played.messages().len(), 2);
    assert!(played.screen.sent.is_empty());
}

#[test]
fn an_outdated_notice_is_removed() {
    let start = json!({"kind": "turn_started", "turnId": "t", "messageId": "u"});
    let mut played = TestAttachClient::new_joined("me");
    played.receive_event(start.clone());
    played.act(KeyAction::Cancel);
    assert!(played.screen.notice.is_some());
    played.receive_event(json!({"kind": "turn_ended", "turnId": "t", "stopReason": "cancelled"}));
    assert_eq!(played.screen.notice, None);
    let noticed = || Some("noticed".to_owned());
    played.screen.notice = noticed();
    played.receive_event(start);
    assert_eq!(played.screen.notice, None);
    played.screen.notice = noticed();
    played.receive_update(client_change(
        "takeover",
        "phone",
        json!("me"),
        json!("phone"),
    ));
    assert_eq!(played.screen.notice, None);
    played.screen.notice = noticed();
    let why = "the session is stored".to_owned();
    played
        .screen
        .apply_connection_loss(Duration::ZERO, Vec::new(), Some(why));
    assert_eq!(
        played.screen.notice.as_deref(),
        Some("the session is stored")
    );
    played.join("phone", false);
    let back = "reconnected, nothing was missed";
    assert_eq!(played.screen.notice.as_deref(), Some(back));
    played.receive_event(json!({"kind": "session_closed", "reason": "closed", "status": "closed"}));
    assert_eq!(played.screen.notice, None);
    // A session that can be joined again is not over.
    played.join("me", false);
    assert_eq!(played.screen.ended, None);
}

#[test]
fn all_fixture_messages_are_handled() {
    let mut played = TestAttachClient::new_joined("me");
    let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/acp");
    let mut count = 0;
    for file in std::fs::read_dir(fixtures).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_none_or(|it| it != "json") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let message: Value = serde_json::from_str(&text.replace("session-1", "s")).unwrap();
        if let Some(heard) = played.talk.handle_line(&message.to_string()) {
            played.screen.handle_event(heard);
            count += 1;
        }
    }
    assert!(count > 100, "{count}");
    assert!(played.screen.usage.is_some());
    let calls = (0..played.screen.transcript.end()).filter(|number| {
        let entry = played.screen.transcript.entry(*number);
        matches!(entry, Some(TranscriptEntry::Call(call)) if call.status == ToolCallStatus::Failed)
    });
    assert!(calls.count() > 0);
}

#[test]
fn new_entries_do_not_move_the_visible_lines() {
    let mut played = TestAttachClient::new_joined("me");
    for number in 0..50 {
        played
            .screen
            .transcript
            .add_note(NoteLevel::Note, format!("line {number}"));
    }
    let first = |played: &TestAttachClient| played.screen.visible_lines(10)[0].to_string();
    assert_eq!(first(&played), "· line 40");
    played.screen.scroll(-10, 10);
    assert_eq!(first(&played), "· line 30");
    played.screen.transcript.add_note(NoteLevel::Note, "new");
    assert_eq!(first(&played), "· line 30");
    played.screen.scroll(-100, 10);
    assert_eq!(first(&played), "· line 0");
    played.screen.scroll(10, 10);
    assert_eq!(first(&played), "· line 10");
    played.screen.scroll(100, 10);
    assert_eq!(played.screen.view, ScrollPosition::End);
    // A position that was dropped becomes the beginning.
    played.screen.scroll(-100, 10);
    for number in 0..5000 {
        played
            .screen
            .transcript
            .add_note(NoteLevel::Note, format!("{number}"));
    }
    assert!(first(&played).starts_with("… 1051 earlier entries"));
}
