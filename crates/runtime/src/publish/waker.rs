//! Wakes the readers of a session at constant cost to the session task.
//!
//! The session task itself wakes a few readers, which is fastest for them. For many readers it spawns a
//! short-lived task, so that the session is not blocked; no such task exists between two wake-ups.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use tokio::{runtime::Handle, sync::watch};

pub(super) struct ReaderWaker {
    wake: watch::Sender<()>,
    /// Whether a waking task is spawned and has not started.
    due: AtomicBool,
}

/// A reader's subscription to wake-ups.
pub(super) struct WakeListener(watch::Receiver<()>);

/// The maximum number of readers that the session task wakes itself.
const FEW: usize = 8;

impl ReaderWaker {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            wake: watch::Sender::new(()),
            due: AtomicBool::new(false),
        })
    }

    pub(super) fn listener(&self) -> WakeListener {
        WakeListener(self.wake.subscribe())
    }

    /// Wakes all waiting readers, now or very soon.
    pub(super) fn wake_readers(self: &Arc<Self>) {
        if self.wake.receiver_count() <= FEW {
            return self.wake_all();
        }
        let Ok(runtime) = Handle::try_current() else {
            return self.wake_all();
        };
        // A task that has not started will also wake readers for this call.
        if !self.due.swap(true, Ordering::AcqRel) {
            let bell = self.clone();
            runtime.spawn(async move {
                bell.due.swap(false, Ordering::AcqRel);
                bell.wake_all();
            });
        }
    }

    fn wake_all(&self) {
        self.wake.send_modify(|()| ());
    }
}

impl WakeListener {
    /// Clears earlier wake-ups. The reader must check for events after this, not before.
    pub(super) fn reset(&mut self) {
        self.0.mark_unchanged();
    }

    /// Waits for a wake-up since [`Self::reset`]; returns false when there will be none. Cancel safe.
    pub(super) async fn wait_for_wake(&mut self) -> bool {
        self.0.changed().await.is_ok()
    }
}

#[cfg(test)]
mod tests {
    use std::{
        future::Future,
        pin::{Pin, pin},
        sync::atomic::AtomicUsize,
        task::{Context, Poll, Wake, Waker},
    };

    use super::*;

    #[derive(Default)]
    struct WakeCounter(AtomicUsize);

    impl Wake for WakeCounter {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    impl WakeCounter {
        fn get(&self) -> usize {
            self.0.load(Ordering::Relaxed)
        }
    }

    type Waiting = Pin<Box<dyn Future<Output = bool>>>;

    fn waiting_readers(
        bell: &Arc<ReaderWaker>,
        size: usize,
        count: &Arc<WakeCounter>,
    ) -> Vec<Waiting> {
        let waker = Waker::from(count.clone());
        let wait = |_| {
            let mut ear = bell.listener();
            let mut waiting: Waiting = Box::pin(async move { ear.wait_for_wake().await });
            assert!(poll(waiting.as_mut(), &waker).is_pending());
            waiting
        };
        (0..size).map(wait).collect()
    }

    fn poll(waiting: Pin<&mut dyn Future<Output = bool>>, waker: &Waker) -> Poll<bool> {
        waiting.poll(&mut Context::from_waker(waker))
    }

    fn alive_tasks() -> usize {
        Handle::current().metrics().num_alive_tasks()
    }

    #[tokio::test]
    async fn ring_wakes_few_readers_itself() {
        let (bell, count) = (ReaderWaker::new(), Arc::new(WakeCounter::default()));
        let _crowd = waiting_readers(&bell, FEW, &count);
        bell.wake_readers();
        assert_eq!(count.get(), FEW);
        assert_eq!(alive_tasks(), 0);
    }

    #[tokio::test]
    async fn ring_spawns_one_task_to_wake_many_readers() {
        let (bell, count) = (ReaderWaker::new(), Arc::new(WakeCounter::default()));
        let crowd = waiting_readers(&bell, 1000, &count);
        bell.wake_readers();
        bell.wake_readers();
        assert_eq!(count.get(), 0);
        assert_eq!(alive_tasks(), 1);
        tokio::task::yield_now().await;
        assert_eq!(count.get(), 1000);
        assert_eq!(alive_tasks(), 0, "nothing stays between two rings");
        for waiting in crowd {
            assert!(waiting.await);
        }
    }

    #[tokio::test]
    async fn listener_receives_a_ring_after_an_earlier_wake_up() {
        let (bell, count) = (ReaderWaker::new(), Arc::new(WakeCounter::default()));
        let _others = waiting_readers(&bell, 1000, &count);
        let mut ear = bell.listener();
        bell.wake_readers();
        tokio::task::yield_now().await;
        ear.reset();
        bell.wake_readers();
        let mut rung = pin!(ear.wait_for_wake());
        assert!(poll(rung.as_mut(), Waker::noop()).is_pending());
        tokio::task::yield_now().await;
        assert_eq!(poll(rung, Waker::noop()), Poll::Ready(true));
    }

    #[test]
    fn ring_wakes_many_readers_itself_without_a_runtime() {
        let (bell, count) = (ReaderWaker::new(), Arc::new(WakeCounter::default()));
        let _crowd = waiting_readers(&bell, 1000, &count);
        bell.wake_readers();
        assert_eq!(count.get(), 1000);
    }
}
