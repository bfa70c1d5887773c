//! The task that sends one session to one client: reads events from a cursor, translates them, and keeps the
//! order that the wire guarantees.
//!
//! It queues every update of a turn before the answer to its prompt, and nothing of a later turn before that
//! answer. It turns questions into requests if this client is the one to ask, and leaves out the client's own
//! prompts.

mod hitl;
mod idle;
mod questions;
mod replay;

use std::{convert::Infallible, sync::Arc};

use agent_client_protocol::{Error, v1::schema::PromptResponse};
use bytes::Bytes;
use harn_model::{
    AgentEvent, ControlOutcome, Envelope, EventFamily, MessageEvent, MessageId, PermissionAsked,
    PermissionEvent, QuestionEvent, SettingEvent, SlashCommand, SteeringEvent, StopReason,
    TurnEvent, TurnId, TurnOutcome,
};
use harn_runtime::{BatchSlice, SessionEnd, Subscription};

use idle::SignsOfLife;
use questions::ClientQuestions;
use replay::ReplaySummary;

pub(crate) use replay::ReplayPlan;

use crate::{
    Dialect, Profile, UpdateProjector,
    answer::answer,
    attached_session::AttachedSession,
    connection::Peer,
    error,
    methods::stop_reason,
    ordering::Gate,
    settings,
    transport::{ClientDisconnected, FollowId, OutgoingPiece},
    wire::StandardUpdate,
};

/// How a client starts to follow a session.
pub(crate) enum FollowStart {
    /// From now on, once its answer is queued; starts with the available commands and the open questions.
    Fresh(Gate, Vec<PermissionAsked>, Vec<SlashCommand>),
    /// First the replay, then the answer, then from now on.
    Replay(ReplayPlan),
}

/// Builds an answer when it is given, not when it is requested.
pub(crate) type LateAnswer = Box<dyn FnOnce() -> Result<serde_json::Value, Error> + Send>;

struct SessionPump {
    peer: Arc<Peer>,
    attached: Arc<AttachedSession>,
    /// The id of this follow of the session.
    stream: FollowId,
    dialect: Dialect,
    lines: UpdateProjector,
    questions: ClientQuestions,
    /// The idle notifications, while the agent waits.
    signs: SignsOfLife,
}

/// Follows a session until it ends, the client disconnects, or the follow is stopped.
pub(crate) fn follow(
    peer: &Arc<Peer>,
    attached: &Arc<AttachedSession>,
    from: Subscription,
    opening: FollowStart,
    stream: FollowId,
) {
    let dialect = peer.facts().dialect;
    let pump = SessionPump {
        stream,
        dialect,
        lines: UpdateProjector::with_past(attached.session.id(), dialect, from.last_before_open())
            .with_session_root(peer.session_root()),
        peer: peer.clone(),
        attached: attached.clone(),
        questions: ClientQuestions::new(attached),
        signs: SignsOfLife::default(),
    };
    let (stop, done) = attached.follow_handles();
    let run = Box::pin(pump.run(from, opening));
    peer.spawn(async move {
        let _done = done;
        tokio::select! {
            () = stop.cancelled() => {}
            () = run => {}
        }
    });
}

impl SessionPump {
    async fn run(mut self, mut from: Subscription, opening: FollowStart) {
        let end = match self.open(&mut from, opening).await {
            Ok(()) => {
                let Err(stopped) = self.run_live(&mut from).await;
                stopped
            }
            Err(stopped) => stopped,
        };
        if let PumpEnd::Session(end) = end {
            self.send_failure(&end).await;
            self.attached.end(&end);
        }
        self.peer.detach(&self.attached);
    }

    /// Notifies the client that the session failed, before the answers to its requests.
    async fn send_failure(&self, end: &SessionEnd) {
        if let SessionEnd::Failed(_) = end {
            let mut out = Vec::new();
            let reason = error::session_ended(end).message;
            self.lines.write_session_failure(&reason, &mut out);
            // A client that disconnected needs no notification.
            let _ = self.send(out).await;
        }
    }

