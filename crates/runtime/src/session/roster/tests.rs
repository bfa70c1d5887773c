//! Compares the roster with a simple model of its rules over generated histories.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use harn_model::{LiveClientAction, LiveClientMode};
use proptest::{collection::vec, option, prelude::*};
use serde_json::json;
use tokio::time::Instant;

use super::*;
use crate::{LiveClientError, NoHost, NotInControl};

#[derive(Clone, Debug)]
enum RosterOp {
    Sit(bool),
    Claim(usize),
    Leave(usize),
    Attach {
        seat: usize,
        client: usize,
        drives: bool,
        taking: ControlPreemption,
        speaks: Option<bool>,
        answers: Option<bool>,
        promise: Option<u64>,
        metadata: Option<u8>,
    },
    Detach(usize, usize),
    Heartbeat(usize, usize, Option<u8>),
    Drive(usize, DriverAction, Option<usize>),
    Wait(u64),
}

fn op() -> impl Strategy<Value = RosterOp> {
    let seat = 0..4usize;
    let client = 0..4usize;
    let taking = prop_oneof![
        3 => Just(ControlPreemption::IfFree),
        1 => Just(ControlPreemption::Again),
        1 => Just(ControlPreemption::IfNeeded),
        1 => Just(ControlPreemption::Outright),
    ];
    let act = prop_oneof![
        Just(DriverAction::Speak),
        Just(DriverAction::Answer),
        Just(DriverAction::Steer)
    ];
    let attach = (
        seat.clone(),
        client.clone(),
        any::<bool>(),
        taking,
        option::weighted(0.2, any::<bool>()),
        option::weighted(0.2, any::<bool>()),
        option::weighted(0.3, 1..5u64),
        option::of(any::<u8>()),
    );
    prop_oneof![
        2 => any::<bool>().prop_map(RosterOp::Sit),
        1 => seat.clone().prop_map(RosterOp::Claim),
        1 => seat.clone().prop_map(RosterOp::Leave),
        6 => attach.prop_map(|(seat, client, drives, taking, speaks, answers, promise, metadata)| {
            RosterOp::Attach { seat, client, drives, taking, speaks, answers, promise, metadata }
        }),
        2 => (seat.clone(), client.clone()).prop_map(|(s, c)| RosterOp::Detach(s, c)),
        2 => (seat.clone(), client.clone(), option::of(any::<u8>()))
            .prop_map(|(s, c, m)| RosterOp::Heartbeat(s, c, m)),
        4 => (seat, act, option::of(client)).prop_map(|(s, a, c)| RosterOp::Drive(s, a, c)),
        2 => (1..6u64).prop_map(RosterOp::Wait),
    ]
}

/// The model's record of a client.
#[derive(Clone, Debug, PartialEq)]
struct KnownClient {
    name: String,
    over: usize,
    speaks: bool,
    answers: bool,
    came: u64,
    seen: u64,
    about: serde_json::Value,
    promise: Option<(u64, u64)>,
}

/// The rules again, in the simplest form: the driver is a name and a connection.
#[derive(Default)]
struct RosterModel {
    second: u64,
    /// The connections, and whether they may drive because they opened the session.
    there: BTreeMap<usize, bool>,
    known: Vec<KnownClient>,
    /// Its name, if it has one, and its connection.
    driver: Option<(Option<String>, usize)>,
    changes: u64,
}

impl RosterModel {
    fn set_driver(&mut self, driver: Option<(Option<String>, usize)>) {
        if self.driver != driver {
            self.changes += 1;
            self.driver = driver;
        }
    }

    fn controller_name(&self) -> Option<String> {
        let (name, over) = self.driver.clone()?;
        Some(name.unwrap_or_else(|| format!("conn-{over}")))
    }

    fn find(&self, name: &str, over: usize) -> Option<usize> {
        let it = |k: &KnownClient| k.name == name && k.over == over;
        self.known.iter().position(it)
    }

    fn forget(&mut self, name: &str) {
        self.known.retain(|k| k.name != name);
        if self
            .driver
            .as_ref()
            .is_some_and(|(n, _)| n.as_deref() == Some(name))
        {
            self.set_driver(None);
        }
    }

    fn claim_if_free(&mut self, over: usize) {
        if self.driver.is_none() && self.there.get(&over) == Some(&true) {
            self.set_driver(Some((None, over)));
        }
    }

    fn answering(&self) -> Option<(usize, Option<String>)> {
        match self.driver.as_ref() {
            None => {
                let opened = self.there.iter().filter(|(_, opens)| **opens);
                opened.map(|(over, _)| (*over, None)).max()
            }
            Some((None, over)) => Some((*over, None)),
            Some((Some(name), over)) => {
                let known = self.known.iter().find(|k| k.name == *name)?;
                known.answers.then(|| (*over, Some(name.clone())))
            }
        }
    }
}

