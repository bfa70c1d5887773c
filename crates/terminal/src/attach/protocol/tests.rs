//! Tests of the requests that join, control and rejoin a session, and of the events for received lines.

use serde_json::{Value, json};

use super::*;

/// A protocol without a connection; tests read the messages it sends.
struct TestProtocol {
    talk: AttachProtocol,
}

impl TestProtocol {
    fn new(target: SessionTarget, control: bool) -> Self {
        let mut talk = AttachProtocol::new("me".to_owned(), target, None);
        talk.begin(control);
        Self { talk }
    }

    fn new_live() -> Self {
        Self::new(SessionTarget::Live("s".to_owned()), true)
    }

    /// Returns a protocol that has joined.
    fn new_joined() -> Self {
        let mut side = Self::new_live();
        side.answer("initialize", json!({}));
        side.answer("session/attach", json!({"active_controller_id": "me"}));
        side.answer("session/pending_injections", json!({}));
        side
    }

    /// Returns the only message that was sent since the last call.
    fn take_sent(&mut self) -> Value {
        let lines = self.talk.take_lines();
        let [line] = lines.as_slice() else {
            panic!("not one message: {lines:?}");
        };
        serde_json::from_str(line).unwrap()
    }

    fn receive(&mut self, message: Value) -> Option<AttachEvent> {
        self.talk.handle_line(&message.to_string())
    }

    /// Answers the request that was sent last, which must have this method.
    fn answer(&mut self, method: &str, result: Value) -> Option<AttachEvent> {
        let sent = self.take_sent();
        assert_eq!(sent["method"], method);
        self.receive(json!({"jsonrpc": "2.0", "id": sent["id"], "result": result}))
    }

    fn refuse(&mut self, method: &str, data: Value) -> Option<AttachEvent> {
        let sent = self.take_sent();
        assert_eq!(sent["method"], method);
        let error = json!({"code": -32602, "message": "no", "data": data});
        self.receive(json!({"jsonrpc": "2.0", "id": sent["id"], "error": error}))
    }
}

fn update(session: &str, event: &str) -> Value {
    let params = json!({"sessionId": session, "update": {}, "_meta": {"harn": {"eventId": event}}});
    json!({"jsonrpc": "2.0", "method": "session/update", "params": params})
}

#[test]
fn a_live_session_is_joined_from_its_first_event() {
    let mut side = TestProtocol::new_live();
    let hello = side.take_sent();
    let ours = &hello["params"]["clientCapabilities"]["_meta"]["harn"];
    assert_eq!(
        ours,
        &json!({"profile": "harn", "eventIds": true, "workerCalls": false})
    );
    side.receive(json!({"jsonrpc": "2.0", "id": 1, "result": {}}));
    let attach = side.take_sent();
    let params = json!({"sessionId": "s", "clientId": "me", "mode": "controller",
                        "lastEventId": "0",
                        "metadata": {"surface": "terminal"}});
    assert_eq!(attach["params"], params);
    assert!(!side.talk.joined);
    let session = json!({"title": "T", "cwd": "/w", "activePrompt": true,
                         "modes": {"currentModeId": "ask"}, "configOptions": [],
                         "availableCommands": [], "lastEventId": "0", "epoch": 0});
    let result = json!({"active_controller_id": "me", "_meta": {"harn": {"session": session}}});
    let heard = side.receive(json!({"jsonrpc": "2.0", "id": 2, "result": result}));
    let Some(AttachEvent::Joined(joined)) = heard else {
        panic!("{heard:?}");
    };
    assert!(side.talk.joined && joined.working);
    assert_eq!(joined.title.as_deref(), Some("T"));
    assert_eq!(joined.mode.as_deref(), Some("ask"));
    assert_eq!(joined.controller.as_deref(), Some("me"));
    let rows = json!([{"kind": "user", "messageId": "m", "mode": "finish_step", "content": "hm"},
                      {"kind": "reminder", "id": "r"}]);
    let heard = side.answer("session/pending_injections", json!({"injections": rows}));
    let Some(AttachEvent::Waiting(waiting)) = heard else {
        panic!("{heard:?}");
    };
    assert_eq!(waiting.len(), 1);
    assert!(waiting[0].steer && waiting[0].text == "hm");
}

#[test]
fn an_existing_controller_makes_us_an_observer() {
    let mut side = TestProtocol::new_live();
    side.answer("initialize", json!({}));
    let taken = json!({"reason": "controller_exists", "controller": "desk"});
    assert!(side.refuse("session/attach", taken).is_none());
    let again = side.take_sent();
    assert_eq!(again["params"]["mode"], "observer");
    assert_eq!(again["params"]["lastEventId"], "0");
    let result = json!({"active_controller_id": "desk"});
    let heard = side.receive(json!({"jsonrpc": "2.0", "id": again["id"], "result": result}));
    let Some(AttachEvent::Joined(joined)) = heard else {
        panic!("{heard:?}");
    };
    assert_eq!(joined.instead.as_deref(), Some("desk"));
}

