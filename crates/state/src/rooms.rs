//! The open rooms by session. A room exists while a client uses it.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use harn_model::{Principal, SessionId};
use harn_runtime::{Controller, Hub};

use crate::{error::StateError, room::Room};

/// The principal and the session id; sessions of different principals may have the same id.
type RoomKey = (Principal, SessionId);
/// Locked while a room opens, so that other clients wait for it.
type RoomSlot = Arc<tokio::sync::Mutex<Weak<Room>>>;

#[derive(Default)]
pub(crate) struct Rooms {
    places: Mutex<HashMap<RoomKey, RoomSlot>>,
}

impl Rooms {
    /// Returns the room of a session, and opens it if necessary.
    pub(crate) async fn open_room(
        &self,
        hub: &Hub,
        session: Controller,
    ) -> Result<Arc<Room>, StateError> {
        let key = (hub.principal().clone(), session.id().clone());
        let place = self.slot(key);
        let mut room = place.lock().await;
        let open = room.upgrade();
        // A session that was closed and opened again needs another room.
        if let Some(open) = open.filter(|open| open.session().is_same(&session)) {
            return Ok(open);
        }
        let opened = Room::open(session, hub.profile().title.clone()).await?;
        *room = Arc::downgrade(&opened);
        Ok(opened)
    }

    fn slot(&self, key: RoomKey) -> RoomSlot {
        let places = self.places.lock();
        let mut places = places.unwrap_or_else(PoisonError::into_inner);
        // Drops slots with no client in the room and no pending open.
        places.retain(|_, place| {
            Arc::strong_count(place) > 1
                || place.try_lock().is_ok_and(|room| room.strong_count() > 0)
        });
        places.entry(key).or_default().clone()
    }
}
