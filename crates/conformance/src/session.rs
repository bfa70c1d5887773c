//! Sessions as a client sees them: opened, prompted, answered, closed.

use std::collections::{HashMap, HashSet, VecDeque};

use serde_json::Value;

use super::{
    ConformanceRule, MessageFindings, activity::SessionActivity, composition::CompositionRuns,
    envelope::RpcOutcome, extensions::RecordedUpdate, list_names, permission, quote_name,
    requests::RecordedRequest, steering::InjectedMessages, stream::EventIdProgress,
    tools::SessionToolCalls,
};

/// The open sessions of a connection.
#[derive(Default)]
pub(super) struct CheckedSessions {
    open: HashMap<String, CheckedSession>,
    /// The sessions that were open on an earlier connection.
    earlier: HashMap<String, CheckedSession>,
    /// The ids of attach and takeover requests for a session that the recording does not follow yet.
    joining: HashSet<String>,
}

/// The methods that attach a client to a session that is open elsewhere.
const JOIN: [&str; 2] = ["session/attach", "session/takeover"];

#[derive(Default)]
struct CheckedSession {
    /// The session has events that the recording does not show: it was resumed, forked, or loaded while open.
    past: bool,
    /// The client resumed after an event id, so an earlier connection may have the announcement of a call.
    goes_on: bool,
    /// The number of unanswered requests to load it; the replay precedes their answers.
    loading: usize,
    /// Whether it was open before the load.
    was_open: bool,
    /// The ids of its open prompts, oldest first.
    prompts: VecDeque<String>,
    /// A client of this connection has prompted it.
    prompted: bool,
    /// A turn runs that another client started.
    others_turn: bool,
    tools: SessionToolCalls,
    activity: SessionActivity,
    runs: CompositionRuns,
    messages: InjectedMessages,
    places: EventIdProgress,
}

impl CheckedSession {
    fn with_past() -> Self {
        Self {
            past: true,
            was_open: true,
            ..Self::default()
        }
    }

    /// Returns whether a turn may run or be replayed now, as far as the recording shows.
    fn may_be_in_turn(&self) -> bool {
        !self.prompts.is_empty() || self.loading > 0 || self.others_turn || !self.prompted
    }

    fn end_turn(&mut self) -> MessageFindings {
        let open = self.tools.open_calls();
        let found = match open.as_slice() {
            [] => MessageFindings::new(),
            some => {
                let names = list_names(some.iter().copied());
                let what = format!("tool calls still open: {names}");
                vec![(ConformanceRule::CallLeftOpen, what)]
            }
        };
        self.tools.end_all();
        found
    }
}

/// The requests that an agent sends during a turn. Killing or releasing a terminal is allowed later.
const OF_A_TURN: [&str; 8] = [
    "fs/read_text_file",
    "fs/write_text_file",
    "host/call",
    "host/capabilities",
    "session/request_permission",
    "terminal/create",
    "terminal/output",
    "terminal/wait_for_exit",
];

fn work_outside_turn_finding(who: &str) -> (ConformanceRule, String) {
    let what = format!("{who} has an event after its turn was answered");
    (ConformanceRule::WorkOutsideTurn, what)
}

impl CheckedSessions {
    /// Starts a new connection.
    pub(super) fn start_connection(&mut self) {
        self.earlier.extend(self.open.drain());
    }

    /// Starts a new connection in a recording of the agent's side alone: any session may continue, after any
    /// line.
    pub(super) fn assume_unknown_past(&mut self) {
        let sessions = self.open.values_mut();
        sessions.for_each(|session| *session = CheckedSession::with_past());
    }

