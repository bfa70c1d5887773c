//! A connection to a session that is kept open: after a loss it reconnects with a delay, and the stream
//! continues after the last event that arrived.

use std::{path::PathBuf, sync::Arc, time::Duration};

use harn_runtime::Clock;
use tokio::{task::JoinHandle, time::sleep};

use super::{
    address::{self, ServerAddress},
    connection::{AttachConnection, NoConnection},
    protocol::{AttachEvent, AttachProtocol, HEARTBEAT},
};

pub(super) struct SessionLink {
    pub(super) talk: AttachProtocol,
    address: ServerAddress,
    /// The directory with the sockets of other servers that may have the session now.
    state_dir: PathBuf,
    clock: Arc<dyn Clock>,
    state: ConnectionPhase,
    /// The number of failed attempts in a row.
    pub(super) failed: u32,
    /// Whether to become the controller when joining.
    pub(super) control: bool,
    /// The time of the next heartbeat.
    beat: Duration,
    was_joined: bool,
    /// An event that follows the one that was returned last.
    untold: Option<LinkEvent>,
    /// The directory in which to load the session if no server has it open.
    pub(super) reopen: Option<PathBuf>,
}

enum ConnectionPhase {
    Down { again: Duration },
    Connecting(JoinHandle<Result<AttachConnection, NoConnection>>),
    Up(AttachConnection),
}

#[derive(Debug)]
pub(super) enum LinkEvent {
    Heard(AttachEvent),
    /// The connection is lost; the next attempt is at `again`. `unsure` has the messages that may not have
    /// arrived, `why` the reason if a server gave one.
    Lost {
        again: Duration,
        unsure: Vec<String>,
        why: Option<String>,
    },
    /// The session could not be joined.
    Failed(anyhow::Error),
    /// Nothing that the caller must handle.
    Nothing,
}

impl SessionLink {
    pub(super) fn new(
        mut talk: AttachProtocol,
        address: ServerAddress,
        state_dir: PathBuf,
        clock: Arc<dyn Clock>,
        control: bool,
    ) -> Self {
        // Both sides notice the end of a local socket at once, so it needs no heartbeats.
        talk.promises = matches!(address, ServerAddress::Url(_));
        Self {
            talk,
            address,
            state_dir,
            clock,
            state: ConnectionPhase::Down {
                again: Duration::ZERO,
            },
            failed: 0,
            control,
            beat: Duration::MAX,
            was_joined: false,
            untold: None,
            reopen: None,
        }
    }

    /// Waits for the next event. Cancel safe.
    pub(super) async fn next(&mut self) -> LinkEvent {
        if let Some(step) = self.untold.take() {
            return step;
        }
        match &mut self.state {
            ConnectionPhase::Down { again } => {
                let left = again.saturating_sub(self.clock.elapsed());
                sleep(left).await;
                self.connect();
                LinkEvent::Nothing
            }
            ConnectionPhase::Connecting(connecting) => {
                let connected = connecting.await;
                match connected {
                    Ok(Ok(wire)) => {
                        self.state = ConnectionPhase::Up(wire);
                        self.talk.begin(self.control);
                        self.flush()
                    }
                    Ok(Err(why)) if !self.has_begun() => LinkEvent::Failed(why.into()),
                    // A rejected token stays rejected.
                    Ok(Err(why @ NoConnection::Token(_))) => LinkEvent::Failed(why.into()),
                    _ => self.handle_loss(None),
                }
            }
            ConnectionPhase::Up(wire) => {
                let beat = self.beat.saturating_sub(self.clock.elapsed());
                tokio::select! {
                    line = wire.next() => match line {
                        Some(line) => self.handle_line(&line),
                        None => self.handle_loss(None),
                    },
                    () = sleep(beat) => {
                        self.talk.send_heartbeat();
                        self.beat = self.next_beat();
                        self.flush()
                    }
                }
            }
        }
    }