    async fn open(&mut self, from: &mut Subscription, opening: FollowStart) -> Result<(), PumpEnd> {
        let mut replayed = ReplaySummary::default();
        // The commands at the time of the answer: the stream has any later change.
        let (gate, commands) = match opening {
            FollowStart::Fresh(gate, open, commands) => {
                self.questions.unseen = from.position();
                replayed.open = open;
                (Some(gate), commands)
            }
            FollowStart::Replay(replay) => {
                if !replay.has_seen {
                    self.questions.unseen = from.position();
                }
                let (open, answer_to) = (replay.open, replay.answer);
                replayed = self.replay(from, replay.after, open).await?;
                if answer_to.is_none() {
                    self.send_mark().await?;
                }
                let commands = self.attached.session.commands();
                let gate = answer_to.map(|(responder, result)| {
                    let gate = self.peer.order.gates.gate_behind_answer(responder.raw_id());
                    answer(*responder, result());
                    gate
                });
                (gate, commands)
            }
        };
        if let Some(gate) = gate {
            gate.wait_until_open().await;
        }
        self.attached.mark_opening_answered();
        self.attached.set_position(from.position());
        for (turn, outcome) in replayed.ended {
            self.end_prompt(&turn, &outcome).await;
        }
        if !commands.is_empty() {
            let mut out = Vec::new();
            let available_commands = &commands;
            self.lines.write_update(
                &StandardUpdate::AvailableCommandsUpdate { available_commands },
                &mut out,
            );
            self.send(out).await?;
        }
        self.questions
            .add_open(&self.attached.session, replayed.open);
        self.sync_questions_with_controller(from.position()).await?;
        self.send_current_idle(from.position()).await?;
        Ok(())
    }

    async fn run_live(&mut self, from: &mut Subscription) -> Result<Infallible, PumpEnd> {
        loop {
            tokio::select! {
                // The next events may end the agent's wait.
                biased;
                delivery = from.next() => {
                    self.deliver(&delivery.map_err(PumpEnd::Session)?).await?;
                    self.attached.set_position(from.position());
                    if self.questions.may_have_changed() {
                        self.sync_questions_with_controller(from.position()).await?;
                    }
                }
                () = self.questions.wait_for_change() => self.sync_questions_with_controller(from.position()).await?,
                () = self.signs.wait_until_due() => self.send_due_idle().await?,
            }
        }
    }

    async fn deliver(&mut self, delivery: &BatchSlice) -> Result<(), ClientDisconnected> {
        let events = delivery.events();
        if !events.iter().any(|envelope| self.is_personal(envelope)) {
            let bytes = match self.dialect.slot() {
                // The common case: encoded once for all clients of this profile.
                Some(slot) => delivery.get_or_encode(slot, |events| self.encode(events).into()),
                None => self.encode(events).into(),
            };
            return self.send_bytes(bytes).await;
        }
        let mut out = Vec::new();
        for envelope in events {
            if self.is_personal(envelope) {
                self.write_personal(envelope, &mut out).await?;
            } else {
                self.lines.write(envelope, &mut out);
            }
        }
        self.send(out).await
    }

    /// Whether an event may differ between this client and others. Another client's prompt does not, and may be
    /// long.
    fn is_personal(&self, envelope: &Envelope) -> bool {
        match envelope.event.family() {
            EventFamily::Turn(event) => match event {
                TurnEvent::TurnStarted(_) => self.attached.is_mine(envelope.turn.as_ref()),
                TurnEvent::TurnEnded(_) | TurnEvent::PromptWithdrawn(_) => true,
                TurnEvent::PromptQueued(_) | TurnEvent::Recovered(_) => false,
            },
            EventFamily::Message(event) => match event {
                MessageEvent::UserMessage { message_id, .. } => self.is_left_out(message_id),
                MessageEvent::AgentMessageChunk { .. } | MessageEvent::AgentThoughtChunk { .. } => {
                    false
                }
            },
            // The paths in its session, which only a client on this machine receives as absolute.
            EventFamily::Delegation(_) => self.peer.config.on_this_machine,
            EventFamily::Permission(_)
            | EventFamily::Question(_)
            | EventFamily::Setting(_)
            | EventFamily::Steering(_) => true,
            EventFamily::Tool(_)
            | EventFamily::Record(_)
            | EventFamily::Report(_)
            | EventFamily::Composition(_)
            | EventFamily::Skill(_)
            | EventFamily::Detail(_)
            | EventFamily::Context(_)
            | EventFamily::Session(_) => false,
        }
    }