    /// Records a request of the client.
    pub(super) fn record_request(&mut self, id: &str, asked: &RecordedRequest) {
        let Some(name) = &asked.session else { return };
        let joins = JOIN.contains(&asked.method.as_str());
        let opens = ["session/load", "session/resume", "session/fork"];
        // A client that uses a session without opening it continues an earlier connection: the file has two
        // recordings.
        if !opens.contains(&asked.method.as_str())
            && !joins
            && !self.open.contains_key(name)
            && let Some(session) = self.earlier.remove(name)
        {
            self.open.insert(name.clone(), session);
        }
        // The update about the client precedes the answer, and the stream starts with it.
        if joins && (asked.goes_on || !self.open.contains_key(name)) {
            self.joining.insert(id.to_owned());
            let session = self.open.entry(name.clone()).or_default();
            session.loading += 1;
            session.places.begin_anew();
            session.past = true;
            session.goes_on = asked.goes_on;
        }
        match asked.method.as_str() {
            "session/load" | "session/resume" if asked.is_replayed() => {
                let session = self.open.entry(name.clone()).or_default();
                session.loading += 1;
                session.places.begin_anew();
                // The replay replaces the stream; some of the stream may still arrive.
                session.past = session.was_open || asked.goes_on;
                session.goes_on = asked.goes_on;
                session.activity = SessionActivity::default();
                session.runs = CompositionRuns::default();
            }
            "session/prompt" => {
                if let Some(session) = self.open.get_mut(name) {
                    session.prompts.push_back(id.to_owned());
                    session.prompted = true;
                }
            }
            // These may start a turn, or join a running one.
            "_session/steering" | "agent/resume" | "session/attach" | "session/inject"
            | "session/remind" | "session/takeover" => {
                if let Some(session) = self.open.get_mut(name) {
                    session.others_turn = true;
                }
            }
            _ => {}
        }
    }

    /// Records the answer to a request of the client.
    pub(super) fn record_answer(
        &mut self,
        id: &str,
        asked: &RecordedRequest,
        outcome: RpcOutcome<'_>,
    ) -> MessageFindings {
        let name = asked.session.as_deref();
        match (asked.method.as_str(), outcome, name) {
            ("session/new" | "session/fork", RpcOutcome::Result(result), _) => {
                if let Some(id) = result.get("sessionId").and_then(Value::as_str) {
                    let session = match asked.method.as_str() {
                        "session/new" => CheckedSession {
                            was_open: true,
                            ..CheckedSession::default()
                        },
                        _ => CheckedSession::with_past(),
                    };
                    self.open.entry(id.to_owned()).or_insert(session);
                }
            }
            ("session/resume", RpcOutcome::Result(_), Some(name)) if !asked.is_replayed() => {
                self.open
                    .entry(name.to_owned())
                    .or_insert_with(CheckedSession::with_past);
            }
            (method, outcome, Some(name))
                if matches!(method, "session/load" | "session/resume")
                    || self.joining.remove(id) =>
            {
                if let Some(session) = self.open.get_mut(name) {
                    session.loading = session.loading.saturating_sub(1);
                    session.places.mark_opened();
                    session.was_open |= matches!(outcome, RpcOutcome::Result(_));
                    if !session.was_open && session.loading == 0 {
                        self.open.remove(name);
                    }
                }
            }
            (
                "session/archive" | "session/close" | "session/delete" | "session/stop",
                RpcOutcome::Result(_),
                Some(name),
            ) => {
                self.open.remove(name);
            }
            ("session/prompt", outcome, Some(name)) => {
                return self.end_turn_of_prompt(name, id, outcome);
            }
            (_, RpcOutcome::Result(result), Some(name)) => {
                if let Some(session) = self.open.get_mut(name) {
                    return session.messages.record_answer(asked, result);
                }
            }
            _ => {}
        }
        MessageFindings::new()
    }

    fn end_turn_of_prompt(
        &mut self,
        name: &str,
        id: &str,
        outcome: RpcOutcome<'_>,
    ) -> MessageFindings {
        let Some(session) = self.open.get_mut(name) else {
            return MessageFindings::new();
        };
        let Some(place) = session.prompts.iter().position(|open| open == id) else {
            return MessageFindings::new();
        };
        session.prompts.remove(place);
        // A rejected prompt had no turn, and a queued one has no calls.
        let had_turn = match outcome {
            RpcOutcome::Result(result) => {
                // Turns run one after another. A cancelled prompt may have waited for another client's turn.
                session.others_turn &= result["stopReason"] == "cancelled";
                true
            }
            RpcOutcome::Error(error) => {
                let refused = [-32600, -32601, -32602, -32002];
                !error["code"]
                    .as_i64()
                    .is_some_and(|code| refused.contains(&code))
            }
        };
        if place == 0 && had_turn {
            session.end_turn()
        } else {
            MessageFindings::new()
        }
    }

    /// Records the answer to a prompt that the recording does not have: it ends the turn of the only session.
    pub(super) fn end_turn_of_only_session(&mut self) -> MessageFindings {
        let mut sessions = self.open.values_mut();
        match (sessions.next(), sessions.next()) {
            (Some(only), None) => only.end_turn(),
            _ => MessageFindings::new(),
        }
    }

