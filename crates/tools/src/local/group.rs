//! Process groups of this machine: each command leads one, and none outlives its owner.
//!
//! A leader stays unreaped until its group was killed, so that its number cannot belong to another process when the
//! signal is sent.
//! Hand-written because crates for child processes do not guarantee that order.

use std::{
    collections::HashSet,
    io,
    sync::{Arc, Mutex},
    time::Duration,
};

use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitIdStatus, kill_process_group, waitid,
};
use tokio::{
    process::{Child, Command},
    runtime::Handle,
    signal::unix::{SignalKind, signal},
};

use super::spawner;
use crate::lock::lock;

/// The time between the request to end a group and its kill.
const GRACE: Duration = Duration::from_millis(250);

/// The running process groups.
#[derive(Clone, Default)]
pub(crate) struct ProcessGroups {
    live: Arc<Mutex<LiveGroups>>,
}

#[derive(Default)]
struct LiveGroups {
    closed: bool,
    ids: HashSet<Pid>,
}

impl ProcessGroups {
    /// Starts a command as the leader of its own group.
    pub(crate) fn spawn(&self, mut command: Command) -> io::Result<ProcessGroup> {
        command.process_group(0);
        // Locked while the command starts: `end_all` must not miss it.
        let mut live = lock(&self.live);
        if live.closed {
            return Err(io::Error::other("this process is shutting down"));
        }
        let child = spawner::spawn(command)?;
        let id = child.id().and_then(|id| Pid::from_raw(id.try_into().ok()?));
        let id = id.ok_or_else(|| io::Error::other("the command has no process id"))?;
        live.ids.insert(id);
        drop(live);
        let groups = self.clone();
        Ok(ProcessGroup {
            id,
            leader: Some(GroupLeader {
                id,
                groups,
                _child: child,
            }),
        })
    }

    /// Kills all groups and prevents new ones.
    pub(super) fn end_all(&self) {
        let mut live = lock(&self.live);
        live.closed = true;
        for id in &live.ids {
            kill(*id, Signal::KILL);
        }
    }
}

/// A running group. Dropping it sends SIGTERM at once and SIGKILL after a delay, in the background.
pub(crate) struct ProcessGroup {
    id: Pid,
    leader: Option<GroupLeader>,
}

impl ProcessGroup {
    /// Waits for the leader to exit, and leaves it unreaped.
    pub(crate) async fn wait_for_exit(&self) -> io::Result<WaitIdStatus> {
        // Subscribes before the first check, so that no exit is missed.
        let mut children = signal(SignalKind::child())?;
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        loop {
            if let Some(status) = waitid(WaitId::Pid(self.id), look)? {
                return Ok(status);
            }
            if children.recv().await.is_none() {
                return Err(io::Error::other("this process is shutting down"));
            }
        }
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        kill(self.id, Signal::TERM);
        let leader = self.leader.take();
        // Without a runtime no task can wait; the leader is dropped, and its group killed, now. A runtime that
        // shuts down drops the task, with the same effect.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async move {
                tokio::time::sleep(GRACE).await;
                drop(leader);
            });
        }
    }
}

/// The leader of a group. Dropping it kills the whole group; then tokio reaps it.
struct GroupLeader {
    id: Pid,
    groups: ProcessGroups,
    _child: Child,
}

impl Drop for GroupLeader {
    fn drop(&mut self) {
        kill(self.id, Signal::KILL);
        lock(&self.groups.live).ids.remove(&self.id);
    }
}

fn kill(group: Pid, signal: Signal) {
    // Fails only if the group is empty, which is the goal.
    let _ = kill_process_group(group, signal);
}
