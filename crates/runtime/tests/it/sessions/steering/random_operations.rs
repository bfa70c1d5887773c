//! Random sequences of all operations on a session, compared with the plain list. The test plays the agent step
//! by step, and a restart drops everything, with or without a shutdown.

use harn_journal::{JsonlStore, Store};
use harn_model::{ReminderSource, Seam, SessionId, SessionView, SystemReminder};
use proptest::{collection::vec, prelude::*, sample::select};

use super::{
    model::{Model, Row, Sent, State},
    *,
};

#[derive(Clone, Debug)]
enum Op {
    Prompt,
    Inject(DeliveryMode, &'static str),
    Revoke(usize, &'static str),
    Replace(usize, &'static str),
    Remind(DeliveryMode),
    RevokeReminder(usize),
    Cancel,
    /// Cancels one of the waiting prompts.
    CancelWaiting(usize),
    Seam(Seam),
    /// The agent returns, with success or failure.
    Return(bool),
    /// The process ends, with or without a shutdown.
    Restart(bool),
}

fn op_strategy() -> impl Strategy<Value = Op> {
    let mode = || select(vec![STEER, STEER, QUEUE, QUEUE, INTERRUPT]);
    let who = || select(vec!["host", "ann", "bob"]);
    let seam = select(vec![
        Seam::TurnStart,
        Seam::PreCompact,
        Seam::PostCompact,
        Seam::PreToolDispatch,
        Seam::PostToolDispatch,
        Seam::TurnEnd,
        Seam::DaemonIdlePre,
        Seam::DaemonIdlePost,
        Seam::LoopExit,
    ]);
    prop_oneof![
        4 => Just(Op::Prompt),
        12 => (mode(), who()).prop_map(|(mode, who)| Op::Inject(mode, who)),
        4 => (0..64usize, who()).prop_map(|(at, who)| Op::Revoke(at, who)),
        4 => (0..64usize, who()).prop_map(|(at, who)| Op::Replace(at, who)),
        5 => mode().prop_map(Op::Remind),
        2 => (0..64usize).prop_map(Op::RevokeReminder),
        2 => Just(Op::Cancel),
        1 => (0..4usize).prop_map(Op::CancelWaiting),
        6 => seam.prop_map(Op::Seam),
        6 => prop::bool::weighted(0.9).prop_map(Op::Return),
        1 => any::<bool>().prop_map(Op::Restart),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn queue_matches_the_model(ops in vec(op_strategy(), 1..80)) {
        let world = World::new();
        let (ids, clock) = (Arc::<CountedIds>::default(), Arc::<TickingClock>::default());
        let (mut model, mut session) = (Model::default(), None);
        let mut rest = &ops[..];
        loop {
            let is_restart = |op: &Op| matches!(op, Op::Restart(_));
            let end = rest.iter().position(is_restart).unwrap_or(rest.len());
            let told = matches!(rest.get(end), Some(Op::Restart(true)));
            // Dropping the runtime drops tasks and locks at once, as the end of a process does.
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let (agent, legs) = played_agent();
                let hub = world.hub_with(agent, |config| {
                    (config.ids, config.clock) = (ids.clone(), clock.clone());
                });
                let controller = match &session {
                    Some(id) => hub.open(id, None).await.unwrap(),
                    None => world.session(&hub).await,
                };
                session = Some(controller.id().clone());
                let mut play = Play { hub, session: controller, legs, leg: None, model: &mut model };
                play.check();
                for op in &rest[..end] {
                    play.step(op).await;
                    play.check();
                }
                play.compare_deliveries().await;
                if told {
                    play.hub.shutdown().await;
                }
            });
            drop(runtime);
            model.restart();
            compare_journal(&world, session.as_ref().unwrap(), &model);
            if end == rest.len() {
                break;
            }
            rest = &rest[end + 1..];
        }
    }
}

/// The real session and its model.
struct Play<'a> {
    hub: Hub,
    session: Controller,
    legs: mpsc::Receiver<Leg>,
    leg: Option<Leg>,
    model: &'a mut Model,
}

impl Play<'_> {
    async fn step(&mut self, op: &Op) {
        match op {
            Op::Prompt => self.prompt().await,
            Op::Inject(mode, who) => self.inject(*mode, who).await,
            Op::Revoke(at, who) => {
                let id = self.pick(true, *at);
                let revoked = self.session.revoke_inject(id.as_str().into(), actor(who));
                let revoked = control_result(revoked.await);
                assert_eq!(revoked, self.model.revoke(&id, who), "revoke {id}");
            }
            Op::Replace(at, who) => {
                let (id, text) = (self.pick(true, *at), format!("{at}, rather"));
                let content = Ok(vec![ContentBlock::text(&*text)]);
                let replaced = self
                    .session
                    .replace_inject(id.as_str().into(), content, actor(who));
                let replaced = control_result(replaced.await);
                assert_eq!(
                    replaced,
                    self.model.replace(&id, who, &text),
                    "replace {id}"
                );
            }
            Op::Remind(mode) => self.remind(*mode).await,
            Op::RevokeReminder(at) => {
                let id = self.pick(false, *at);
                let revoked = control_result(self.session.revoke_reminder(&id, host_owner()).await);
                assert_eq!(revoked, self.model.revoke_reminder(&id), "revoke {id}");
            }
            Op::Cancel => self.cancel().await,
            Op::CancelWaiting(at) => {
                let Some(sent) = self.model.sent.remove(at + 1) else {
                    return;
                };
                let turn = TurnId::new(&*sent.turn);
                let cancel = async || {
                    self.session
                        .cancel_for(Some(turn.clone()), host_owner())
                        .await
                };
                assert_eq!(control_result(cancel().await), ControlResult::Cancelled);
                collect_until(
                    &mut self.session.subscribe(Seq::ZERO),
                    is_withdrawal_of(&turn),
                )
                .await;
                assert_eq!(
                    control_result(cancel().await),
                    ControlResult::NoActivePrompt
                );
            }
            Op::Seam(seam) => {
                if let Some(leg) = &self.leg {
                    let given = leg.pass_seam(*seam).await;
                    assert_eq!(given, self.model.pass_seam(*seam), "{seam:?}");
                }
            }
            Op::Return(well) => self.return_from_agent(*well).await,
            Op::Restart(_) => unreachable!("the steps are cut there"),
        }
    }

