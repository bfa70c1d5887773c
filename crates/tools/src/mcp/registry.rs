//! The MCP servers of a session and their state; notifies watchers of changes.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard},
};

use harn_model::{McpServerSpec, McpServerStatus, McpState};
use tokio::sync::watch;
use tokio_util::sync::DropGuard;

use super::{
    catalogue::{McpCatalogue, build_catalogue},
    link::McpLink,
    listing::OfferedTool,
    redact::Secrets,
};
use crate::lock::lock;

/// The MCP servers of a session, by name, with the state of each.
#[derive(Default)]
pub(super) struct McpRegistry {
    pages: Mutex<McpRegistryState>,
    changes: watch::Sender<u64>,
}

#[derive(Default)]
struct McpRegistryState {
    closed: bool,
    /// The number of the latest ticket.
    issued: u64,
    servers: BTreeMap<String, McpServerRecord>,
    catalogue: Arc<McpCatalogue>,
}

pub(super) struct McpServerRecord {
    pub(super) spec: McpServerSpec,
    /// The values that no log, status or error of the server may contain.
    secrets: Secrets,
    pub(super) state: McpState,
    pub(super) error: Option<String>,
    /// The tools of its last listing; `None` before the first one and after the server was given up.
    pub(super) tools: Option<Arc<[OfferedTool]>>,
    /// The connection, while the server is ready.
    pub(super) link: Option<McpLink>,
    ticket: u64,
    _task: DropGuard,
}

/// Identifies the server that a task works for; a later server of the same name has another number.
#[derive(Clone, Debug)]
pub(super) struct McpServerTicket {
    name: String,
    number: u64,
}

/// Whether a server can take requests.
pub(super) enum McpAvailability {
    /// Its connection, and its secrets.
    Ready(McpLink, Secrets),
    /// The server is starting or reconnecting, with its last error.
    Coming(Option<String>),
    /// The server was removed or given up, with its last error.
    Lost(Option<String>),
}

impl McpRegistry {
    /// Whether an equal spec is registered and its server is not given up.
    pub(super) fn has_active(&self, spec: &McpServerSpec) -> bool {
        let pages = lock(&self.pages);
        let page = pages.servers.get(&spec.name);
        page.is_some_and(|page| page.spec == *spec && page.state != McpState::GivenUp)
    }

    /// Adds a server and replaces one of the same name. Returns `None` once the registry is closed.
    pub(super) fn put(
        &self,
        spec: McpServerSpec,
        secrets: Secrets,
        task: DropGuard,
    ) -> Option<McpServerTicket> {
        let mut pages = lock(&self.pages);
        if pages.closed {
            return None;
        }
        pages.issued += 1;
        let ticket = McpServerTicket {
            name: spec.name.clone(),
            number: pages.issued,
        };
        let page = McpServerRecord {
            spec,
            secrets,
            state: McpState::Connecting,
            error: None,
            tools: None,
            link: None,
            ticket: ticket.number,
            _task: task,
        };
        pages.servers.insert(ticket.name.clone(), page);
        self.publish_change(pages);
        Some(ticket)
    }

    pub(super) fn remove(&self, name: &str) {
        let mut pages = lock(&self.pages);
        if pages.servers.remove(name).is_some() {
            self.publish_change(pages);
        }
    }

    /// Removes all servers and rejects new ones.
    pub(super) fn close(&self) {
        let mut pages = lock(&self.pages);
        pages.closed = true;
        pages.servers.clear();
        self.publish_change(pages);
    }

    /// Changes the record of a server, unless a later server replaced it.
    pub(super) fn update(
        &self,
        ticket: &McpServerTicket,
        change: impl FnOnce(&mut McpServerRecord),
    ) {
        let mut pages = lock(&self.pages);
        let page = pages.servers.get_mut(&ticket.name);
        if let Some(page) = page.filter(|page| page.ticket == ticket.number) {
            change(page);
            self.publish_change(pages);
        }
    }

    fn publish_change(&self, mut pages: MutexGuard<'_, McpRegistryState>) {
        let servers = pages.servers.iter();
        let offered =
            servers.map(|(name, page)| (name.as_str(), page.tools.as_deref().unwrap_or_default()));
        pages.catalogue = Arc::new(build_catalogue(offered));
        drop(pages);
        self.changes.send_modify(|count| *count += 1);
    }

    pub(super) fn catalogue(&self) -> Arc<McpCatalogue> {
        lock(&self.pages).catalogue.clone()
    }

    pub(super) fn statuses(&self) -> Vec<McpServerStatus> {
        let pages = lock(&self.pages);
        let status = |(name, page): (&String, &McpServerRecord)| McpServerStatus {
            name: name.clone(),
            state: page.state,
            tools: page.tools.as_ref().map(|tools| tools.len() as u64),
            error: page.error.clone(),
        };
        pages.servers.iter().map(status).collect()
    }

    pub(super) fn is_settled(&self) -> bool {
        let pages = lock(&self.pages);
        pages.servers.values().all(|page| page.state.is_settled())
    }

    pub(super) fn availability(&self, name: &str) -> McpAvailability {
        let pages = lock(&self.pages);
        let Some(page) = pages.servers.get(name) else {
            return McpAvailability::Lost(None);
        };
        match (page.state, &page.link) {
            (McpState::Ready, Some(link)) => {
                McpAvailability::Ready(link.clone(), page.secrets.clone())
            }
            (McpState::GivenUp, _) => McpAvailability::Lost(page.error.clone()),
            (McpState::Ready | McpState::Connecting | McpState::Failed, _) => {
                McpAvailability::Coming(page.error.clone())
            }
        }
    }

    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }
}
