//! A stopwatch around the work of a session's task for one batch, from the beginning of the append until it
//! reports to the agent that the batch is written.
//!
//! Both ends are on the session's own thread with no wait between them: the task reads the clock for a batch,
//! and it wakes the waiter of the flush. The delay until other tasks run is not included.

use std::{
    future::{Future, poll_fn},
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Wake, Waker},
    time::{Duration, Instant},
};

use harn_runtime::Clock;

/// Counts nanoseconds since its creation. Shared by the hub, as its clock, and the agent.
pub(crate) struct Gauge {
    zero: Instant,
    begun: AtomicU64,
    done: AtomicU64,
}

impl Gauge {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            zero: Instant::now(),
            begun: AtomicU64::new(0),
            done: AtomicU64::new(0),
        })
    }

    /// Waits for a flush. Returns the seconds of its batch, unless the task began before the flush was
    /// requested: then part of the time would be the agent's.
    pub(crate) async fn time<T>(
        self: &Arc<Self>,
        flush: impl Future<Output = T>,
    ) -> (T, Option<f64>) {
        let mut flush = pin!(flush);
        let mut asked = None;
        let out = poll_fn(|context| {
            let tap = Waker::from(Arc::new(Tap {
                gauge: self.clone(),
                waker: context.waker().clone(),
            }));
            let poll = flush.as_mut().poll(&mut Context::from_waker(&tap));
            asked.get_or_insert_with(|| self.nanos_since_creation());
            poll
        })
        .await;
        let begun = self.begun.load(Ordering::Acquire);
        let done = self.done.load(Ordering::Acquire);
        let whole = asked.is_some_and(|asked| asked <= begun) && begun < done;
        (out, whole.then(|| (done - begun) as f64 / 1e9))
    }

    fn nanos_since_creation(&self) -> u64 {
        u64::try_from(self.zero.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

impl Clock for Gauge {
    fn now(&self) -> u64 {
        self.begun
            .store(self.nanos_since_creation(), Ordering::Release);
        0
    }

    fn elapsed(&self) -> Duration {
        self.zero.elapsed()
    }
}

/// Records the moment at which the session's task wakes the agent.
struct Tap {
    gauge: Arc<Gauge>,
    waker: Waker,
}

impl Wake for Tap {
    fn wake(self: Arc<Self>) {
        self.gauge
            .done
            .store(self.gauge.nanos_since_creation(), Ordering::Release);
        self.waker.wake_by_ref();
    }
}
