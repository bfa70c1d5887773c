//! The checker: from a line to the rules it breaks.

use serde_json::{Value, json};

use super::{
    Direction, Finding, Found, Rule,
    advertised::Advertised,
    bridge,
    envelope::{self, Envelope, Outcome},
    extensions::{self, Update},
    meta,
    methods::{self, Known},
    permission::{self, Expected},
    recording::{self, Entry},
    requests::{Answers, Asked, Requests},
    roster,
    session::Sessions,
    shown, steering, stream,
};
use harn_acp::ext::{VENDOR, agent_event, idle};

/// Reads a recording, a message at a time, and says what breaks the rules.
///
/// A recording is a transcript as in `fixtures/acp`, where each line says which way it went, or the bare
/// messages of one or of both sides. Where the way is not told it is taken from the method, or from the
/// request that an answer is for. Rules that need both sides are not held against a recording of one.
#[derive(Default)]
pub struct Checker {
    lone: bool,
    line: usize,
    messages: usize,
    heard_client: bool,
    heard_agent: bool,
    wish: Option<String>,
    /// Whether the client has the bridge; none if it never said what it has.
    offered: Option<bool>,
    advertised: Option<Advertised>,
    requests: Requests,
    sessions: Sessions,
}

impl Checker {
    /// A checker for one recording.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A checker for messages that have nothing to do with one another: no rule about what comes after
    /// what, or about what was advertised, is held against them.
    #[must_use]
    pub fn lone() -> Self {
        Self {
            lone: true,
            ..Self::default()
        }
    }

    /// How many messages there were so far, readable or not.
    #[must_use]
    pub fn messages(&self) -> usize {
        self.messages
    }

    /// Takes the next line of a recording, without its end.
    pub fn line(&mut self, line: &str) -> Vec<Finding> {
        self.line += 1;
        self.entry(recording::entry(line))
    }

    /// Takes the next line of a recording, already parsed.
    pub fn value(&mut self, line: Value) -> Vec<Finding> {
        self.line += 1;
        self.entry(recording::of_value(line))
    }

    /// Takes a message as the next line; without a direction it is guessed.
    pub fn message(&mut self, direction: Option<Direction>, message: &Value) -> Vec<Finding> {
        self.line += 1;
        self.take(direction, message)
    }

    /// Takes a line that could not be read as text: too long, or not UTF-8.
    pub fn unreadable(&mut self, rule: Rule, what: &str) -> Vec<Finding> {
        self.line += 1;
        self.messages += 1;
        self.findings(None, vec![(rule, what.to_owned())])
    }

    fn entry(&mut self, entry: Entry) -> Vec<Finding> {
        match entry {
            Entry::Nothing => Vec::new(),
            Entry::Message { direction, message } => self.take(direction, &message),
            Entry::Broken {
                direction,
                rule,
                what,
            } => {
                self.messages += 1;
                self.findings(direction, vec![(rule, what.to_owned())])
            }
        }
    }

    fn findings(&self, direction: Option<Direction>, found: Found) -> Vec<Finding> {
        let line = self.line;
        let findings = found.into_iter().map(|(rule, message)| Finding {
            line,
            direction,
            rule,
            message,
        });
        findings.collect()
    }

    fn take(&mut self, direction: Option<Direction>, message: &Value) -> Vec<Finding> {
        self.messages += 1;
        let envelope = match envelope::read(message) {
            Ok(envelope) => envelope,
            Err(why) => return self.findings(direction, vec![(Rule::NotAMessage, why.to_owned())]),
        };
        let direction = direction.or_else(|| self.guess(&envelope));
        match direction {
            Some(Direction::ToAgent) => self.heard_client = true,
            Some(Direction::ToClient) => self.heard_agent = true,
            None => {}
        }
        let found = match envelope {
            Envelope::Request { id, method, params } => {
                let mut found = self.asked(direction, method, params);
                found.extend(self.request(direction, &id, method, params));
                found
            }
            Envelope::Notification { method, params } => self.asked(direction, method, params),
            Envelope::Answer { id, outcome } => self.answer(direction, id.as_deref(), outcome),
        };
        self.findings(direction, found)
    }

