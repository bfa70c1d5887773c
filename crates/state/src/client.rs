//! A client of a document: its session, its name, and its commands for control.

use std::{path::PathBuf, sync::Arc};

use harn_model::{Actor, Principal, SessionId, TurnId};
use harn_runtime::{
    AttachClient, ControlPreemption, Controller, Driver, DriverAction, Hub, LiveClientError,
    NoHost, NotInControl, Seat, SeatClaim, SeatTerm,
};

use crate::{
    command_error::ClientCommandError,
    error::StateError,
    room::{NAMELESS, Room},
    rooms::Rooms,
    session_choice::{LastSessions, SessionChoice},
};

/// The connection options of a client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClientOptions {
    pub(crate) session: SessionChoice,
    /// The working directory of a new session.
    pub(crate) cwd: Option<PathBuf>,
    pub(crate) name: Option<String>,
    /// Whether it takes control only by `takeover`.
    pub(crate) watches: bool,
}

pub(crate) struct DocumentClient {
    hub: Hub,
    rooms: Arc<Rooms>,
    name: Option<String>,
    watches: bool,
    room: Arc<Room>,
    seat: Arc<Seat>,
    /// Whether it switched sessions since the last check.
    went: bool,
}

impl DocumentClient {
    /// Opens the session that a client chooses, and attaches the client to it.
    pub(crate) async fn connect(
        hub: Hub,
        rooms: Arc<Rooms>,
        sessions: &LastSessions,
        coming: ClientOptions,
        directory: PathBuf,
    ) -> Result<Self, StateError> {
        let cwd = coming.cwd.unwrap_or(directory);
        let session = sessions.open(&hub, &coming.session, cwd).await?;
        let room = rooms.open_room(&hub, session).await?;
        let ClientOptions { name, watches, .. } = coming;
        let seat = attach_to_room(&room, name.as_deref(), watches).await?;
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

    /// Switches to another session. If that fails, the client stays in the current one.
    pub(crate) async fn switch_session(
        &mut self,
        id: &SessionId,
    ) -> Result<(), ClientCommandError> {
        let session = self.hub.open(id, None).await.map_err(StateError::from)?;
        let room = self.rooms.open_room(&self.hub, session).await?;
        let seat = attach_to_room(&room, self.name.as_deref(), self.watches).await?;
        // The seat at the other session ends with the last handle to it.
        (self.room, self.seat, self.went) = (room, seat, true);
        Ok(())
    }

    /// Returns the authenticated principal. A client chooses its name itself, so the name proves nothing.
    pub(crate) fn principal(&self) -> &Principal {
        self.hub.principal()
    }

    /// Whether it switched sessions since the last call, even to the same session.
    pub(crate) fn take_switched(&mut self) -> bool {
        std::mem::take(&mut self.went)
    }

    /// Returns the session for an action of its controller. If the session has none, the client first becomes the
    /// controller, unless it is an observer.
    pub(crate) async fn drive(&self, act: DriverAction) -> Result<Driver<'_>, ClientCommandError> {
        let name = self.name();
        match self.seat.drive(act, name) {
            Err(NotInControl::NotController { controller: None }) => {}
            driver => return Ok(driver?),
        }
        match (name, self.watches) {
            (Some(name), false) => {
                // Another client may have been faster.
                let _ = self.seat.attach(AttachClient::controller(name)).await;
            }
            (None, false) => self.seat.claim(),
            (_, true) => {}
        }
        Ok(self.seat.drive(act, name)?)
    }

    /// Returns the term of this client as the asked one, which an answer needs to count, and the turn that the
    /// answer continues. Questions go to the controller.
    pub(crate) async fn answering_term(
        &self,
    ) -> Result<(SeatTerm, Option<TurnId>), ClientCommandError> {
        // First, so that it is the turn that asks, or one that has ended.
        let turn = self.seat.cancel_target();
        self.drive(DriverAction::Answer).await?;
        match self.seat.answering_term() {
            (Some(term), _) => Ok((term, turn)),
            (None, _) => Err(ClientCommandError::bad(
                "control of this session is changing; try again",
            )),
        }
    }

    /// Takes control, also from another controller.
    pub(crate) async fn take_over(&self) -> Result<(), ClientCommandError> {
        let name = self.require_name("takeover")?;
        self.seat.attach(AttachClient::takeover(name)).await?;
        Ok(())
    }

    pub(crate) async fn hand_back(&self) -> Result<(), ClientCommandError> {
        let name = self.require_name("handback")?;
        if self.seat.has_control() {
            self.seat.attach(AttachClient::observer(name)).await?;
        }
        Ok(())
    }

    fn require_name(&self, command: &str) -> Result<&str, ClientCommandError> {
        self.name().ok_or_else(|| {
            ClientCommandError::bad(format!(
                "{command} needs a name; connect with client=NAME in the URL"
            ))
        })
    }

    /// The author of steering messages, for the journal.
    pub(crate) fn actor(&self) -> Actor {
        Actor {
            client_id: self.name().unwrap_or(NAMELESS).to_owned(),
            // A controller may also revoke the messages of other clients.
            role: "host_owner".to_owned(),
            source: "state".to_owned(),
        }
    }
}

/// Takes a seat at the session of a room.
async fn attach_to_room(
    room: &Room,
    name: Option<&str>,
    watches: bool,
) -> Result<Arc<Seat>, StateError> {
    let Some(name) = name else {
        return Ok(match watches {
            true => Arc::new(take_passive_seat(room.session(), NAMELESS)),
            false => {
                let seat = room.unnamed_seat();
                room.refresh_facts();
                seat
            }
        });
    };
    let seat = Arc::new(take_passive_seat(room.session(), name));
    let attached = match watches {
        true => seat.attach(AttachClient::observer(name)).await,
        // A client that reconnects before its old connection is missed keeps its mode.
        false => match seat
            .attach(as_reconnect(AttachClient::controller(name)))
            .await
        {
            Err(LiveClientError::ControllerExists { .. }) => {
                seat.attach(as_reconnect(AttachClient::observer(name)))
                    .await
            }
            attached => attached,
        },
    };
    match attached {
        Ok(_) => {
            room.refresh_facts();
            Ok(seat)
        }
        Err(LiveClientError::Closed) => Err(StateError::Closed),
        Err(error) => Err(StateError::Client(error)),
    }
}

fn as_reconnect(client: AttachClient) -> AttachClient {
    AttachClient {
        taking: ControlPreemption::Again,
        ..client
    }
}

/// Takes a seat that gets control only on request.
fn take_passive_seat(session: &Controller, name: &str) -> Seat {
    session.take_seat(name, Arc::new(NoHost), SeatClaim::Never)
}