    /// Whether a message is left out for this client. With the extensions, the delivery of a message is a
    /// separate update and no repetition.
    fn is_left_out(&self, message: &MessageId) -> bool {
        self.dialect.profile == Profile::Acp && self.attached.is_left_out(message)
    }

    fn encode(&self, events: &[Envelope]) -> Vec<u8> {
        // An encoded chunk of ordinary text has about this length; the guess avoids most reallocations.
        let mut out = Vec::with_capacity(events.len() * 256);
        events
            .iter()
            .for_each(|envelope| self.lines.write(envelope, &mut out));
        out
    }

    /// Sends an event that may differ between clients.
    async fn write_personal(
        &mut self,
        envelope: &Envelope,
        out: &mut Vec<u8>,
    ) -> Result<(), ClientDisconnected> {
        match envelope.event.family() {
            EventFamily::Turn(TurnEvent::TurnStarted(_)) => {
                let turn = envelope.turn.as_ref();
                if let Some(gate) = turn.and_then(|turn| self.attached.take_start_gate(turn)) {
                    gate.wait_until_open().await;
                }
                self.begin_turn(envelope, out);
            }
            EventFamily::Message(MessageEvent::UserMessage { .. }) => {}
            EventFamily::Steering(SteeringEvent::Daemon(change)) => {
                self.lines.write(envelope, out);
                self.update_idle(envelope.turn.as_ref(), *change, out);
            }
            EventFamily::Turn(TurnEvent::TurnEnded(ended)) => {
                self.signs.stop();
                self.lines.write(envelope, out);
                if let Some(turn) = &envelope.turn {
                    self.send(std::mem::take(out)).await?;
                    self.end_prompt(turn, &ended.outcome).await;
                }
            }
            EventFamily::Turn(TurnEvent::PromptWithdrawn(_)) => {
                if let Some(turn) = &envelope.turn {
                    self.send(std::mem::take(out)).await?;
                    // The withdrawal precedes the outcome of the cancel, which would wait at the same gate.
                    if let Some(gate) = self.attached.take_withdrawal_gate(turn) {
                        gate.wait_until_open().await;
                    }
                    let cancelled = TurnOutcome::stopped(StopReason::Cancelled);
                    self.end_prompt(turn, &cancelled).await;
                }
            }
            EventFamily::Permission(PermissionEvent::PermissionAsked(ask)) => {
                self.send(std::mem::take(out)).await?;
                self.questions.mark_open(&ask.ask_id);
                let place = self.dialect.event_ids.then(|| envelope.seq.into());
                self.ask(ask, place).await?;
            }
            EventFamily::Permission(PermissionEvent::PermissionResolved(resolved)) => {
                self.questions.remove_settled(&resolved.ask_id);
            }
            EventFamily::Question(QuestionEvent::HitlRequested { request_id, .. }) => {
                self.lines.write(envelope, out);
                self.questions.mark_hitl_open(request_id);
                // A question that an agent only reports, or that has its answer by now, is not sent.
                if let Some(request) = self.attached.session.hitl(request_id) {
                    self.send(std::mem::take(out)).await?;
                    self.ask_person(request).await?;
                }
            }
            EventFamily::Question(QuestionEvent::HitlResolved { request_id, .. }) => {
                self.questions.remove_settled_hitl(request_id);
                self.lines.write(envelope, out);
            }
            EventFamily::Setting(
                SettingEvent::ModeChanged { .. } | SettingEvent::ConfigChanged { .. },
            ) => self.write_settings(envelope, out),
            EventFamily::Steering(SteeringEvent::ControlOutcome(outcome)) => {
                self.signs.stop_if_cancelled(outcome);
                self.wait_for_control_answer(outcome).await;
                self.lines.write(envelope, out);
            }
            EventFamily::Turn(TurnEvent::PromptQueued(_) | TurnEvent::Recovered(_))
            | EventFamily::Message(
                MessageEvent::AgentMessageChunk { .. } | MessageEvent::AgentThoughtChunk { .. },
            )
            | EventFamily::Question(QuestionEvent::HitlResponded(_))
            | EventFamily::Setting(SettingEvent::SessionInfo(_))
            | EventFamily::Steering(
                SteeringEvent::LoopCheckpoint(_)
                | SteeringEvent::Pending(_)
                | SteeringEvent::ReminderEmitted(_)
                | SteeringEvent::ReminderLifecycle(_),
            )
            | EventFamily::Tool(_)
            | EventFamily::Record(_)
            | EventFamily::Report(_)
            | EventFamily::Delegation(_)
            | EventFamily::Composition(_)
            | EventFamily::Skill(_)
            | EventFamily::Detail(_)
            | EventFamily::Context(_)
            | EventFamily::Session(_) => self.lines.write(envelope, out),
        }
        Ok(())
    }