    fn guess(&self, envelope: &Envelope<'_>) -> Option<Direction> {
        match envelope {
            Envelope::Request { method, .. } | Envelope::Notification { method, .. } => {
                match methods::known(method) {
                    Known::Acp(method) => method.to,
                    Known::Contract(to) => Some(to),
                    Known::Own | Known::Nothing => None,
                }
            }
            Envelope::Answer { id, outcome } => {
                self.requests.way_of_answer(id.as_deref()?, *outcome)
            }
        }
    }

    /// A method and its params, of a request or a notification.
    fn asked(&mut self, direction: Option<Direction>, name: &str, params: Option<&Value>) -> Found {
        let nothing = json!({});
        let params = params.unwrap_or(&nothing);
        let mut found = Found::new();
        let known = methods::known(name);
        let wrong_way = match &known {
            Known::Acp(method) => {
                direction.is_some() && method.to.is_some() && method.to != direction
            }
            Known::Contract(to) => direction.is_some_and(|went| went != *to),
            Known::Own => false,
            Known::Nothing => {
                let what = format!("nobody knows a method {}", shown(name));
                return vec![(Rule::UnknownMethod, what)];
            }
        };
        if wrong_way {
            let what = format!("{} comes from the other side", shown(name));
            return vec![(Rule::UnknownMethod, what)];
        }
        found.extend(meta::in_params(name, params));
        match (name, known) {
            ("session/update", Known::Acp(method)) => match Update::read(params) {
                Some(update) => {
                    found.extend(update.check(params, method));
                    found.extend(roster::check_update(&update));
                    found.extend(self.update(params, &update));
                }
                None => found.extend(method.params.check(params, "params")),
            },
            (agent_event::METHOD, _) => found.extend(self.event(params)),
            (idle::METHOD, _) => found.extend(self.idle(params)),
            (permission::METHOD, Known::Acp(method)) => {
                let canonical = permission::canonical(params);
                found.extend(method.params.check(&canonical, "params"));
                let advertised = self.advertised.as_ref();
                let expected = advertised.map_or(Expected::Anything, Advertised::approvals);
                found.extend(permission::check(params, expected));
            }
            (name, Known::Contract(Direction::ToClient)) => {
                if let Some(misfits) = bridge::check_params(name, params) {
                    found.extend(misfits);
                    let advertised = self.advertised.as_ref();
                    let named = advertised.is_some_and(|it| it.method(name).is_empty());
                    if self.offered == Some(false) && !named && !self.lone {
                        found.push(bridge::not_offered(name));
                    }
                }
            }
            (name, known) => match (steering::method(name), known) {
                (Some(method), _) => found.extend(method.params.check(params, "params")),
                (None, Known::Acp(method)) => {
                    let params = stream::plain(name, params);
                    found.extend(method.params.check(&params, "params"));
                }
                (None, Known::Contract(_) | Known::Own | Known::Nothing) => {}
            },
        }
        found
    }

    fn update(&mut self, params: &Value, update: &Update<'_>) -> Found {
        if self.lone {
            return Found::new();
        }
        let mut found = Found::new();
        if let Some(advertised) = &self.advertised {
            found.extend(advertised.update(update));
        }
        if let Some(session) = params.get("sessionId").and_then(Value::as_str) {
            found.extend(self.sessions.update(session, update, self.heard_client));
            found.extend(self.sessions.place(session, params));
        }
        found
    }

    fn event(&mut self, params: &Value) -> Found {
        let mut found = extensions::check_event(params);
        if found.is_empty() {
            found.extend(steering::check_event(params));
        }
        if self.lone {
            return found;
        }
        if let (Some(advertised), Some(kind)) = (&self.advertised, params["kind"].as_str()) {
            found.extend(advertised.event(kind));
        }
        if let Some(session) = params.get("sessionId").and_then(Value::as_str) {
            found.extend(self.sessions.event(session, params, self.heard_client));
            found.extend(self.sessions.place(session, params));
        }
        found
    }

    fn idle(&mut self, params: &Value) -> Found {
        let mut found = steering::check_idle(params);
        if self.lone {
            return found;
        }
        if let Some(advertised) = &self.advertised {
            found.extend(advertised.method(idle::METHOD));
        }
        if let Some(session) = params.get("sessionId").and_then(Value::as_str) {
            found.extend(self.sessions.waits(session, self.heard_client));
        }
        found
    }

