//! A client: which session it looks at, by which name, and what it may do there.

use std::{path::PathBuf, sync::Arc};

use harn_model::{Actor, Principal, SessionId, TurnId};
use harn_runtime::{
    AttachClient, ControlPreemption, Controller, Driver, DriverAction, Hub, LiveClientError,
    NoHost, NotInControl, Seat, SeatClaim, SeatTerm,
};

use crate::{
    error::StateError,
    refused::ClientCommandError,
    room::{NAMELESS, Room},
    rooms::Rooms,
    session_choice::{LastSessions, SessionChoice},
};

/// How a client comes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClientOptions {
    pub(crate) session: SessionChoice,
    /// Where a new one works.
    pub(crate) cwd: Option<PathBuf>,
    pub(crate) name: Option<String>,
    /// Whether it never takes control of its own accord.
    pub(crate) watches: bool,
}

pub(crate) struct DocumentClient {
    hub: Hub,
    rooms: Arc<Rooms>,
    name: Option<String>,
    watches: bool,
    room: Arc<Room>,
    seat: Arc<Seat>,
    /// Whether it went over to a session, and nobody was told.
    went: bool,
}

impl DocumentClient {
    /// Lets a client in.
    pub(crate) async fn come(
        hub: Hub,
        rooms: Arc<Rooms>,
        sessions: &LastSessions,
        coming: ClientOptions,
        directory: PathBuf,
    ) -> Result<Self, StateError> {
        let cwd = coming.cwd.unwrap_or(directory);
        let session = sessions.open(&hub, &coming.session, cwd).await?;
        let room = rooms.enter(&hub, session).await?;
        let ClientOptions { name, watches, .. } = coming;
        let seat = sit(&room, name.as_deref(), watches).await?;
        Ok(Self {
            hub,
            rooms,
            name,
            watches,
            room,
            seat,
            went: false,
        })
    }

    pub(crate) fn room(&self) -> &Arc<Room> {
        &self.room
    }

    pub(crate) fn seat(&self) -> &Seat {
        &self.seat
    }

    pub(crate) fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Goes over to another session. Where that cannot be, it stays.
    pub(crate) async fn go(&mut self, id: &SessionId) -> Result<(), ClientCommandError> {
        let session = self.hub.open(id, None).await.map_err(StateError::from)?;
        let room = self.rooms.enter(&self.hub, session).await?;
        let seat = sit(&room, self.name.as_deref(), self.watches).await?;
        // Its place at the other session is given up with the last handle to it.
        (self.room, self.seat, self.went) = (room, seat, true);
        Ok(())
    }

    /// Whose it is. A name is only a name; this is who let it in.
    pub(crate) fn principal(&self) -> &Principal {
        self.hub.principal()
    }

    /// Whether it went over to a session since this was last asked, be it the one it was in.
    pub(crate) fn went(&mut self) -> bool {
        std::mem::take(&mut self.went)
    }

    /// The session, for what only who controls it may do. Where nobody does, whoever wants something does
    /// from then on.
    pub(crate) async fn drive(&self, act: DriverAction) -> Result<Driver<'_>, ClientCommandError> {
        let name = self.name();
        match self.seat.drive(act, name) {
            Err(NotInControl::NotController { controller: None }) => {}
            driver => return Ok(driver?),
        }
        match (name, self.watches) {
            (Some(name), false) => {
                // Somebody may have been faster.
                let _ = self.seat.attach(AttachClient::controller(name)).await;
            }
            (None, false) => self.seat.claim(),
            (_, true) => {}
        }
        Ok(self.seat.drive(act, name)?)
    }

    /// Since when it is asked, for an answer to count; and the turn that goes on by it. Whoever is in control
    /// is asked.
    pub(crate) async fn asked(&self) -> Result<(SeatTerm, Option<TurnId>), ClientCommandError> {
        // Before anything else, so that it is the turn that asks, or one that is over.
        let turn = self.seat.cancel_target();
        self.drive(DriverAction::Answer).await?;
        match self.seat.asked() {
            (Some(term), _) => Ok((term, turn)),
            (None, _) => Err(ClientCommandError::bad(
                "somebody else is asked just now; who decides is about to change, try again",
            )),
        }
    }

    /// Takes control, whoever has it.
    pub(crate) async fn take_over(&self) -> Result<(), ClientCommandError> {
        let name = self.named("takeover")?;
        self.seat.attach(AttachClient::takeover(name)).await?;
        Ok(())
    }

    pub(crate) async fn hand_back(&self) -> Result<(), ClientCommandError> {
        let name = self.named("handback")?;
        if self.seat.has_control() {
            self.seat.attach(AttachClient::observer(name)).await?;
        }
        Ok(())
    }

    fn named(&self, command: &str) -> Result<&str, ClientCommandError> {
        self.name().ok_or_else(|| {
            ClientCommandError::bad(format!(
                "{command} needs a name; connect with client=NAME in the URL"
            ))
        })
    }

    /// Whoever steers, as the journal has it.
    pub(crate) fn actor(&self) -> Actor {
        Actor {
            client_id: self.name().unwrap_or(NAMELESS).to_owned(),
            // Who may drive the session may also take back what others said to it.
            role: "host_owner".to_owned(),
            source: "state".to_owned(),
        }
    }
}

/// A place in a room.
async fn sit(room: &Room, name: Option<&str>, watches: bool) -> Result<Arc<Seat>, StateError> {
    let Some(name) = name else {
        return Ok(match watches {
            true => Arc::new(quiet(room.session(), NAMELESS)),
            false => {
                let seat = room.nameless();
                room.greet();
                seat
            }
        });
    };
    let seat = Arc::new(quiet(room.session(), name));
    let attached = match watches {
        true => seat.attach(AttachClient::observer(name)).await,
        // One that comes again before it was missed is the same as before.
        false => match seat.attach(again(AttachClient::controller(name))).await {
            Err(LiveClientError::ControllerExists { .. }) => {
                seat.attach(again(AttachClient::observer(name))).await
            }
            attached => attached,
        },
    };
    match attached {
        Ok(_) => {
            room.greet();
            Ok(seat)
        }
        Err(LiveClientError::Closed) => Err(StateError::Closed),
        Err(error) => Err(StateError::Client(error)),
    }
}

fn again(client: AttachClient) -> AttachClient {
    AttachClient {
        taking: ControlPreemption::Again,
        ..client
    }
}

/// A place that is not in control without a word about it.
fn quiet(session: &Controller, name: &str) -> Seat {
    session.sit(name, Arc::new(NoHost), SeatClaim::Never)
}
