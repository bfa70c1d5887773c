//! The connections there are, by their ids. Each belongs to a principal; to others it is as if there were none.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use axum::http::HeaderMap;
use harn_lines::pace::{Allowance, Member, Shares};
use harn_model::{Principal, SessionId};
use harn_runtime::Hub;

use super::{CONNECTION_ID, HttpConfig, connection::Connection, refusal::Refusal, text};
use crate::lock::lock;

pub(super) struct Registry {
    pub(super) config: HttpConfig,
    places: Shares<Principal>,
    /// As many as there are principals, all of whom were let in.
    beginnings: Mutex<HashMap<Principal, Allowance>>,
    connections: Mutex<HashMap<String, Arc<Connection>>>,
}

impl Registry {
    pub(super) fn new(config: HttpConfig) -> Self {
        Self {
            places: Shares::of(config.connections),
            config,
            beginnings: Mutex::default(),
            connections: Mutex::default(),
        }
    }

    /// The sessions of a principal.
    pub(super) fn hub(&self, principal: &Principal) -> Hub {
        self.config.hub.of(principal.clone())
    }

    /// Room for one more connection of a principal. Nobody has all of it.
    pub(super) fn join(&self, principal: &Principal) -> Result<Member, Refusal> {
        let joined = self.places.join(principal);
        joined.ok_or(Refusal::TooManyConnections)
    }

    /// Takes one from the connections that a principal may begin in a while.
    pub(super) fn may_begin(&self, principal: &Principal) -> bool {
        let mut beginnings = lock(&self.beginnings);
        let own = beginnings.entry(principal.clone());
        let own = own.or_insert_with(|| Allowance::new(self.config.connections_per_second));
        own.take()
    }

    /// The connection that a request names.
    pub(super) fn named(
        &self,
        headers: &HeaderMap,
        principal: &Principal,
    ) -> Result<Arc<Connection>, Refusal> {
        let id = text(headers, &CONNECTION_ID)?.ok_or(Refusal::NoConnection)?;
        let found = lock(&self.connections).get(id).cloned();
        let own = found.filter(|connection| connection.is_of(principal));
        own.ok_or(Refusal::UnknownConnection)
    }

    /// Whether a session is one that this connection may name: somebody else's is as unknown as none.
    pub(super) async fn check_session(
        &self,
        connection: &Connection,
        session: &SessionId,
    ) -> Result<(), Refusal> {
        let known =
            connection.has_session(session) || self.hub(connection.principal()).has(session).await;
        known.then_some(()).ok_or(Refusal::UnknownSession)
    }

    pub(super) fn insert(&self, connection: &Arc<Connection>) {
        let id = connection.id().to_owned();
        lock(&self.connections).insert(id, connection.clone());
    }

    pub(super) fn remove(&self, id: &str) {
        lock(&self.connections).remove(id);
    }
}