    async fn prompt(&mut self) {
        let text = format!("prompt {}", self.session.last_seq());
        let turn = prompt(&self.session, &text).await;
        self.model.sent.push_back(Sent {
            turn: turn.to_string(),
            text: text.clone(),
        });
        if self.leg.is_none() {
            self.expect_call(&text).await;
        }
    }

    async fn inject(&mut self, mode: DeliveryMode, who: &str) {
        let text = format!("message {}", self.session.last_seq());
        let content = vec![ContentBlock::text(&*text)];
        let injected = self.session.inject(mode, content, actor(who), |_| ());
        let (id, result) = match injected.await {
            Ok((id, done)) => (Some(id), done.result),
            refusal => (None, refusal_result(refusal)),
        };
        assert_eq!(result, self.model.inject());
        self.model.rows.extend(id.map(|id| Row {
            id: id.to_string(),
            message: true,
            mode,
            text,
            owner: who.to_owned(),
            state: State::Waits,
        }));
    }

    async fn remind(&mut self, mode: DeliveryMode) {
        let text = format!("reminder {}", self.session.last_seq());
        let reminder = SystemReminder::new("", &*text);
        assert_eq!(reminder.source, ReminderSource::Bridge);
        let reminded = self.session.remind(mode, reminder, host_owner());
        let (id, _) = reminded.await.unwrap();
        self.model.rows.push(Row {
            id,
            message: false,
            mode,
            text,
            owner: String::new(),
            state: State::Waits,
        });
    }

    async fn cancel(&mut self) {
        let target = self.session.cancel_target();
        let running = self.model.sent.front().map(|sent| sent.turn.clone());
        assert_eq!(target.as_ref().map(ToString::to_string), running);
        let cancelled = control_result(self.session.cancel_for(target, host_owner()).await);
        let Some(_) = running else {
            assert_eq!(cancelled, ControlResult::NoActivePrompt);
            return;
        };
        assert_eq!(cancelled, ControlResult::Cancelled);
        self.leg = None;
        self.check_turn_end(TurnOutcome::stopped(StopReason::Cancelled))
            .await;
    }