    pub(super) fn try_next(&mut self) -> Option<LinkEvent> {
        let ConnectionPhase::Up(wire) = &mut self.state else {
            return None;
        };
        let line = wire.try_next()?;
        Some(self.handle_line(&line))
    }

    fn handle_line(&mut self, line: &str) -> LinkEvent {
        let Some(heard) = self.talk.handle_line(line) else {
            return self.flush();
        };
        match heard {
            AttachEvent::Joined(_) => {
                self.was_joined = true;
                self.failed = 0;
                self.beat = self.next_beat();
            }
            AttachEvent::Failed(why) => return self.handle_rejection(why),
            _ => {}
        }
        // A received event is returned even if the connection is lost after it.
        match self.flush() {
            LinkEvent::Nothing => {}
            lost => self.untold = Some(lost),
        }
        LinkEvent::Heard(heard)
    }

    /// Handles a rejected join.
    fn handle_rejection(&mut self, why: String) -> LinkEvent {
        // The server restarted, or it is another one.
        match &self.reopen {
            _ if !self.was_joined => LinkEvent::Failed(anyhow::Error::msg(why)),
            Some(cwd) => {
                self.talk.reopen(cwd.clone());
                self.handle_loss(None)
            }
            None => self.handle_loss(Some(why)),
        }
    }

    /// Returns whether any part of the session arrived, so that reconnecting makes sense.
    fn has_begun(&self) -> bool {
        self.was_joined || self.talk.begun
    }

    fn next_beat(&self) -> Duration {
        self.clock.elapsed() + Duration::from_secs(HEARTBEAT)
    }

    fn connect(&mut self) {
        // A restarted server has another socket.
        let mut addresses = vec![self.address.clone()];
        if let (ServerAddress::Socket(_), true) = (&self.address, self.has_begun()) {
            addresses.extend(address::list_sockets(&self.state_dir));
        }
        // A server that answers may not have the session, so each attempt begins with another address. A dead
        // socket only costs time.
        let at = self.failed as usize % addresses.len();
        addresses.rotate_left(at);
        let nobody = NoConnection::Nobody(self.address.to_string());
        let connecting = tokio::spawn(async move {
            let mut found = Err(nobody);
            for address in addresses {
                found = AttachConnection::connect(&address).await;
                if found.is_ok() {
                    break;
                }
            }
            found
        });
        self.state = ConnectionPhase::Connecting(connecting);
    }

    fn handle_loss(&mut self, why: Option<String>) -> LinkEvent {
        const FIRST: Duration = Duration::from_millis(100);
        const LONGEST: Duration = Duration::from_secs(5);
        let wait = FIRST.saturating_mul(1 << self.failed.min(10)).min(LONGEST);
        self.failed = self.failed.saturating_add(1);
        let again = self.clock.elapsed() + wait;
        self.state = ConnectionPhase::Down { again };
        self.beat = Duration::MAX;
        if !self.has_begun() {
            let gone = NoConnection::Nobody(self.address.to_string());
            return LinkEvent::Failed(gone.into());
        }
        let unsure = self.talk.forget_sent();
        LinkEvent::Lost { again, unsure, why }
    }

    /// Sends the queued lines.
    pub(super) fn flush(&mut self) -> LinkEvent {
        let lines = self.talk.take_lines();
        let ConnectionPhase::Up(wire) = &self.state else {
            return LinkEvent::Nothing;
        };
        match lines.into_iter().all(|line| wire.send(line)) {
            true => LinkEvent::Nothing,
            false => self.handle_loss(None),
        }
    }

    /// Detaches if joined, and closes the connection.
    pub(super) async fn close(mut self) {
        if self.talk.joined {
            self.talk.detach();
            self.flush();
        }
        if let ConnectionPhase::Up(wire) = self.state {
            wire.close().await;
        }
    }
}

#[cfg(test)]
mod tests;
