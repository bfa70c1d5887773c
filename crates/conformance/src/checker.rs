//! The checker: reads a line and returns the rules it breaks.

use serde_json::{Value, json};

use super::{
    ConformanceFinding, ConformanceRule, MessageFindings, TrafficDirection,
    advertised_names::AdvertisedNames,
    bridge,
    envelope::{self, RecordedMessage, RpcOutcome},
    extensions::{self, RecordedUpdate},
    live_clients, meta,
    methods::{self, MethodOrigin},
    permission::{self, MemberPlacement},
    quote_name,
    recording::{self, RecordedLine},
    requests::{AnswerMatch, RecordedRequest, RequestTable},
    session::CheckedSessions,
    steering, stream,
};
use harn_acp::ext::{VENDOR, agent_event, idle};

/// Reads a recording message by message and reports what breaks the rules.
///
/// A recording is a transcript as in `fixtures/acp`, where each line has its direction, or the bare messages
/// of one or both sides. A missing direction is inferred from the method, or from the request that an answer
/// is for. Rules that need both sides are not applied to a recording of one side.
#[derive(Default)]
pub struct Checker {
    lone: bool,
    line: usize,
    messages: usize,
    heard_client: bool,
    heard_agent: bool,
    wish: Option<String>,
    /// Whether the client declared the bridge; none before its `initialize`.
    offered: Option<bool>,
    advertised: Option<AdvertisedNames>,
    requests: RequestTable,
    sessions: CheckedSessions,
}

impl Checker {
    /// Creates a checker for one recording.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a checker for unrelated messages. It applies no rule about order or about what was advertised.
    pub fn for_lone_messages() -> Self {
        Self {
            lone: true,
            ..Self::default()
        }
    }

    /// Returns the number of messages so far, including unreadable ones.
    pub fn messages(&self) -> usize {
        self.messages
    }

    /// Checks the next line of a recording; `line` has no line break.
    pub fn check_line(&mut self, line: &str) -> Vec<ConformanceFinding> {
        self.line += 1;
        self.check_entry(recording::parse_line(line))
    }

    /// Checks the next line of a recording, already parsed.
    pub fn check_value(&mut self, line: Value) -> Vec<ConformanceFinding> {
        self.line += 1;
        self.check_entry(recording::parse_value(line))
    }

    /// Checks a message as the next line; infers the direction if it is none.
    pub fn check_message(
        &mut self,
        direction: Option<TrafficDirection>,
        message: &Value,
    ) -> Vec<ConformanceFinding> {
        self.line += 1;
        self.check_envelope(direction, message)
    }

    /// Counts a line that is not readable as text (too long, or not UTF-8) and reports `rule`.
    pub fn report_unreadable(
        &mut self,
        rule: ConformanceRule,
        what: &str,
    ) -> Vec<ConformanceFinding> {
        self.line += 1;
        self.messages += 1;
        self.locate_findings(None, vec![(rule, what.to_owned())])
    }

    fn check_entry(&mut self, entry: RecordedLine) -> Vec<ConformanceFinding> {
        match entry {
            RecordedLine::Nothing => Vec::new(),
            RecordedLine::Message { direction, message } => {
                self.check_envelope(direction, &message)
            }
            RecordedLine::Broken {
                direction,
                rule,
                what,
            } => {
                self.messages += 1;
                self.locate_findings(direction, vec![(rule, what.to_owned())])
            }
        }
    }

    fn locate_findings(
        &self,
        direction: Option<TrafficDirection>,
        found: MessageFindings,
    ) -> Vec<ConformanceFinding> {
        let line = self.line;
        let findings = found.into_iter().map(|(rule, message)| ConformanceFinding {
            line,
            direction,
            rule,
            message,
        });
        findings.collect()
    }

    fn check_envelope(
        &mut self,
        direction: Option<TrafficDirection>,
        message: &Value,
    ) -> Vec<ConformanceFinding> {
        self.messages += 1;
        let envelope = match envelope::read(message) {
            Ok(envelope) => envelope,
            Err(why) => {
                return self.locate_findings(
                    direction,
                    vec![(ConformanceRule::NotAMessage, why.to_owned())],
                );
            }
        };
        let direction = direction.or_else(|| self.guess_direction(&envelope));
        match direction {
            Some(TrafficDirection::ToAgent) => self.heard_client = true,
            Some(TrafficDirection::ToClient) => self.heard_agent = true,
            None => {}
        }
        let found = match envelope {
            RecordedMessage::Request { id, method, params } => {
                let mut found = self.check_method_and_params(direction, method, params);
                found.extend(self.check_request(direction, &id, method, params));
                found
            }
            RecordedMessage::Notification { method, params } => {
                self.check_method_and_params(direction, method, params)
            }
            RecordedMessage::Answer { id, outcome } => {
                self.check_answer(direction, id.as_deref(), outcome)
            }
        };
        self.locate_findings(direction, found)
    }

