//! The connections there are, by their ids. Each belongs to a principal; to others it is as if there were none.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use axum::http::HeaderMap;
use harn_lines::pace::{Allowance, Crowd, Member};
use harn_model::{Principal, SessionId};
use harn_runtime::Hub;

use super::{CONNECTION_ID, HttpConfig, connection::Connection, refusal::Refusal, text};
use crate::lock::lock;

pub(super) struct Registry {
    pub(super) config: HttpConfig,
    crowd: Crowd,
    /// As many as there are principals, all of whom were let in.
    shares: Mutex<HashMap<Principal, Share>>,
    connections: Mutex<HashMap<String, Arc<Connection>>>,
}

/// What one principal has of the whole.
struct Share {
    crowd: Crowd,
    beginnings: Allowance,
}

impl Registry {
    pub(super) fn new(config: HttpConfig) -> Self {
        Self {
            config,
            crowd: Crowd::default(),
            shares: Mutex::default(),
            connections: Mutex::default(),
        }
    }

    /// The sessions of a principal.
    pub(super) fn hub(&self, principal: &Principal) -> Hub {
        self.config.hub.of(principal.clone())
    }

    /// Room for one more connection of a principal. Nobody has all of it.
    pub(super) fn join(&self, principal: &Principal) -> Result<Member, Refusal> {
        let all = self.config.connections;
        let own = self.share(principal, |share| share.crowd.join(all - all / 4));
        let joined = own.and_then(|own| self.crowd.join_with(all, own));
        joined.ok_or(Refusal::TooManyConnections)
    }

    /// Takes one from the connections that a principal may begin in a while.
    pub(super) fn may_begin(&self, principal: &Principal) -> bool {
        self.share(principal, |share| share.beginnings.take())
    }

    fn share<T>(&self, principal: &Principal, of: impl FnOnce(&mut Share) -> T) -> T {
        let mut shares = lock(&self.shares);
        let share = shares.entry(principal.clone()).or_insert_with(|| Share {
            crowd: Crowd::default(),
            beginnings: Allowance::new(self.config.connections_per_second),
        });
        of(share)
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
