//! The open connections by id. Each belongs to a principal and does not exist for any other.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use axum::http::HeaderMap;
use harn_lines::pace::{ClientQuotas, ClientSlot, RateAllowance};
use harn_model::{Principal, SessionId};
use harn_runtime::Hub;

use super::{
    CONNECTION_ID, HttpConfig, connection::HttpConnection, header_text, refusal::HttpRefusal,
};
use crate::lock::lock;

pub(super) struct ConnectionRegistry {
    pub(super) config: HttpConfig,
    places: ClientQuotas<Principal>,
    /// Bounded by the number of principals, which are all authenticated.
    beginnings: Mutex<HashMap<Principal, RateAllowance>>,
    connections: Mutex<HashMap<String, Arc<HttpConnection>>>,
}

impl ConnectionRegistry {
    pub(super) fn new(config: HttpConfig) -> Self {
        Self {
            places: ClientQuotas::new(config.connections),
            config,
            beginnings: Mutex::default(),
            connections: Mutex::default(),
        }
    }

    /// Returns the sessions of a principal.
    pub(super) fn hub(&self, principal: &Principal) -> Hub {
        self.config.hub.for_principal(principal.clone())
    }

    /// Reserves a slot for a connection of a principal. No principal can take all slots.
    pub(super) fn join(&self, principal: &Principal) -> Result<ClientSlot, HttpRefusal> {
        let joined = self.places.join(principal);
        joined.ok_or(HttpRefusal::TooManyConnections)
    }

    /// Takes one from the principal's rate of new connections; returns whether one was left.
    pub(super) fn may_begin(&self, principal: &Principal) -> bool {
        let mut beginnings = lock(&self.beginnings);
        let own = beginnings.entry(principal.clone());
        let own = own.or_insert_with(|| RateAllowance::new(self.config.connections_per_second));
        own.take()
    }

    /// Returns the connection that a request names.
    pub(super) fn find_connection(
        &self,
        headers: &HeaderMap,
        principal: &Principal,
    ) -> Result<Arc<HttpConnection>, HttpRefusal> {
        let id = header_text(headers, &CONNECTION_ID)?.ok_or(HttpRefusal::NoConnection)?;
        let found = lock(&self.connections).get(id).cloned();
        let own = found.filter(|connection| connection.belongs_to(principal));
        own.ok_or(HttpRefusal::UnknownConnection)
    }

    /// Rejects a session that this connection may not name: another principal's session is as unknown as none.
    pub(super) async fn check_session(
        &self,
        connection: &HttpConnection,
        session: &SessionId,
    ) -> Result<(), HttpRefusal> {
        let known =
            connection.has_session(session) || self.hub(connection.principal()).has(session).await;
        known.then_some(()).ok_or(HttpRefusal::UnknownSession)
    }

    pub(super) fn insert(&self, connection: &Arc<HttpConnection>) {
        let id = connection.id().to_owned();
        lock(&self.connections).insert(id, connection.clone());
    }

    pub(super) fn remove(&self, id: &str) {
        lock(&self.connections).remove(id);
    }
}