    fn guess_direction(&self, envelope: &RecordedMessage<'_>) -> Option<TrafficDirection> {
        match envelope {
            RecordedMessage::Request { method, .. }
            | RecordedMessage::Notification { method, .. } => match methods::find_origin(method) {
                MethodOrigin::Acp(method) => method.to,
                MethodOrigin::Contract(to) => Some(to),
                MethodOrigin::Own | MethodOrigin::Nothing => None,
            },
            RecordedMessage::Answer { id, outcome } => self
                .requests
                .guess_answer_direction(id.as_deref()?, *outcome),
        }
    }

    /// Checks the method and params of a request or notification.
    fn check_method_and_params(
        &mut self,
        direction: Option<TrafficDirection>,
        name: &str,
        params: Option<&Value>,
    ) -> MessageFindings {
        let nothing = json!({});
        let params = params.unwrap_or(&nothing);
        let mut found = MessageFindings::new();
        let known = methods::find_origin(name);
        let wrong_way = match &known {
            MethodOrigin::Acp(method) => {
                direction.is_some() && method.to.is_some() && method.to != direction
            }
            MethodOrigin::Contract(to) => direction.is_some_and(|went| went != *to),
            MethodOrigin::Own => false,
            MethodOrigin::Nothing => {
                let what = format!("unknown method {}", quote_name(name));
                return vec![(ConformanceRule::UnknownMethod, what)];
            }
        };
        if wrong_way {
            let what = format!("only the other side may send {}", quote_name(name));
            return vec![(ConformanceRule::UnknownMethod, what)];
        }
        found.extend(meta::check_params(name, params));
        match (name, known) {
            ("session/update", MethodOrigin::Acp(method)) => match RecordedUpdate::read(params) {
                Some(update) => {
                    found.extend(update.check(params, method));
                    found.extend(live_clients::check_update(&update));
                    found.extend(self.check_update(params, &update));
                }
                None => found.extend(method.params.check(params, "params")),
            },
            (agent_event::METHOD, _) => found.extend(self.check_event(params)),
            (idle::METHOD, _) => found.extend(self.check_idle(params)),
            (permission::METHOD, MethodOrigin::Acp(method)) => {
                let canonical = permission::without_contract_members(params);
                found.extend(method.params.check(&canonical, "params"));
                let advertised = self.advertised.as_ref();
                let expected = advertised.map_or(
                    MemberPlacement::Anything,
                    AdvertisedNames::approval_placement,
                );
                found.extend(permission::check(params, expected));
            }
            (name, MethodOrigin::Contract(TrafficDirection::ToClient)) => {
                if let Some(misfits) = bridge::check_params(name, params) {
                    found.extend(misfits);
                    let advertised = self.advertised.as_ref();
                    let named = advertised.is_some_and(|it| it.check_method(name).is_empty());
                    if self.offered == Some(false) && !named && !self.lone {
                        found.push(bridge::not_offered_finding(name));
                    }
                }
            }
            (name, known) => match (steering::find_method(name), known) {
                (Some(method), _) => found.extend(method.params.check(params, "params")),
                (None, MethodOrigin::Acp(method)) => {
                    let params = stream::without_contract_members(name, params);
                    found.extend(method.params.check(&params, "params"));
                }
                (None, MethodOrigin::Contract(_) | MethodOrigin::Own | MethodOrigin::Nothing) => {}
            },
        }
        found
    }

    fn check_update(&mut self, params: &Value, update: &RecordedUpdate<'_>) -> MessageFindings {
        if self.lone {
            return MessageFindings::new();
        }
        let mut found = MessageFindings::new();
        if let Some(advertised) = &self.advertised {
            found.extend(advertised.check_update(update));
        }
        if let Some(session) = params.get("sessionId").and_then(Value::as_str) {
            found.extend(
                self.sessions
                    .check_update(session, update, self.heard_client),
            );
            found.extend(self.sessions.check_event_id(session, params));
        }
        found
    }

    fn check_event(&mut self, params: &Value) -> MessageFindings {
        let mut found = extensions::check_event(params);
        if found.is_empty() {
            found.extend(steering::check_event(params));
        }
        if self.lone {
            return found;
        }
        if let (Some(advertised), Some(kind)) = (&self.advertised, params["kind"].as_str()) {
            found.extend(advertised.check_event(kind));
        }
        if let Some(session) = params.get("sessionId").and_then(Value::as_str) {
            found.extend(
                self.sessions
                    .check_event(session, params, self.heard_client),
            );
            found.extend(self.sessions.check_event_id(session, params));
        }
        found
    }

    fn check_idle(&mut self, params: &Value) -> MessageFindings {
        let mut found = steering::check_idle(params);
        if self.lone {
            return found;
        }
        if let Some(advertised) = &self.advertised {
            found.extend(advertised.check_method(idle::METHOD));
        }
        if let Some(session) = params.get("sessionId").and_then(Value::as_str) {
            found.extend(self.sessions.check_idle(session, self.heard_client));
        }
        found
    }