    /// Checks an update. With `strict`, the recording has the requests that open sessions.
    pub(super) fn check_update(
        &mut self,
        name: &str,
        update: &RecordedUpdate<'_>,
        strict: bool,
    ) -> MessageFindings {
        let (session, mut found) = self.find(name, strict);
        let replay = session.loading > 0 || !strict;
        found.extend(session.messages.check_update(update, replay));
        if session.prompts.is_empty()
            && matches!(update.name, "user_message" | "user_message_chunk")
        {
            session.others_turn = true;
        }
        // A client does not receive its own prompts live, so this is a load whose request is not in the
        // recording.
        if !strict && update.name == "user_message_chunk" {
            session.tools.forget_ended();
            session.activity.forget_ended();
            session.runs.forget_ended();
        }
        if update.is_tool() {
            if !session.may_be_in_turn() {
                let what = "a tool call has an event after its turn was answered".to_owned();
                found.push((ConformanceRule::CallOutsideTurn, what));
            }
            if let (true, "tool_call", Some(id)) = (
                session.loading > 0,
                update.name,
                update.root["toolCallId"].as_str(),
            ) && session.past
            {
                session.tools.forget(id);
            }
            let past = session.past && (session.loading > 0 || !session.prompted);
            found.extend(session.tools.check_update(update, past));
        }
        if update.is_extension() {
            if update.name == "worker_update" && !session.may_be_in_turn() {
                found.push(work_outside_turn_finding("a worker"));
            }
            found.extend(session.activity.check_update(update, session.past));
        }
        found
    }

    /// Checks the params of an agent event.
    pub(super) fn check_event(
        &mut self,
        name: &str,
        params: &Value,
        strict: bool,
    ) -> MessageFindings {
        let (session, mut found) = self.find(name, strict);
        let kind = params["kind"].as_str().unwrap_or_default();
        if kind.starts_with("composition_") && !session.may_be_in_turn() {
            found.push(work_outside_turn_finding("a composition run"));
        }
        if matches!(kind, "agent_idle" | "daemon_watchdog_tripped") && !session.may_be_in_turn() {
            found.push(work_outside_turn_finding("an agent that waits"));
        }
        match kind {
            // Whichever client started the turn.
            "turn_started" => session.others_turn |= session.prompts.is_empty(),
            "turn_ended" => session.others_turn = false,
            _ => {}
        }
        let replay = session.loading > 0 || !strict;
        found.extend(session.messages.record_outcome(params, replay));
        found.extend(session.runs.check_event(params, session.past));
        found
    }

    /// Checks the event id of a message, if it has one.
    pub(super) fn check_event_id(&mut self, name: &str, params: &Value) -> MessageFindings {
        let session = self.open.get_mut(name);
        session.map_or_else(MessageFindings::new, |session| {
            session.places.check_event_id(params)
        })
    }

    /// Checks an `agent/idle` notification.
    pub(super) fn check_idle(&mut self, name: &str, strict: bool) -> MessageFindings {
        let (session, mut found) = self.find(name, strict);
        if !session.may_be_in_turn() {
            found.push(work_outside_turn_finding("an agent that waits"));
        }
        found
    }

    /// Checks a request of the agent that names a session. With `strict`, the recording has the requests that
    /// open sessions.
    pub(super) fn check_agent_request(
        &mut self,
        name: &str,
        method: &str,
        params: &Value,
        strict: bool,
    ) -> MessageFindings {
        if !OF_A_TURN.contains(&method) {
            return MessageFindings::new();
        }
        let (session, mut found) = self.find(name, strict);
        if !session.may_be_in_turn() {
            let what = format!(
                "{} was sent after its turn was answered",
                quote_name(method)
            );
            found.push((ConformanceRule::RequestOutsideTurn, what));
        } else if method == permission::METHOD
            && strict
            && !session.goes_on
            && let Some(call) = params["toolCall"]["toolCallId"].as_str()
        {
            found.extend(session.tools.check_permission_target(call));
        }
        found
    }

    fn find(&mut self, name: &str, strict: bool) -> (&mut CheckedSession, MessageFindings) {
        let mut found = MessageFindings::new();
        if strict && !self.open.contains_key(name) {
            let what = format!("the session {} is not open", quote_name(name));
            found.push((ConformanceRule::SessionNotOpen, what));
        }
        // Treat it as open from here on, so that one cause makes one finding.
        (self.open.entry(name.to_owned()).or_default(), found)
    }
}
