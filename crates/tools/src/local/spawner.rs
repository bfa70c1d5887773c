//! Starts every child process from one thread that lives as long as this process.
//!
//! The sandbox's helper asks the kernel to end it together with its parent. To the kernel, the parent is the thread
//! that started it, and threads of an async runtime may end earlier than the process.

use std::{
    io,
    sync::{
        Mutex,
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread,
};

use tokio::{
    process::{Child, Command},
    runtime::Handle,
};

use crate::lock::lock;

/// A command to start, for the thread.
struct SpawnRequest {
    command: Command,
    /// The runtime that reaps the child.
    runtime: Handle,
    started: SyncSender<io::Result<Child>>,
}

static SPAWNER: Mutex<Option<SyncSender<SpawnRequest>>> = Mutex::new(None);

/// Starts a command; blocks for as long as the system needs to start a program. Needs a runtime.
pub(super) fn spawn(command: Command) -> io::Result<Child> {
    let runtime = Handle::try_current().map_err(io::Error::other)?;
    let (started, has_started) = sync_channel(1);
    let request = SpawnRequest {
        command,
        runtime,
        started,
    };
    let gone = || io::Error::other("the thread that starts programs has ended");
    spawner()?.send(request).map_err(|_| gone())?;
    has_started.recv().map_err(|_| gone())?
}

/// Returns the way to the thread, which begins with the first command.
fn spawner() -> io::Result<SyncSender<SpawnRequest>> {
    let mut spawner = lock(&SPAWNER);
    if let Some(spawner) = &*spawner {
        return Ok(spawner.clone());
    }
    let (requests, queue) = sync_channel(1);
    let thread = thread::Builder::new().name("harn-spawn".to_owned());
    thread.spawn(move || run(&queue))?;
    *spawner = Some(requests.clone());
    Ok(requests)
}

fn run(queue: &Receiver<SpawnRequest>) {
    while let Ok(request) = queue.recv() {
        let SpawnRequest {
            mut command,
            runtime,
            started,
        } = request;
        let _entered = runtime.enter();
        let child = command.spawn();
        // Drop the command now: its pipes must close with the child.
        drop(command);
        // Whoever asked may have panicked; then the child is dropped and reaped.
        let _ = started.send(child);
    }
}
