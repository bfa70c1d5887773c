//! Sends the stored events of a session: all of them, or from behind a line that the client has.
//!
//! A client that continues after an event id receives the lines it would have received without the
//! interruption; so does, from the beginning, a client with event ids. Questions are not sent at their old
//! positions: the open ones are sent when the client has caught up.

use agent_client_protocol::Responder;
use harn_model::{
    EventFamily, PermissionAsked, PermissionEvent, SettingEvent, SteeringEvent, StopReason,
    TurnEvent, TurnId, TurnOutcome,
};
use harn_runtime::Subscription;

use super::{LateAnswer, PumpEnd, SessionPump};
use crate::{EventId, UpdateProjector};

/// The part of a session to send before following it.
pub(crate) struct ReplayPlan {
    /// The line to continue after.
    pub(crate) after: Option<EventId>,
    /// Whether the client has the lines before.
    pub(crate) has_seen: bool,
    /// The questions that were open before that, or when the follow began.
    pub(crate) open: Vec<PermissionAsked>,
    /// The request that is answered after the replay.
    pub(crate) answer: Option<(Box<Responder>, LateAnswer)>,
}

/// The findings of a replay that the client must receive in another way.
#[derive(Default)]
pub(super) struct ReplaySummary {
    pub(super) open: Vec<PermissionAsked>,
    /// The ends of the client's own turns.
    pub(super) ended: Vec<(TurnId, TurnOutcome)>,
}

impl SessionPump {
    /// Queues everything published so far; returns the part that needs more than an update for this client.
    pub(super) async fn replay(
        &mut self,
        from: &mut Subscription,
        after: Option<EventId>,
        mut open: Vec<PermissionAsked>,
    ) -> Result<ReplaySummary, PumpEnd> {
        let until = from.head();
        // A client that may resume at any line gets the stream as it was; others get it without outdated parts.
        let as_it_was = after.is_some() || self.dialect.event_ids;
        let lines = match as_it_was {
            true => None,
            false => {
                let lines = UpdateProjector::new(self.attached.session.id(), self.dialect, true);
                Some(lines.with_session_root(self.peer.session_root()))
            }
        };
        let mut ended = Vec::new();
        while from.position() < until {
            let delivery = from.next().await.map_err(PumpEnd::Session)?;
            let begins_within = after.is_some_and(|after| delivery.contains(after.seq()));
            let mut events = delivery.events().iter();
            let shared = !events.any(|envelope| self.is_personal(envelope));
            if as_it_was && !begins_within && shared {
                self.deliver(&delivery).await?;
                continue;
            }
            let lines = lines.as_ref().unwrap_or(&self.lines);
            let mut out = Vec::with_capacity(delivery.events().len() * 256);
            for envelope in delivery.events() {
                let start = out.len();
                match envelope.event.family() {
                    EventFamily::Permission(PermissionEvent::PermissionAsked(ask)) => {
                        open.retain(|open| open.ask_id != ask.ask_id);
                        open.push(ask.clone());
                    }
                    EventFamily::Permission(PermissionEvent::PermissionResolved(resolved)) => {
                        open.retain(|ask| ask.ask_id != resolved.ask_id);
                    }
                    EventFamily::Turn(TurnEvent::TurnStarted(_)) if after.is_some() => {
                        self.begin_turn(envelope, &mut out);
                    }
                    EventFamily::Turn(TurnEvent::TurnEnded(end)) => {
                        if let Some(turn) = &envelope.turn {
                            ended.push((turn.clone(), end.outcome.clone()));
                        }
                        lines.write(envelope, &mut out);
                    }
                    EventFamily::Turn(TurnEvent::PromptWithdrawn(_)) => {
                        let cancelled = TurnOutcome::stopped(StopReason::Cancelled);
                        ended.extend(envelope.turn.clone().map(|turn| (turn, cancelled)));
                    }
                    EventFamily::Steering(SteeringEvent::ControlOutcome(outcome)) => {
                        self.wait_for_control_answer(outcome).await;
                        lines.write(envelope, &mut out);
                    }
                    EventFamily::Setting(
                        SettingEvent::ModeChanged { .. } | SettingEvent::ConfigChanged { .. },
                    ) if as_it_was => {
                        self.write_settings(envelope, &mut out);
                    }
                    EventFamily::Turn(
                        TurnEvent::TurnStarted(_)
                        | TurnEvent::PromptQueued(_)
                        | TurnEvent::Recovered(_),
                    )
                    | EventFamily::Steering(
                        SteeringEvent::LoopCheckpoint(_)
                        | SteeringEvent::Pending(_)
                        | SteeringEvent::ReminderEmitted(_)
                        | SteeringEvent::ReminderLifecycle(_)
                        | SteeringEvent::Daemon(_),
                    )
                    | EventFamily::Setting(_)
                    | EventFamily::Message(_)
                    | EventFamily::Tool(_)
                    | EventFamily::Record(_)
                    | EventFamily::Question(_)
                    | EventFamily::Report(_)
                    | EventFamily::Delegation(_)
                    | EventFamily::Composition(_)
                    | EventFamily::Skill(_)
                    | EventFamily::Detail(_)
                    | EventFamily::Context(_)
                    | EventFamily::Session(_) => lines.write(envelope, &mut out),
                }
                if let Some(after) = after.filter(|after| after.seq() == envelope.seq) {
                    leave_out(after, start, &mut out);
                }
            }
            // Keeps only the ends of this client's prompts, as a history may be long.
            ended.retain(|(turn, _)| self.attached.is_mine(Some(turn)));
            self.send(out).await?;
        }
        Ok(ReplaySummary { open, ended })
    }
}

/// Removes the lines of an event that the client has.
fn leave_out(after: EventId, start: usize, out: &mut Vec<u8>) {
    let lines = out[start..].split_inclusive(|&byte| byte == b'\n');
    let count = lines.clone().count();
    let had: usize = lines.take(after.lines_until(count)).map(<[u8]>::len).sum();
    out.drain(start..start + had);
}