fn name(client: usize) -> String {
    format!("client-{client}")
}

/// The roster and its model, stepped together.
struct RosterPair {
    roster: Roster,
    model: RosterModel,
    seats: Vec<SeatId>,
    start: Instant,
    terms: (u64, Option<(usize, Option<String>)>),
}

impl RosterPair {
    fn now(&self) -> ClockReading {
        ClockReading {
            at: self.model.second * 1000,
            tick: self.start + Duration::from_secs(self.model.second),
        }
    }

    fn seat(&self, at: usize) -> SeatId {
        self.seats.get(at).copied().unwrap_or(SeatId(999))
    }

    fn step(&mut self, op: RosterOp) {
        let now = self.now();
        let before = self.model.controller_name();
        match op {
            RosterOp::Sit(opens) => {
                if self.seats.len() == 4 {
                    return;
                }
                let at = self.seats.len();
                let claim = if opens {
                    SeatClaim::IfFree
                } else {
                    SeatClaim::Never
                };
                let conn = format!("conn-{at}");
                let seat = self.roster.add_seat(&conn, Arc::new(NoHost), claim, now);
                self.seats.push(seat);
                self.model.there.insert(at, opens);
                self.model.claim_if_free(at);
            }
            RosterOp::Claim(at) => {
                self.roster.claim(self.seat(at), now);
                let named = self.model.known.iter().any(|k| k.over == at);
                if let Some(opens) = self.model.there.get_mut(&at)
                    && !named
                {
                    *opens = true;
                    self.model.claim_if_free(at);
                }
            }
            RosterOp::Leave(at) => {
                let told = self.roster.leave(self.seat(at));
                let own = self.model.known.iter().filter(|k| k.over == at);
                let own: Vec<_> = own.map(|k| k.name.clone()).collect();
                let left = told.iter().map(|c| c.left.clone().unwrap());
                let left: Vec<_> = left.map(|l| (l.client_id, l.reason)).collect();
                let exits = own.iter().map(|n| (n.clone(), "client_exit".to_owned()));
                assert_eq!(left, exits.collect::<Vec<_>>());
                own.iter().for_each(|n| self.model.forget(n));
                if self.model.driver == Some((None, at)) {
                    self.model.set_driver(None);
                }
                self.model.there.remove(&at);
            }
            RosterOp::Attach {
                seat: at,
                client,
                drives,
                taking,
                speaks,
                answers,
                promise,
                metadata,
            } => {
                let about = metadata.map(|n| json!({ "n": n }));
                let wanted = AttachClient {
                    client_id: name(client),
                    mode: match drives {
                        true => LiveClientMode::Controller,
                        false => LiveClientMode::Observer,
                    },
                    taking,
                    prompt_injection: speaks,
                    permission_routing: answers,
                    heartbeat: promise.map(Duration::from_secs),
                    metadata: about.clone(),
                };
                let result = self.roster.attach(self.seat(at), wanted, now);
                if !self.model.there.contains_key(&at) {
                    assert_eq!(result, Err(LiveClientError::Closed));
                    return;
                }
                let id = name(client);
                let mine = match &self.model.driver {
                    None => true,
                    Some((Some(driver), _)) => *driver == id,
                    Some((None, over)) => *over == at,
                };
                // A client that reconnects keeps the mode it had; the mode in its request is ignored.
                let same = self.model.known.iter().any(|k| k.name == id);
                let drives = match (taking, same) {
                    (ControlPreemption::Again, true) => {
                        matches!(&self.model.driver, Some((Some(driver), _)) if *driver == id)
                    }
                    _ => drives,
                };
                if drives
                    && !mine
                    && matches!(taking, ControlPreemption::IfFree | ControlPreemption::Again)
                {
                    let controller = self.model.controller_name().unwrap();
                    assert_eq!(
                        result,
                        Err(LiveClientError::ControllerExists { controller })
                    );
                    return;
                }
                let known = self.model.known.iter().find(|k| k.name == id);
                let moves = known.is_some_and(|k| k.over != at);
                // A client that moves to another connection is reported as detached from the first.
                let kept = known.filter(|_| moves).cloned();
                let drove = matches!(&self.model.driver, Some((Some(driver), _)) if *driver == id);
                if moves {
                    self.model.known.retain(|known| known.name != id);
                }
                let before = before.filter(|_| !(moves && drove));
                self.model.there.insert(at, false);
                let at_row = self.model.known.iter().position(|k| k.name == id);
                let at_row = at_row.unwrap_or_else(|| {
                    self.model.known.push(KnownClient {
                        name: id.clone(),
                        over: at,
                        speaks: false,
                        answers: false,
                        came: self.model.second,
                        seen: 0,
                        about: kept.as_ref().map_or(json!({}), |kept| kept.about.clone()),
                        promise: kept.as_ref().and_then(|kept| kept.promise),
                    });
                    self.model.known.len() - 1
                });
                if drives {
                    for known in &mut self.model.known {
                        (known.speaks, known.answers) = (false, false);
                    }
                }
                let known = &mut self.model.known[at_row];
                known.over = at;
                known.seen = self.model.second;
                known.speaks = drives && speaks != Some(false);
                known.answers = drives && answers != Some(false);
                let kept = known
                    .promise
                    .filter(|_| taking == ControlPreemption::Outright);
                let every = promise.or(kept.map(|(every, _)| every));
                known.promise = every.map(|every| (every, self.model.second + 3 * every));
                known.about = about.unwrap_or_else(|| known.about.clone());
                if drives {
                    self.model.set_driver(Some((Some(id.clone()), at)));
                } else if mine {
                    self.model.set_driver(None);
                }
                let mut changes = result.unwrap();
                let change = changes.pop().unwrap();
                let left = changes.iter().map(|it| &*it.left.as_ref().unwrap().reason);
                let replaced = if moves { &["replaced"][..] } else { &[] };
                assert_eq!(left.collect::<Vec<_>>(), replaced);
                let took = taking == ControlPreemption::Outright
                    || (taking == ControlPreemption::IfNeeded && drives && (!mine || moves));
                assert_eq!(change.action == LiveClientAction::Takeover, took);
                assert_eq!(
                    change.state.client.as_ref().map(|c| &c.client_id),
                    Some(&id)
                );
                self.check_change(&change, before);
            }
            RosterOp::Detach(at, client) => {
                let gone = LiveClientLeft {
                    client_id: name(client),
                    reason: "bye".to_owned(),
                    metadata: serde_json::Value::Null,
                };
                let result = self.roster.detach(self.seat(at), gone);
                let client_id = name(client);
                if self.model.find(&client_id, at).is_none() {
                    assert_eq!(result, Err(LiveClientError::NotAttached { client_id }));
                    return;
                }
                self.model.forget(&client_id);
                let change = result.unwrap();
                assert_eq!(change.state.client, None);
                assert_eq!(change.left.as_ref().unwrap().reason, "bye");
                self.check_change(&change, before);
            }
            RosterOp::Heartbeat(at, client, metadata) => {
                let about = metadata.map(|n| json!({ "n": n }));
                let result =
                    self.roster
                        .heartbeat(self.seat(at), &name(client), about.clone(), now);
                let client_id = name(client);
                let Some(row) = self.model.find(&client_id, at) else {
                    assert_eq!(result, Err(LiveClientError::NotAttached { client_id }));
                    return;
                };
                let second = self.model.second;
                let known = &mut self.model.known[row];
                known.seen = second;
                known.about = about.unwrap_or_else(|| known.about.clone());
                known.promise = known.promise.map(|(every, _)| (every, second + 3 * every));
                self.check_change(&result.unwrap(), before);
            }
            RosterOp::Drive(at, act, client) => {
                let client = client.map(name);
                let result = self
                    .roster
                    .drive(self.seat(at), act, client.as_deref(), now);
                self.model.claim_if_free(at);
                let named = client.filter(|c| self.model.find(c, at).is_some());
                let holds = match (&self.model.driver, named) {
                    (Some((Some(driver), _)), Some(named)) => *driver == named,
                    (Some((_, over)), None) => *over == at,
                    _ => false,
                };
                let controller = self.model.controller_name();
                if !holds {
                    assert_eq!(result, Err(NotInControl::NotController { controller }));
                    return;
                }
                let controller = controller.unwrap();
                match self
                    .model
                    .known
                    .iter()
                    .find(|k| Some(&k.name) == self.model.driver.as_ref().unwrap().0.as_ref())
                {
                    None => assert_eq!(result, Ok(None)),
                    Some(known) if act == DriverAction::Speak && !known.speaks => {
                        assert_eq!(result, Err(NotInControl::PromptInjectionOff { controller }));
                    }
                    Some(known) if act == DriverAction::Answer && !known.answers => {
                        assert_eq!(
                            result,
                            Err(NotInControl::PermissionRoutingOff { controller })
                        );
                    }
                    Some(known) => {
                        let author = LiveAuthor::controller(controller, known.about.clone());
                        assert_eq!(result, Ok(Some(author)));
                    }
                }
            }
            RosterOp::Wait(seconds) => {
                self.model.second += seconds;
                let now = self.now();
                let told = self.roster.detach_overdue(now);
                let late =
                    |k: &&KnownClient| k.promise.is_some_and(|(_, due)| due <= self.model.second);
                let late = self.model.known.iter().filter(late);
                let late: Vec<_> = late.map(|k| k.name.clone()).collect();
                let left = told.iter().map(|c| c.left.clone().unwrap());
                let left: Vec<_> = left.map(|l| (l.client_id, l.reason)).collect();
                let missed = late
                    .iter()
                    .map(|n| (n.clone(), "heartbeat_missed".to_owned()));
                assert_eq!(left, missed.collect::<Vec<_>>());
                late.iter().for_each(|n| self.model.forget(n));
            }
        }
    }