    fn request(
        &mut self,
        direction: Option<Direction>,
        id: &str,
        method: &str,
        params: Option<&Value>,
    ) -> Found {
        if method == "initialize" {
            // Another connection: what was open on the one before is gone.
            self.requests = Requests::default();
            self.sessions.another_connection();
            self.advertised = None;
            let harn = params.map(|params| &params["clientCapabilities"]["_meta"][VENDOR]);
            let wish = harn.and_then(|harn| harn["profile"].as_str());
            self.wish = wish.map(str::to_owned);
            self.offered = Some(bridge::is_offered(harn));
        }
        let session = params.and_then(|params| params.get("sessionId")?.as_str());
        let asked = Asked {
            method: method.to_owned(),
            session: session.map(str::to_owned),
            goes_on: params.is_some_and(stream::goes_on),
            operation: bridge::operation(method, params),
        };
        let mut found = Found::new();
        match (direction, session) {
            (Some(Direction::ToAgent), _) => self.sessions.requested(id, &asked),
            (Some(Direction::ToClient), Some(session)) if !self.lone => {
                let params = params.unwrap_or(&Value::Null);
                let strict = self.heard_client;
                found.extend(self.sessions.wanted(session, method, params, strict));
                found.extend(self.sessions.place(session, params));
            }
            (Some(Direction::ToClient) | None, _) => {}
        }
        if !self.requests.ask(direction, id, asked) && !self.lone {
            let what = format!("another request with the id {} is open", shown(id));
            found.push((Rule::IdInUse, what));
        }
        found
    }

    fn answer(
        &mut self,
        direction: Option<Direction>,
        id: Option<&str>,
        outcome: Outcome<'_>,
    ) -> Found {
        let mut found = Found::new();
        if let Outcome::Error(error) = outcome {
            found.extend(methods::error().check(error, "error"));
        }
        // Answers what could not be read, and so belongs to no request.
        let Some(id) = id else { return found };
        match self.requests.answer(direction, id) {
            Answers::Open(asked) => {
                if let Outcome::Result(result) = outcome {
                    found.extend(fits(&asked.method, result));
                    found.extend(roster::check_result(&asked.method, result));
                    if let Some(operation) = asked.operation {
                        found.extend(operation.result.check(result, "result"));
                    }
                }
                if let ("initialize", Outcome::Result(result)) = (asked.method.as_str(), outcome) {
                    self.advertised = Some(Advertised::read(result, self.wish.as_deref()));
                }
                if direction != Some(Direction::ToAgent) {
                    found.extend(self.sessions.answered(id, &asked, outcome));
                }
            }
            Answers::Answered if !self.lone => {
                let what = format!("the request {} was answered before", shown(id));
                found.push((Rule::AnsweredTwice, what));
            }
            Answers::Nothing if self.heard_asker(direction) && !self.lone => {
                let what = format!("there was no request {}", shown(id));
                found.push((Rule::AnswerWithoutRequest, what));
            }
            Answers::Answered | Answers::Nothing => found.extend(self.unasked(outcome)),
        }
        found
    }

    /// Whether the side that would have asked is in the recording at all.
    fn heard_asker(&self, answer: Option<Direction>) -> bool {
        match answer {
            Some(Direction::ToClient) => self.heard_client,
            Some(Direction::ToAgent) => self.heard_agent,
            None => self.heard_client && self.heard_agent,
        }
    }

    /// An answer in a recording of the agent's side alone; two of them can be told by their looks.
    fn unasked(&mut self, outcome: Outcome<'_>) -> Found {
        let Outcome::Result(result) = outcome else {
            return Found::new();
        };
        let is = |name: &str| result.get(name).is_some();
        let method = if is("protocolVersion") && is("agentCapabilities") {
            "initialize"
        } else if is("stopReason") {
            "session/prompt"
        } else {
            return Found::new();
        };
        let mut found = fits(method, result);
        if method == "initialize" {
            self.advertised = Some(Advertised::read(result, None));
            self.sessions.come_back_to();
        } else {
            found.extend(self.sessions.some_turn_ended());
        }
        found
    }
}

/// Whether the result of a method looks as it should.
fn fits(method: &str, result: &Value) -> Found {
    // ACP takes null for an answer that has nothing to say.
    let nothing = json!({});
    let result = if result.is_null() { &nothing } else { result };
    let plain = meta::plain(method, result);
    let mut found =
        methods::result(method).map_or_else(Found::new, |it| it.check(&plain, "result"));
    found.extend(meta::in_result(method, result));
    found
}
