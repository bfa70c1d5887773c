//! The way to a session, kept open: when a connection is lost, another one is made after a while, and the
//! stream goes on behind the last event that came.

use std::{path::PathBuf, sync::Arc, time::Duration};

use harn_runtime::Clock;
use tokio::{task::JoinHandle, time::sleep};

use super::{
    address::{self, ServerAddress},
    talk::{AttachEvent, AttachProtocol, HEARTBEAT},
    wire::{AttachConnection, NoConnection},
};

pub(super) struct SessionLink {
    pub(super) talk: AttachProtocol,
    address: ServerAddress,
    /// Where else a server may be found that has the session now.
    state_dir: PathBuf,
    clock: Arc<dyn Clock>,
    state: ConnectionPhase,
    /// How often in a row there was no connection.
    pub(super) failed: u32,
    /// Whether to control the session when it is joined.
    pub(super) control: bool,
    /// When to say next that we are still there.
    beat: Duration,
    was_joined: bool,
    /// What happened besides the last thing that was told.
    untold: Option<LinkEvent>,
    /// Where to open the session again if no server has it open.
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
    /// It is lost, and tried again then; with the words that may not have arrived, and with what the server
    /// says, if one is there.
    Lost {
        again: Duration,
        unsure: Vec<String>,
        why: Option<String>,
    },
    /// It never came to be, and why.
    Failed(anyhow::Error),
    /// Something else that nobody has to know.
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
        // The end of a socket is noticed on both sides at once.
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

    /// What happens next. Cancel safe.
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
                    Ok(Err(why)) if !self.was_there() => LinkEvent::Failed(why.into()),
                    // A token that is refused now is refused later.
                    Ok(Err(why @ NoConnection::Token(_))) => LinkEvent::Failed(why.into()),
                    _ => self.lost(None),
                }
            }
            ConnectionPhase::Up(wire) => {
                let beat = self.beat.saturating_sub(self.clock.elapsed());
                tokio::select! {
                    line = wire.next() => match line {
                        Some(line) => self.heard(&line),
                        None => self.lost(None),
                    },
                    () = sleep(beat) => {
                        self.talk.heartbeat();
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
        Some(self.heard(&line))
    }

    fn heard(&mut self, line: &str) -> LinkEvent {
        let Some(heard) = self.talk.hear(line) else {
            return self.flush();
        };
        match heard {
            AttachEvent::Joined(_) => {
                self.was_joined = true;
                self.failed = 0;
                self.beat = self.next_beat();
            }
            AttachEvent::Failed(why) => return self.refused(why),
            _ => {}
        }
        // What was heard counts, also when it was the last thing.
        match self.flush() {
            LinkEvent::Nothing => {}
            lost => self.untold = Some(lost),
        }
        LinkEvent::Heard(heard)
    }

    /// There is no joining, here and now.
    fn refused(&mut self, why: String) -> LinkEvent {
        // The server was started again, or it is another one.
        match &self.reopen {
            _ if !self.was_joined => LinkEvent::Failed(anyhow::Error::msg(why)),
            Some(cwd) => {
                self.talk.reopen(cwd.clone());
                self.lost(None)
            }
            None => self.lost(Some(why)),
        }
    }

    /// Whether anything of the session has come, so that it is worth coming back.
    fn was_there(&self) -> bool {
        self.was_joined || self.talk.begun
    }

    fn next_beat(&self) -> Duration {
        self.clock.elapsed() + Duration::from_secs(HEARTBEAT)
    }

    fn connect(&mut self) {
        // The server may have been started again, and has another socket then.
        let mut addresses = vec![self.address.clone()];
        if let (ServerAddress::Socket(_), true) = (&self.address, self.was_there()) {
            addresses.extend(address::sockets(&self.state_dir));
        }
        // One that answers need not be the one that has it; one that is dead only takes time.
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

    fn lost(&mut self, why: Option<String>) -> LinkEvent {
        const FIRST: Duration = Duration::from_millis(100);
        const LONGEST: Duration = Duration::from_secs(5);
        let wait = FIRST.saturating_mul(1 << self.failed.min(10)).min(LONGEST);
        self.failed = self.failed.saturating_add(1);
        let again = self.clock.elapsed() + wait;
        self.state = ConnectionPhase::Down { again };
        self.beat = Duration::MAX;
        if !self.was_there() {
            let gone = NoConnection::Nobody(self.address.to_string());
            return LinkEvent::Failed(gone.into());
        }
        let unsure = self.talk.forget_sent();
        LinkEvent::Lost { again, unsure, why }
    }

    /// Sends what is to be sent.
    pub(super) fn flush(&mut self) -> LinkEvent {
        let lines = self.talk.take_lines();
        let ConnectionPhase::Up(wire) = &self.state else {
            return LinkEvent::Nothing;
        };
        match lines.into_iter().all(|line| wire.send(line)) {
            true => LinkEvent::Nothing,
            false => self.lost(None),
        }
    }

    /// Says goodbye, if somebody is there to hear it.
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
