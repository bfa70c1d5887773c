//! Gates: what must not overtake an answer waits until that answer stands in the writer's queue.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Mutex, MutexGuard, PoisonError},
};

use agent_client_protocol::{RawJsonRpcId, RawJsonRpcMessage};
use harn_model::{Control, ControlOutcome, SessionId};
use tokio::sync::oneshot;

use crate::{
    route::{named, params},
    transport::Followed,
};

/// Answers somebody waits behind, by request id; and our own questions, by the call that they name.
#[derive(Default)]
pub(crate) struct Gates {
    waiting: Mutex<HashMap<RawJsonRpcId, Closed>>,
    questions: Mutex<HashMap<(SessionId, String), Asking>>,
}

/// A question on its way to the queue.
pub(crate) struct Asking {
    open: oneshot::Sender<()>,
    stream: Option<Followed>,
}

impl Asking {
    /// The following that asks, for a question that has its place in the stream.
    pub(crate) fn stream(&self) -> Option<Followed> {
        self.stream
    }

    /// It is queued.
    pub(crate) fn open(self) {
        // Nobody may be waiting any more.
        let _ = self.open.send(());
    }
}

struct Closed {
    open: oneshot::Sender<()>,
    /// Whether the answer may overtake what waits to be written.
    ahead: bool,
}

/// Opens when its answer is queued.
pub(crate) struct Gate(oneshot::Receiver<()>);

impl Gates {
    /// A gate behind the answer to this request. Made before the answer is given.
    pub(crate) fn behind(&self, id: &RawJsonRpcId) -> Gate {
        self.close(id, false)
    }

    /// The same, behind an answer that overtakes the updates which wait to be written: what comes of the
    /// request comes behind the gate, and who steers a turn need not wait for what it said before.
    pub(crate) fn behind_at_once(&self, id: &RawJsonRpcId) -> Gate {
        self.close(id, true)
    }

    fn close(&self, id: &RawJsonRpcId, ahead: bool) -> Gate {
        let (open, gate) = oneshot::channel();
        self.lock().insert(id.clone(), Closed { open, ahead });
        Gate(gate)
    }

    /// Whether the answer to this request overtakes updates.
    pub(crate) fn is_ahead(&self, id: &RawJsonRpcId) -> bool {
        self.lock().get(id).is_some_and(|closed| closed.ahead)
    }

    /// The answer to this request is queued.
    pub(crate) fn open(&self, id: &RawJsonRpcId) {
        if let Some(closed) = self.lock().remove(id) {
            // Nobody may be waiting any more.
            let _ = closed.open.send(());
        }
    }

    /// A gate behind a permission request of ours about this call. Made before the request is sent.
    pub(crate) fn behind_question(
        &self,
        session: &SessionId,
        call: &str,
        stream: Option<Followed>,
    ) -> Gate {
        let (open, gate) = oneshot::channel();
        let asking = Asking { open, stream };
        self.questions()
            .insert((session.clone(), call.to_owned()), asking);
        Gate(gate)
    }

    /// The question that this message is, if somebody waits behind it.
    pub(crate) fn question(&self, message: &RawJsonRpcMessage) -> Option<Asking> {
        let RawJsonRpcMessage::Request(request) = message else {
            return None;
        };
        let call = params(request.params.as_ref())?.get("toolCall")?;
        let call = call.get("toolCallId")?.as_str()?.to_owned();
        let session = named(request.params.as_ref())?;
        self.questions().remove(&(session, call))
    }

    fn questions(&self) -> MutexGuard<'_, HashMap<(SessionId, String), Asking>> {
        self.questions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RawJsonRpcId, Closed>> {
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

/// A control that was asked for, as far as it is known before it has been dealt with.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Asked {
    control: Control,
    target: Option<String>,
}

impl Asked {
    pub(crate) fn new(control: Control, target: Option<&str>) -> Self {
        let target = target.filter(|_| control != Control::Remind);
        Self {
            control,
            target: target.map(str::to_owned),
        }
    }

    /// The same from its outcome. The id of a reminder may not have been known when it was asked for.
    pub(crate) fn of(outcome: &ControlOutcome) -> Self {
        let target = &outcome.target;
        let target = match outcome.control {
            Control::Inject | Control::RevokeInject | Control::ReplaceInject => {
                target.message_id.as_ref().map(|id| id.as_str())
            }
            Control::RevokeReminder => target.reminder_id.as_deref(),
            Control::Cancel => target.turn_id.as_ref().map(|id| id.as_str()),
            Control::Remind => None,
        };
        Self::new(outcome.control, target)
    }
}

/// Controls whose outcome is not told before their request has its answer, the oldest first. Another
/// client's may be taken for one of them where both want the same; then it waits too, which does no harm.
#[derive(Default)]
pub(crate) struct Unanswered(HashMap<Asked, VecDeque<Gate>>);

impl Unanswered {
    pub(crate) fn hold(&mut self, asked: Asked, gate: Gate) {
        self.0.entry(asked).or_default().push_back(gate);
    }

    /// The one that was held last has no outcome.
    pub(crate) fn release(&mut self, asked: &Asked) -> Option<Gate> {
        let gate = self.0.get_mut(asked).and_then(VecDeque::pop_back);
        self.0.retain(|_, gates| !gates.is_empty());
        gate
    }

    /// What the outcome of this waits for.
    pub(crate) fn take(&mut self, asked: &Asked) -> Option<Gate> {
        let gates = self.0.get_mut(asked)?;
        let gate = gates.pop_front();
        if gates.is_empty() {
            self.0.remove(asked);
        }
        gate
    }

    pub(crate) fn extend(&mut self, earlier: Self) {
        for (asked, gates) in earlier.0 {
            self.0.entry(asked).or_default().extend(gates);
        }
    }
}