    async fn return_from_agent(&mut self, well: bool) {
        let Some(leg) = self.leg.take() else {
            return;
        };
        if !well {
            let broken = AgentError::Failed("broken".to_owned());
            let message = broken.to_string();
            leg.finish_with(Err(broken));
            return self.check_turn_end(TurnOutcome::Failed { message }).await;
        }
        leg.finish();
        match self.model.exit() {
            Some(text) => self.expect_call(&text).await,
            None => {
                self.check_turn_end(TurnOutcome::stopped(StopReason::EndTurn))
                    .await;
            }
        }
    }

    /// Checks that the running turn ends with this outcome, and that the next one starts.
    async fn check_turn_end(&mut self, outcome: TurnOutcome) {
        let Some(sent) = self.model.sent.pop_front() else {
            return;
        };
        let turn = TurnId::new(&*sent.turn);
        let events = whole_turn(&self.session, &turn).await;
        let ended = events.into_iter().rev().find_map(|e| match e.event {
            AgentEvent::TurnEnded(it) if e.turn.as_ref() == Some(&turn) => Some(it.outcome),
            _ => None,
        });
        assert_eq!(ended, Some(outcome));
        if let Some(next) = self.model.sent.front() {
            let text = next.text.clone();
            self.expect_call(&text).await;
        }
    }

    /// Checks that the agent is called with this prompt for the running turn.
    async fn expect_call(&mut self, text: &str) {
        let next = tokio::time::timeout(Duration::from_secs(60), self.legs.recv());
        let leg = next.await.expect("waited in vain for a call").unwrap();
        assert_eq!(leg.prompt(), text);
        let running = self.model.sent.front().unwrap();
        assert_eq!(leg.cx.turn_id().as_str(), running.turn);
        self.leg = Some(leg);
    }

    /// Returns an id to try: a known one, or one that does not exist.
    fn pick(&self, message: bool, at: usize) -> String {
        let mut rows = self.model.rows.iter();
        let of_kind = rows.by_ref().filter(|row| row.message == message);
        let ids: Vec<_> = of_kind.map(|row| row.id.clone()).collect();
        let id = ids.get(at % (ids.len() + 1)).cloned();
        id.unwrap_or_else(|| "nobody".to_owned())
    }

    fn check(&mut self) {
        let rows = self.session.pending();
        let waiting: Vec<_> = rows.iter().map(row_summary).collect();
        assert_eq!(waiting, self.model.pending_rows());
        assert!(self.legs.is_empty(), "called without a reason");
    }

    async fn compare_deliveries(&self) {
        let delivered = deliveries(&self.session).await;
        let named = delivered
            .into_iter()
            .map(|(id, text)| (id.to_string(), text));
        assert_eq!(named.collect::<Vec<_>>(), self.model.delivered);
    }
}

fn row_summary(row: &PendingDelivery) -> (bool, String, DeliveryMode, String) {
    let (message, id) = match row {
        PendingDelivery::Message(message) => (true, message.message_id.to_string()),
        PendingDelivery::Reminder(pending) => (false, pending.reminder.id.clone()),
    };
    (message, id, row.mode(), pending_text(row))
}

/// Checks that the journal folds to the pending rows of the model.
fn compare_journal(world: &World, session: &SessionId, model: &Model) {
    let store = JsonlStore::new(world.state());
    let (_, events) = store.read(session).unwrap();
    let mut view = SessionView::default();
    events.iter().for_each(|event| view.apply(event));
    let rows = view.pending.entries_in_order();
    let waiting: Vec<_> = rows.iter().map(row_summary).collect();
    assert_eq!(waiting, model.pending_rows());
}

fn actor(name: &str) -> Actor {
    match name {
        "host" => host_owner(),
        name => person(name),
    }
}

fn control_result(result: Result<AppliedControl, ControlError>) -> ControlResult {
    match result {
        Ok(done) => done.result,
        refusal => refusal_result(refusal),
    }
}
