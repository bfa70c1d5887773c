//! Clients of a live session: who is attached, who has control, and what that permits.

mod clients;
mod control;
mod heartbeats;
mod principals;
mod questions;

use std::sync::Arc;

use harn_model::{AgentEvent, ContentBlock, Envelope, LiveAuthor, Seq, plain_text};
use harn_runtime::{Controller, DriverAction, NoHost, NotInControl, Seat, SeatClaim};

use crate::support::*;

/// Adds a connection that opens the session and takes control if it is free.
pub fn connect_with_claim(session: &Controller, name: &str) -> Seat {
    session.take_seat(name, Arc::new(NoHost), SeatClaim::IfFree)
}

/// Adds a connection that does not claim control.
pub fn connect_without_claim(session: &Controller, name: &str) -> Seat {
    session.take_seat(name, Arc::new(NoHost), SeatClaim::Never)
}

/// Returns all events written so far.
pub async fn written_events(session: &Controller) -> Vec<Envelope> {
    let last = session.last_seq();
    if last == Seq::ZERO {
        return Vec::new();
    }
    collect_until(&mut session.subscribe(Seq::ZERO), |e| e.seq == last).await
}

/// Returns the error if this connection may not send a prompt.
pub fn prompt_refusal(seat: &Seat) -> Option<NotInControl> {
    seat.drive(DriverAction::Speak, None).err()
}

pub fn error_controlled_by(name: &str) -> Option<NotInControl> {
    Some(NotInControl::NotController {
        controller: Some(name.to_owned()),
    })
}

pub async fn say(seat: &Seat, text: &str) {
    let driver = seat.drive(DriverAction::Speak, None).unwrap();
    let blocks = vec![ContentBlock::text(text)];
    driver.prompt(blocks, |_| ()).await.unwrap();
}

/// Returns the users' messages with their authors.
pub async fn authors(session: &Controller) -> Vec<(String, Option<LiveAuthor>)> {
    let said = written_events(session).await.into_iter();
    let said = said.filter_map(|e| match e.event {
        AgentEvent::TurnStarted(turn) => Some((turn.prompt, turn.live_session)),
        AgentEvent::UserMessage {
            content,
            live_session,
            ..
        } => Some((content, live_session)),
        _ => None,
    });
    said.map(|(content, author)| (plain_text(&content), author.map(|it| *it)))
        .collect()
}
