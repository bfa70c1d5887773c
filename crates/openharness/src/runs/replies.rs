//! Requests by id: a repeated request is carried out once and gets the same response. The cache is bounded in
//! number and bytes and drops the oldest answered requests first. The journal still has the dropped ones.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use harn_model::{Principal, Timestamp};
use tokio::sync::watch;

use super::run::{ActiveRun, WaitCondition};
use crate::{continuation::RunCursor, error::OpenHarnessError, report::RunReport};

/// Requests by principal and id.
#[derive(Default)]
pub(super) struct ReplyCache {
    table: Mutex<ReplyTable>,
}

#[derive(Default)]
struct ReplyTable {
    requests: HashMap<RequestKey, ReplyEntry>,
    /// The answered requests and the open ones, oldest first.
    answered: BTreeMap<u64, RequestKey>,
    open: BTreeMap<u64, RequestKey>,
    entered: u64,
    bytes: usize,
}

#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct RequestKey {
    principal: Principal,
    request_id: Arc<str>,
}

struct ReplyEntry {
    order: u64,
    digest: String,
    slot: Arc<RequestStartSlot>,
    reply: Option<Arc<CachedReply>>,
    bytes: usize,
}

pub(super) struct CachedReply {
    pub(super) told: RunReport,
    pub(super) at: Timestamp,
}

/// What a request started, once that is known.
pub(super) struct RequestStartSlot {
    begun: watch::Sender<Option<Result<RequestStart, OpenHarnessError>>>,
}

/// What a request started, and what to wait for.
#[derive(Clone)]
pub(super) struct RequestStart {
    pub(super) place: RunCursor,
    pub(super) until: WaitCondition,
    /// The run, while it is in progress or in use.
    pub(super) run: Weak<ActiveRun>,
    /// Whether repeats of the request get this response; false if nothing was done yet.
    pub(super) kept: bool,
}

/// Whether a request is new or a repeat.
pub(super) enum RequestAdmission {
    /// The id is new.
    First(RequestKey, Arc<RequestStartSlot>),
    /// A repeat before the response.
    Again(RequestKey, Arc<RequestStartSlot>),
    /// A repeat after the response.
    Answered(Arc<CachedReply>),
    /// The id was used for another request.
    Conflict,
}

const MOST: usize = 4096;
const MOST_BYTES: usize = 64 * 1024 * 1024;
/// The approximate size of an entry without its response.
const ENTRY: usize = 512;

impl ReplyCache {
    pub(super) fn admit(
        &self,
        principal: &Principal,
        request_id: &str,
        digest: &str,
    ) -> RequestAdmission {
        let key = RequestKey {
            principal: principal.clone(),
            request_id: request_id.into(),
        };
        let mut table = self.table();
        if let Some(entry) = table.requests.get(&key) {
            return match &entry.reply {
                _ if entry.digest != digest => RequestAdmission::Conflict,
                Some(reply) => RequestAdmission::Answered(reply.clone()),
                None => RequestAdmission::Again(key, entry.slot.clone()),
            };
        }
        let slot = RequestStartSlot::new();
        table.entered += 1;
        let order = table.entered;
        let bytes = ENTRY + request_id.len();
        let entry = ReplyEntry {
            order,
            digest: digest.to_owned(),
            slot: slot.clone(),
            reply: None,
            bytes,
        };
        table.requests.insert(key.clone(), entry);
        table.open.insert(order, key.clone());
        table.bytes += bytes;
        table.shrink();
        RequestAdmission::First(key, slot)
    }

    /// Stores a response. The first one stays.
    pub(super) fn store(
        &self,
        key: &RequestKey,
        slot: &Arc<RequestStartSlot>,
        reply: CachedReply,
        bytes: usize,
    ) {
        let mut table = self.table();
        let table = &mut *table;
        let entry = table.requests.get_mut(key);
        if let Some(entry) = entry.filter(|it| Arc::ptr_eq(&it.slot, slot) && it.reply.is_none()) {
            entry.reply = Some(Arc::new(reply));
            entry.bytes += bytes;
            table.bytes += bytes;
            table.open.remove(&entry.order);
            table.answered.insert(entry.order, key.clone());
            table.shrink();
        }
    }

    /// Removes a request that had no effect, so that it may be sent again.
    pub(super) fn forget(&self, key: &RequestKey, slot: &Arc<RequestStartSlot>) {
        let mut table = self.table();
        let same = |entry: &&ReplyEntry| Arc::ptr_eq(&entry.slot, slot);
        if table.requests.get(key).filter(same).is_some() {
            table.remove(key);
        }
    }

    fn table(&self) -> MutexGuard<'_, ReplyTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ReplyTable {
    fn shrink(&mut self) {
        while self.requests.len() > MOST || self.bytes > MOST_BYTES {
            let oldest = self.answered.values().next();
            let Some(oldest) = oldest.or_else(|| self.open.values().next()).cloned() else {
                return;
            };
            self.remove(&oldest);
        }
    }

    fn remove(&mut self, key: &RequestKey) {
        if let Some(entry) = self.requests.remove(key) {
            self.answered.remove(&entry.order);
            self.open.remove(&entry.order);
            self.bytes -= entry.bytes;
        }
    }
}

impl RequestStartSlot {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            begun: watch::Sender::new(None),
        })
    }

    pub(super) fn set_start(&self, begun: Result<RequestStart, OpenHarnessError>) {
        self.begun.send_replace(Some(begun));
    }

    /// Waits until the start of the request is known. Cancel safe.
    pub(super) async fn wait_for_start(&self) -> Result<RequestStart, OpenHarnessError> {
        let mut begun = self.begun.subscribe();
        match begun.wait_for(Option::is_some).await.as_deref() {
            Ok(Some(begun)) => begun.clone(),
            Ok(None) | Err(_) => Err(OpenHarnessError::Unavailable),
        }
    }
}

#[cfg(test)]
mod tests;
