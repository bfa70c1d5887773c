//! Plays a case: the clients follow it, and the player records the results that must follow.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use harn_model::SessionId;
use harn_testkit::{MessageFromAgent, StrictClient, TestHub};
use harn_tests::initialize_params;
use serde_json::{Map, Value, json};

use crate::broker::{
    agent::{Ran, agent_that_asks, title},
    answer::{Answer, Worth},
    case::{Case, Company, Parting},
    rule_book::Book,
};

/// The deadline of a question. With a paused clock it passes at once when nothing else happens.
const DEADLINE: Duration = Duration::from_secs(24 * 60 * 60);
/// Longer than any step takes.
const SILENCE: Duration = Duration::from_secs(1);
const FIRST: usize = 0;
const SECOND: usize = 1;

/// The knowledge of the clients about a question.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    /// No client received a sign that it is settled.
    open: bool,
    /// The approvals that may have been the first answer, with which the call may run.
    pub(crate) may_run: Vec<Answer>,
    /// An approval was the first answer for certain.
    pub(crate) must_run: bool,
}

/// A connection and the questions it received.
struct Seat {
    client: StrictClient,
    /// By question: the id of the request, and whether it was withdrawn.
    asked: BTreeMap<usize, (Value, bool)>,
    /// The questions whose answers this client has sent.
    said: Vec<usize>,
    /// The calls of the updates, and how often each ended.
    calls: BTreeMap<String, usize>,
}

impl Seat {
    fn record_update(&mut self, update: &Value) {
        let call = update["toolCallId"].as_str().unwrap_or_default();
        match update["sessionUpdate"].as_str() {
            Some("tool_call") => {
                let before = self.calls.insert(call.to_owned(), 0);
                assert_eq!(before, None, "announced twice: {update}");
            }
            Some("tool_call_update") => {
                let ended = self.calls.get_mut(call);
                let ended = ended.expect("what is updated was announced");
                assert_eq!(*ended, 0, "something comes after the end: {update}");
                let status = update["status"].as_str().unwrap_or_default();
                *ended += usize::from(["completed", "failed"].contains(&status));
            }
            _ => {}
        }
    }
}

/// The state of a case that is played.
pub(crate) struct Stage {
    case: Case,
    pub(crate) test: TestHub,
    pub(crate) session: SessionId,
    seats: [Option<Seat>; 2],
    pub(crate) known: Vec<Known>,
    /// Whether the turn was cancelled, if that is certain.
    pub(crate) cancelled: Option<bool>,
    pub(crate) ran: Ran,
    prompt: Value,
    /// The stop reasons in the answers to the prompt.
    pub(crate) stops: Vec<Value>,
    /// Whether the client that prompted stays to the end.
    pub(crate) stays: bool,
    answers: usize,
}

impl Stage {
    /// Opens a session and sends the prompt.
    pub(crate) async fn open(case: Case) -> Self {
        let ran = Ran::default();
        let agent = agent_that_asks(&case.questions, &ran);
        let book: Arc<Book> = Arc::default();
        let builder = TestHub::builder(agent).config(move |config| {
            config.rules = book.clone();
            config.ask_deadline = DEADLINE;
        });
        let test = builder.build();
        let mut first = connect(&test, case.profile).await;
        let params = json!({"cwd": test.workspace(), "mcpServers": []});
        let made = first.client.request("session/new", params).await;
        let session = SessionId::from(made["sessionId"].as_str().unwrap());
        let mut stage = Self {
            known: vec![Known::default(); case.questions.len()],
            seats: [Some(first), None],
            case,
            test,
            session,
            cancelled: Some(false),
            ran,
            prompt: Value::Null,
            stops: Vec::new(),
            stays: true,
            answers: 0,
        };
        if matches!(stage.case.company, Company::Two | Company::Race) {
            stage.connect_second().await;
        }
        stage.read_all().await;
        let prompt = json!([{"type": "text", "text": "go"}]);
        let params = json!({"sessionId": stage.session.as_str(), "prompt": prompt});
        if let Some(first) = &mut stage.seats[FIRST] {
            stage.prompt = first.client.send_request("session/prompt", params).await;
        }
        stage
    }