    fn check_request(
        &mut self,
        direction: Option<TrafficDirection>,
        id: &str,
        method: &str,
        params: Option<&Value>,
    ) -> MessageFindings {
        if method == "initialize" {
            // A new connection: the requests and sessions of the one before are no longer open.
            self.requests = RequestTable::default();
            self.sessions.start_connection();
            self.advertised = None;
            let harn = params.map(|params| &params["clientCapabilities"]["_meta"][VENDOR]);
            let wish = harn.and_then(|harn| harn["profile"].as_str());
            self.wish = wish.map(str::to_owned);
            self.offered = Some(bridge::is_offered(harn));
        }
        let session = params.and_then(|params| params.get("sessionId")?.as_str());
        let asked = RecordedRequest {
            method: method.to_owned(),
            session: session.map(str::to_owned),
            goes_on: params.is_some_and(stream::has_last_event_id),
            operation: bridge::find_operation(method, params),
        };
        let mut found = MessageFindings::new();
        match (direction, session) {
            (Some(TrafficDirection::ToAgent), _) => self.sessions.record_request(id, &asked),
            (Some(TrafficDirection::ToClient), Some(session)) if !self.lone => {
                let params = params.unwrap_or(&Value::Null);
                let strict = self.heard_client;
                found.extend(
                    self.sessions
                        .check_agent_request(session, method, params, strict),
                );
                found.extend(self.sessions.check_event_id(session, params));
            }
            (Some(TrafficDirection::ToClient) | None, _) => {}
        }
        if !self.requests.open_request(direction, id, asked) && !self.lone {
            let what = format!("another request with the id {} is open", quote_name(id));
            found.push((ConformanceRule::IdInUse, what));
        }
        found
    }

    fn check_answer(
        &mut self,
        direction: Option<TrafficDirection>,
        id: Option<&str>,
        outcome: RpcOutcome<'_>,
    ) -> MessageFindings {
        let mut found = MessageFindings::new();
        if let RpcOutcome::Error(error) = outcome {
            found.extend(methods::error_schema().check(error, "error"));
        }
        // This answers a message that the receiver could not read, so it belongs to no request.
        let Some(id) = id else { return found };
        match self.requests.close_request(direction, id) {
            AnswerMatch::Open(asked) => {
                if let RpcOutcome::Result(result) = outcome {
                    found.extend(check_result(&asked.method, result));
                    found.extend(live_clients::check_result(&asked.method, result));
                    if let Some(operation) = asked.operation {
                        found.extend(operation.result.check(result, "result"));
                    }
                }
                if let ("initialize", RpcOutcome::Result(result)) = (asked.method.as_str(), outcome)
                {
                    self.advertised = Some(AdvertisedNames::read(result, self.wish.as_deref()));
                }
                if direction != Some(TrafficDirection::ToAgent) {
                    found.extend(self.sessions.record_answer(id, &asked, outcome));
                }
            }
            AnswerMatch::Answered if !self.lone => {
                let what = format!("the request {} was answered before", quote_name(id));
                found.push((ConformanceRule::AnsweredTwice, what));
            }
            AnswerMatch::Nothing if self.has_asker(direction) && !self.lone => {
                let what = format!("no request has the id {}", quote_name(id));
                found.push((ConformanceRule::AnswerWithoutRequest, what));
            }
            AnswerMatch::Answered | AnswerMatch::Nothing => {
                found.extend(self.check_answer_without_request(outcome))
            }
        }
        found
    }

    /// Returns whether the recording has messages of the side that would have sent the request.
    fn has_asker(&self, answer: Option<TrafficDirection>) -> bool {
        match answer {
            Some(TrafficDirection::ToClient) => self.heard_client,
            Some(TrafficDirection::ToAgent) => self.heard_agent,
            None => self.heard_client && self.heard_agent,
        }
    }

    /// Checks an answer in a recording of the agent's side alone. Only the answers to `initialize` and
    /// `session/prompt` are recognisable by their members.
    fn check_answer_without_request(&mut self, outcome: RpcOutcome<'_>) -> MessageFindings {
        let RpcOutcome::Result(result) = outcome else {
            return MessageFindings::new();
        };
        let is = |name: &str| result.get(name).is_some();
        let method = if is("protocolVersion") && is("agentCapabilities") {
            "initialize"
        } else if is("stopReason") {
            "session/prompt"
        } else {
            return MessageFindings::new();
        };
        let mut found = check_result(method, result);
        if method == "initialize" {
            self.advertised = Some(AdvertisedNames::read(result, None));
            self.sessions.assume_unknown_past();
        } else {
            found.extend(self.sessions.end_turn_of_only_session());
        }
        found
    }
}

/// Checks the result of a method.
fn check_result(method: &str, result: &Value) -> MessageFindings {
    // ACP accepts null for an empty result.
    let nothing = json!({});
    let result = if result.is_null() { &nothing } else { result };
    let plain = meta::without_contract_members(method, result);
    let mut found = methods::result_schema(method)
        .map_or_else(MessageFindings::new, |it| it.check(&plain, "result"));
    found.extend(meta::check_result(method, result));
    found
}
