//! Gates: what must not overtake an answer waits until that answer stands in the writer's queue.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use agent_client_protocol::RawJsonRpcId;
use tokio::sync::oneshot;

/// Answers somebody waits behind, by request id.
#[derive(Default)]
pub(crate) struct Gates {
    waiting: Mutex<HashMap<RawJsonRpcId, oneshot::Sender<()>>>,
}

/// Opens when its answer is queued.
pub(crate) struct Gate(oneshot::Receiver<()>);

impl Gates {
    /// A gate behind the answer to this request. Made before the answer is given.
    pub(crate) fn behind(&self, id: &RawJsonRpcId) -> Gate {
        let (open, gate) = oneshot::channel();
        self.lock().insert(id.clone(), open);
        Gate(gate)
    }

    /// The answer to this request is queued.
    pub(crate) fn open(&self, id: &RawJsonRpcId) {
        if let Some(open) = self.lock().remove(id) {
            // Nobody may be waiting any more.
            let _ = open.send(());
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RawJsonRpcId, oneshot::Sender<()>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Gate {
    /// Waits for the answer to be queued, or for the connection to end.
    pub(crate) async fn passed(self) {
        // An error means that the answer will never come because the connection is gone.
        let _ = self.0.await;
    }
}