    /// Plays to the end of the turn.
    pub(crate) async fn play(&mut self) {
        // Each round sends or settles something; there are a few dozen at most.
        for _ in 0..500 {
            self.read_all().await;
            if self.is_over() {
                return;
            }
            let due = self.next_answer();
            match self.case.company {
                Company::Leaves(after, how) if self.is_time_to_go(after, due) => {
                    self.disconnect_first(due, how).await;
                }
                Company::Returns(after, how) if self.is_time_to_go(after, due) => {
                    self.disconnect_first(due, how).await;
                    self.connect_second().await;
                }
                _ => match due {
                    Some((number, _)) if matches!(self.case.company, Company::Race) => {
                        self.answer_from_both(number).await;
                    }
                    Some((number, seat)) => {
                        let answers = self.send_answers(seat, number).await;
                        self.record_expectation(number, &[(seat, answers)], true);
                    }
                    None => self.expire().await,
                },
            }
        }
        panic!("the turn does not end\n{}", self.transcript());
    }

    /// Returns all messages of all connections.
    pub(crate) fn transcript(&self) -> String {
        self.test.recorder().transcript()
    }

    pub(crate) async fn close(&mut self) {
        for seat in &mut self.seats {
            if let Some(seat) = seat.take() {
                let settled = seat.calls.values().all(|ended| *ended == 1);
                assert!(settled, "{:?}", seat.calls);
                seat.client.hang_up().await;
            }
        }
    }

    fn is_over(&self) -> bool {
        let session = self.test.hub().live_session(&self.session).unwrap();
        session.view().open_turn.is_none()
    }

    fn is_time_to_go(&self, after: usize, due: Option<(usize, usize)>) -> bool {
        // A client with no answers left to send leaves too.
        self.stays && (self.answers >= after || due.is_none())
    }

    /// Reads all messages that are available.
    async fn read_all(&mut self) {
        loop {
            let mut heard = false;
            for seat in [FIRST, SECOND] {
                while let Some(message) = self.read_next(seat).await {
                    heard = true;
                    self.record_message(seat, message);
                }
            }
            if !heard {
                return;
            }
        }
    }

    async fn read_next(&mut self, seat: usize) -> Option<MessageFromAgent> {
        let seat = self.seats[seat].as_mut()?;
        tokio::time::timeout(SILENCE, seat.client.next()).await.ok()
    }

    fn record_message(&mut self, at: usize, message: MessageFromAgent) {
        let Some(seat) = &mut self.seats[at] else {
            return;
        };
        match message {
            MessageFromAgent::Request { id, method, params } => {
                assert_eq!(method, "session/request_permission");
                let asked = &params["toolCall"]["title"];
                let mut numbers = 0..self.case.questions.len();
                let number = numbers.find(|number| *asked == *title(*number)).unwrap();
                let before = seat.asked.insert(number, (id, false));
                assert_eq!(before, None, "asked twice on one connection");
                self.known[number].open = true;
            }
            MessageFromAgent::Notification { method, params } if method == "$/cancel_request" => {
                let mut asked = seat.asked.values_mut();
                let asked = asked.find(|(id, _)| *id == params["requestId"]);
                asked.expect("what was asked is withdrawn").1 = true;
            }
            MessageFromAgent::Response { id, result } if id == self.prompt && at == FIRST => {
                self.stops.push(result.unwrap()["stopReason"].take());
            }
            // Errors for lines that are no messages, and the other updates of a session.
            MessageFromAgent::Response { id, .. } => assert_eq!(id, Value::Null),
            MessageFromAgent::Notification { params, .. } => seat.record_update(&params["update"]),
        }
    }

    /// Returns the question to answer next and the client that answers it.
    fn next_answer(&self) -> Option<(usize, usize)> {
        let seats = self.seats.iter().enumerate();
        let seats = seats.filter_map(|(at, seat)| Some((at, seat.as_ref()?)));
        let due = seats.flat_map(|(at, seat)| {
            let asked = seat.asked.iter().filter(move |(number, (_, withdrawn))| {
                let question = &self.case.questions[**number];
                let script = [&question.first, &question.second][at];
                let silent = script.is_empty() || (*withdrawn && !question.stale);
                !silent && !seat.said.contains(number)
            });
            asked.map(move |(number, _)| (*number, at))
        });
        due.min_by_key(|(number, at)| {
            let question = &self.case.questions[*number];
            (
                question.rank,
                *number,
                question.second_is_faster == (*at == FIRST),
            )
        })
    }

    /// Sends all answers of a client to a question and returns them.
    async fn send_answers(&mut self, at: usize, number: usize) -> Vec<Answer> {
        let question = &self.case.questions[number];
        let script = [&question.first, &question.second][at].clone();
        let Some(seat) = &mut self.seats[at] else {
            return Vec::new();
        };
        let Some((id, _)) = seat.asked.get(&number).cloned() else {
            return Vec::new();
        };
        if seat.said.contains(&number) {
            return Vec::new();
        }
        seat.said.push(number);
        for answer in &script {
            seat.client.send_raw(answer.line(&id, number)).await;
        }
        self.answers += 1;
        script
    }

