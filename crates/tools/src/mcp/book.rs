//! What is known of the servers of a session, and who hears of changes.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard},
};

use harn_model::{McpServerSpec, McpServerStatus, McpState};
use tokio::sync::watch;
use tokio_util::sync::DropGuard;

use super::{
    catalogue::{Catalogue, catalogue},
    link::Link,
    listing::Offered,
    redact::Secrets,
};
use crate::lock::lock;

/// The servers of a session.
#[derive(Default)]
pub(super) struct Book {
    pages: Mutex<Pages>,
    changes: watch::Sender<u64>,
}

#[derive(Default)]
struct Pages {
    closed: bool,
    /// How many servers there have been.
    issued: u64,
    servers: BTreeMap<String, Page>,
    catalogue: Arc<Catalogue>,
}

pub(super) struct Page {
    pub(super) spec: McpServerSpec,
    pub(super) state: McpState,
    pub(super) error: Option<String>,
    /// What it offers, or did when it was last there; unknown before, and once it was given up.
    pub(super) tools: Option<Arc<[Offered]>>,
    /// How to ask it, while it is ready.
    pub(super) link: Option<Link>,
    ticket: u64,
    _task: DropGuard,
}

/// Which server a task is for; one that came later under the same name is another.
#[derive(Clone, Debug)]
pub(super) struct Ticket {
    name: String,
    number: u64,
}

/// How a server can be asked.
pub(super) enum Standing {
    Ready(Link),
    /// It may come, or come back.
    Coming(Option<String>),
    /// It will not.
    Lost(Option<String>),
}

impl Book {
    /// Whether a server is there already in the same way, and not given up.
    pub(super) fn has(&self, spec: &McpServerSpec) -> bool {
        let pages = lock(&self.pages);
        let page = pages.servers.get(&spec.name);
        page.is_some_and(|page| page.spec == *spec && page.state != McpState::GivenUp)
    }

    /// Puts a server in, in the place of one of its name. None is taken once the book is closed.
    pub(super) fn put(&self, spec: McpServerSpec, task: DropGuard) -> Option<Ticket> {
        let mut pages = lock(&self.pages);
        if pages.closed {
            return None;
        }
        pages.issued += 1;
        let ticket = Ticket {
            name: spec.name.clone(),
            number: pages.issued,
        };
        let page = Page {
            spec,
            state: McpState::Connecting,
            error: None,
            tools: None,
            link: None,
            ticket: ticket.number,
            _task: task,
        };
        pages.servers.insert(ticket.name.clone(), page);
        self.changed(pages);
        Some(ticket)
    }

    pub(super) fn remove(&self, name: &str) {
        let mut pages = lock(&self.pages);
        if pages.servers.remove(name).is_some() {
            self.changed(pages);
        }
    }

    /// Removes all, and takes no more.
    pub(super) fn close(&self) {
        let mut pages = lock(&self.pages);
        pages.closed = true;
        pages.servers.clear();
        self.changed(pages);
    }

    /// Changes the page of a server, unless another has its place.
    pub(super) fn update(&self, ticket: &Ticket, change: impl FnOnce(&mut Page)) {
        let mut pages = lock(&self.pages);
        let page = pages.servers.get_mut(&ticket.name);
        if let Some(page) = page.filter(|page| page.ticket == ticket.number) {
            change(page);
            self.changed(pages);
        }
    }

    fn changed(&self, mut pages: MutexGuard<'_, Pages>) {
        let servers = pages.servers.iter();
        let offered =
            servers.map(|(name, page)| (name.as_str(), page.tools.as_deref().unwrap_or_default()));
        pages.catalogue = Arc::new(catalogue(offered));
        drop(pages);
        self.changes.send_modify(|count| *count += 1);
    }

    pub(super) fn catalogue(&self) -> Arc<Catalogue> {
        lock(&self.pages).catalogue.clone()
    }

    pub(super) fn statuses(&self) -> Vec<McpServerStatus> {
        let pages = lock(&self.pages);
        let status = |(name, page): (&String, &Page)| McpServerStatus {
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

    pub(super) fn standing(&self, name: &str) -> Standing {
        let pages = lock(&self.pages);
        let Some(page) = pages.servers.get(name) else {
            return Standing::Lost(None);
        };
        match (page.state, &page.link) {
            (McpState::Ready, Some(link)) => Standing::Ready(link.clone()),
            (McpState::GivenUp, _) => Standing::Lost(page.error.clone()),
            (McpState::Ready | McpState::Connecting | McpState::Failed, _) => {
                Standing::Coming(page.error.clone())
            }
        }
    }

    /// What must not be told of a server.
    pub(super) fn secrets(&self, name: &str) -> Secrets {
        let pages = lock(&self.pages);
        let page = pages.servers.get(name);
        page.map(|page| Secrets::of(&page.spec)).unwrap_or_default()
    }

    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }
}