    /// Answers the prompt of a turn whose updates are queued, if it is this client's. Waits until the answer is
    /// queued too.
    async fn end_prompt(&self, turn: &TurnId, end: &TurnOutcome) {
        let prompt = self.attached.take_ended_prompt(turn);
        if let Some(prompt) = prompt {
            let gate = self.peer.order.gates.gate_behind_answer(prompt.raw_id());
            answer(prompt, prompt_answer(end));
            gate.wait_until_open().await;
        }
    }

    /// Waits for the answer to the request that had this outcome, if it is this client's: no effect of a
    /// control is sent before the client that requested it has its answer.
    async fn wait_for_control_answer(&self, outcome: &ControlOutcome) {
        if let Some(gate) = self.attached.take_outcome_gate(outcome) {
            gate.wait_until_open().await;
        }
    }

    /// Writes the start of a turn, without the prompt if it is the client's own.
    fn begin_turn(&self, envelope: &Envelope, out: &mut Vec<u8>) {
        let start = out.len();
        self.lines.write(envelope, out);
        if self.attached.is_mine(envelope.turn.as_ref()) {
            self.lines.remove_prompt(start, out);
        }
    }

    /// Writes a change of a setting: always all settings together, with their current values.
    fn write_settings(&self, envelope: &Envelope, out: &mut Vec<u8>) {
        let start = out.len();
        if let AgentEvent::ModeChanged { mode_id } = &envelope.event {
            let current_mode_id = mode_id;
            let update = StandardUpdate::CurrentModeUpdate { current_mode_id };
            self.lines.write_update(&update, out);
        }
        let options = settings::config_options(&self.attached.session);
        if let Ok(config_options) = serde_json::to_value(options) {
            let update = StandardUpdate::ConfigOptionUpdate { config_options };
            self.lines.write_update(&update, out);
        }
        self.lines.stamp(envelope.seq, start, out);
    }

    async fn send(&self, out: Vec<u8>) -> Result<(), ClientDisconnected> {
        self.send_bytes(out.into()).await
    }

    async fn send_bytes(&self, bytes: Bytes) -> Result<(), ClientDisconnected> {
        match bytes.is_empty() {
            true => Ok(()),
            false => self.send_piece(bytes).await,
        }
    }

    /// Marks for the transport that everything it asked for is queued.
    async fn send_mark(&self) -> Result<(), ClientDisconnected> {
        self.send_piece(Bytes::new()).await
    }

    async fn send_piece(&self, bytes: Bytes) -> Result<(), ClientDisconnected> {
        let piece = OutgoingPiece {
            bytes,
            session: Some(self.attached.session.id().clone()),
            stream: Some(self.stream),
        };
        self.peer.order.outgoing.send(piece).await
    }
}

enum PumpEnd {
    Session(SessionEnd),
    Client,
}

impl From<ClientDisconnected> for PumpEnd {
    fn from(_: ClientDisconnected) -> Self {
        Self::Client
    }
}

/// Returns the answer to a prompt whose turn has this outcome.
fn prompt_answer(outcome: &TurnOutcome) -> Result<PromptResponse, Error> {
    match outcome {
        TurnOutcome::Stopped { stop_reason: why } => Ok(PromptResponse::new(stop_reason(*why))),
        TurnOutcome::Failed { message } => Err(error::turn_failed(message)),
    }
}