    /// Both clients answer before either receives a reaction.
    async fn answer_from_both(&mut self, number: usize) {
        let order = match self.case.questions[number].second_is_faster {
            true => [SECOND, FIRST],
            false => [FIRST, SECOND],
        };
        let mut said = Vec::new();
        for seat in order {
            said.push((seat, self.send_answers(seat, number).await));
        }
        self.record_expectation(number, &said, true);
    }

    /// Records the result that these answers must have. Of each client the first valid answer counts; of
    /// several clients, any of their answers may count, but a failure counts only from the client that
    /// prompted. `heard` is whether the answers were received for certain.
    fn record_expectation(&mut self, number: usize, said: &[(usize, Vec<Answer>)], heard: bool) {
        let profile = self.case.profile;
        let firsts = said.iter().filter_map(|(seat, answers)| {
            let mut answers = answers.iter().copied();
            let first = answers.find(|answer| answer.expected_effect(profile) != Worth::Nothing)?;
            (*seat == FIRST || first.expected_effect(profile) != Worth::Fails).then_some(first)
        });
        let firsts: Vec<_> = firsts.collect();
        if firsts.is_empty() || !self.known[number].open || self.cancelled == Some(true) {
            return;
        }
        let runs = |answer: &Answer| answer.expected_effect(profile) == Worth::Runs;
        let cancels = |answer: &Answer| answer.expected_effect(profile) == Worth::Cancels;
        let certain = heard && self.cancelled == Some(false);
        let known = &mut self.known[number];
        known.open = false;
        known.may_run.extend(firsts.iter().copied().filter(runs));
        known.must_run = certain && firsts.iter().all(runs);
        if firsts.iter().any(cancels) {
            let all = heard && firsts.iter().all(cancels);
            self.cancelled = all.then_some(true);
        }
    }

    /// Disconnects the first client, which may send a last answer before.
    async fn disconnect_first(&mut self, due: Option<(usize, usize)>, how: Parting) {
        self.stays = false;
        if let Some((number, _)) = due.filter(|_| how.in_a_hurry) {
            let answers = self.send_answers(FIRST, number).await;
            self.record_expectation(number, &[(FIRST, answers)], false);
        }
        if let Some(seat) = self.seats[FIRST].take() {
            match how.rudely {
                true => seat.client.vanish(),
                false => {
                    seat.client.hang_up().await;
                }
            }
        }
        // Wait until it is settled whether the server received the last answer.
        tokio::time::sleep(SILENCE).await;
    }

    /// Connects the second client.
    async fn connect_second(&mut self) {
        let mut seat = connect(&self.test, self.case.profile).await;
        let past = load(&mut seat.client, &self.test, &self.session).await;
        past.iter().for_each(|update| seat.record_update(update));
        self.seats[SECOND] = Some(seat);
    }

    /// Waits until all questions have expired.
    async fn expire(&mut self) {
        tokio::time::sleep(DEADLINE + SILENCE).await;
        self.known.iter_mut().for_each(|known| known.open = false);
    }
}

async fn connect(test: &TestHub, profile: &str) -> Seat {
    let mut client = test.connect().with_patience(DEADLINE * 10);
    let wishes = json!({"profile": profile});
    let wishes = wishes.as_object().map_or_else(Map::new, Clone::clone);
    client
        .request("initialize", initialize_params(&wishes))
        .await;
    Seat {
        client,
        asked: BTreeMap::new(),
        said: Vec::new(),
        calls: BTreeMap::new(),
    }
}

/// Loads the session; returns the updates before the response.
async fn load(client: &mut StrictClient, test: &TestHub, session: &SessionId) -> Vec<Value> {
    let cwd = test.workspace();
    let params = json!({"sessionId": session.as_str(), "cwd": cwd, "mcpServers": []});
    let id = client.send_request("session/load", params).await;
    client.collect_updates_until(&id).await.0
}

/// Returns the updates that a new client receives. Fails if the client receives a question.
pub(crate) async fn replay(test: &TestHub, profile: &str, session: &SessionId) -> Vec<Value> {
    let mut seat = connect(test, profile).await;
    let mut updates = load(&mut seat.client, test, session).await;
    while let Ok(message) = tokio::time::timeout(SILENCE, seat.client.next()).await {
        match message {
            MessageFromAgent::Notification { mut params, .. } => {
                updates.push(params["update"].take())
            }
            other => panic!("a session that is over asks: {other:?}"),
        }
    }
    seat.client.close().await;
    updates
}