#[test]
fn a_stored_session_is_loaded_and_a_new_one_is_created() {
    let mut side = TestProtocol::new(SessionTarget::Stored("s".to_owned(), "/w".into()), true);
    side.answer("initialize", json!({}));
    let load = side.take_sent();
    assert_eq!(load["method"], "session/load");
    assert_eq!(load["params"]["cwd"], "/w");
    assert_eq!(load["params"]["lastEventId"], "0");
    side.receive(json!({"jsonrpc": "2.0", "id": load["id"], "result": {}}));
    let attach = side.take_sent();
    // `session/load` has subscribed already.
    assert_eq!(attach["params"].get("lastEventId"), None);

    let mut side = TestProtocol::new(SessionTarget::New("/w".into()), true);
    side.answer("initialize", json!({}));
    side.answer("session/new", json!({"sessionId": "new"}));
    assert_eq!(side.take_sent()["params"]["sessionId"], "new");
    assert_eq!(side.talk.session(), Some("new"));
}

#[test]
fn a_rejoin_continues_after_the_last_event() {
    let mut side = TestProtocol::new_joined();
    assert!(side.receive(update("s", "7.0")).is_some());
    // An update of another session, and one without an event id.
    assert!(side.receive(update("other", "9")).is_none());
    let told = json!({"sessionId": "s", "update": {}});
    side.receive(json!({"jsonrpc": "2.0", "method": "session/update", "params": told}));
    side.talk.inject(false, "lost?");
    side.talk.prompt("lost too?");
    assert_eq!(side.talk.forget_sent(), ["lost?"]);
    side.talk.begin(false);
    side.answer("initialize", json!({}));
    let attach = side.take_sent();
    assert_eq!(attach["params"]["lastEventId"], "7.0");
    assert_eq!(attach["params"]["mode"], "observer");
    // If no server has the session open, it is loaded and continues at the same position.
    side.talk.reopen("/w".into());
    side.talk.begin(true);
    side.answer("initialize", json!({}));
    let load = side.take_sent();
    assert_eq!(load["method"], "session/load");
    assert_eq!(load["params"]["lastEventId"], "7.0");
}

#[test]
fn a_replaced_client_does_not_attach_again() {
    let mut side = TestProtocol::new_joined();
    let harn = json!({"action": "detached", "state": {"previous_controller_id": "me", "clients": []},
                      "left": {"client_id": "me", "reason": "replaced"}});
    let mut left = update("s", "7");
    left["params"]["update"] =
        json!({"sessionUpdate": "live_session_client", "_meta": {"harn": harn}});
    let heard = side.receive(left);
    assert!(matches!(heard, Some(AttachEvent::Replaced(_))), "{heard:?}");
    assert!(side.talk.take_lines().is_empty());
}

#[test]
fn a_late_message_becomes_the_next_prompt() {
    let mut side = TestProtocol::new_joined();
    side.talk.inject(true, "go left");
    let late = json!({"reason": "no_active_prompt"});
    let heard = side.refuse("session/inject", late);
    assert!(matches!(heard, Some(AttachEvent::Prompted(_, text)) if text == "go left"));
    let prompt = side.take_sent();
    assert_eq!(prompt["method"], "session/prompt");
    assert_eq!(prompt["params"]["prompt"][0]["text"], "go left");
}

#[test]
fn a_rejection_returns_the_rejected_text() {
    let mut side = TestProtocol::new_joined();
    side.talk.prompt("do it");
    let heard = side.refuse("session/prompt", Value::Null);
    let Some(AttachEvent::Refused { why, words }) = heard else {
        panic!("{heard:?}");
    };
    assert_eq!(
        (why.as_str(), words.unwrap().text),
        ("no", "do it".to_owned())
    );
    side.talk.inject(true, "now");
    let other = json!({"reason": "not_controller", "controller": "desk"});
    let heard = side.refuse("session/inject", other);
    let Some(AttachEvent::NotController { controller, words }) = heard else {
        panic!("{heard:?}");
    };
    assert_eq!(controller.as_deref(), Some("desk"));
    assert_eq!(words.unwrap().text, "now");
    side.talk.take_over();
    let heard = side.refuse("session/takeover", Value::Null);
    assert!(matches!(
        heard,
        Some(AttachEvent::Refused { words: None, .. })
    ));
}

#[test]
fn questions_are_passed_on_and_unknown_requests_rejected() {
    let mut side = TestProtocol::new_joined();
    let params = json!({"sessionId": "s", "_meta": {"harn": {"eventId": "8"}}});
    let ask =
        |method: &str| json!({"jsonrpc": "2.0", "id": "q1", "method": method, "params": params});
    let heard = side.receive(ask("session/request_permission"));
    assert!(matches!(
        heard,
        Some(AttachEvent::Asked(QuestionRequest { form: false, .. }))
    ));
    let heard = side.receive(ask("elicitation/create"));
    assert!(matches!(
        heard,
        Some(AttachEvent::Asked(QuestionRequest { form: true, .. }))
    ));
    assert!(side.receive(ask("fs/read_text_file")).is_none());
    assert_eq!(side.take_sent()["error"]["code"], -32601);
    let gone =
        json!({"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": "q1"}});
    assert!(matches!(side.receive(gone), Some(AttachEvent::Withdrawn(id)) if id == "q1"));
    for nonsense in ["", "{}", "[1]", "not json", r#"{"id":99,"result":1}"#] {
        assert!(side.talk.handle_line(nonsense).is_none(), "{nonsense}");
    }
}