    /// Checks that a change reports the current state, and the previous controller only if it differs.
    fn check_change(&self, change: &RosterChange, before: Option<String>) {
        let after = self.model.controller_name();
        assert_eq!(change.state.active_controller_id, after);
        let previous = before.filter(|it| Some(it) != after.as_ref());
        assert_eq!(change.state.previous_controller_id, previous);
        assert_eq!(change.state.clients, self.roster.clients());
    }

    fn assert_agreement(&mut self) {
        let (roster, model) = (&self.roster, &self.model);
        assert_eq!(roster.epoch(), model.changes);
        assert_eq!(
            roster.controller().map(|(id, _)| id),
            model.controller_name()
        );
        let rows = roster.clients();
        let drives = |c: &&LiveClient| c.mode == LiveClientMode::Controller;
        assert!(rows.iter().filter(drives).count() <= 1);
        assert_eq!(rows.len(), model.known.len());
        for (row, known) in rows.iter().zip(&model.known) {
            let driver = model.driver.as_ref().and_then(|(name, _)| name.as_ref());
            assert_eq!(row.client_id, known.name);
            assert_eq!(
                row.mode == LiveClientMode::Controller,
                driver == Some(&known.name)
            );
            assert_eq!(row.prompt_injection, known.speaks);
            assert_eq!(row.permission_routing, known.answers);
            assert_eq!(row.attached_at, known.came.to_string());
            assert_eq!(row.last_seen_at, known.seen.to_string());
            assert_eq!(row.metadata, known.about);
        }
        let seats = self.seats.iter().enumerate();
        for (at, seat) in seats {
            let holds = model.driver.as_ref().is_some_and(|(_, over)| *over == at);
            assert_eq!(roster.has_control(*seat), holds);
        }
        let asked = model.answering();
        assert_eq!(
            roster.answering_seat().map(|it| it.seat),
            asked.as_ref().map(|(at, _)| self.seats[*at])
        );
        assert_eq!(roster.host().is_some(), model.driver.is_some());
        // The term never repeats, and changes exactly when another client receives questions.
        let (term, last) = &self.terms;
        assert_eq!(
            roster.term > *term,
            asked != *last,
            "{term} {last:?} {asked:?}"
        );
        assert!(roster.term >= *term);
        self.terms = (roster.term, asked);
        let due = model
            .known
            .iter()
            .filter_map(|k| k.promise)
            .map(|(_, due)| due);
        let due = due.min().map(|due| self.start + Duration::from_secs(due));
        assert_eq!(roster.next_due(), due);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn roster_matches_the_model(ops in vec(op(), 0..60)) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        let start = runtime.block_on(async { tokio::time::sleep(Duration::ZERO).deadline() });
        let mut pair = RosterPair {
            roster: Roster::default(),
            model: RosterModel::default(),
            seats: Vec::new(),
            start,
            terms: (0, None),
        };
        for op in ops {
            pair.step(op);
            pair.assert_agreement();
        }
    }
}

#[test]
fn roster_rejects_a_client_above_the_limit() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let tick = runtime.block_on(async { tokio::time::sleep(Duration::ZERO).deadline() });
    let now = ClockReading { at: 0, tick };
    let mut roster = Roster::default();
    let seat = roster.add_seat("broker", Arc::new(NoHost), SeatClaim::Never, now);
    for n in 0..MOST_CLIENTS {
        let client = AttachClient::observer(format!("c{n}"));
        roster.attach(seat, client, now).unwrap();
    }
    let refused = roster.attach(seat, AttachClient::observer("more"), now);
    assert_eq!(
        refused,
        Err(LiveClientError::TooMany {
            limit: MOST_CLIENTS
        })
    );
    // An attached client may attach again.
    roster
        .attach(seat, AttachClient::takeover("c7"), now)
        .unwrap();
}
