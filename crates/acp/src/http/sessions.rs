//! The session streams of a connection. The stream of a closed session is kept for a while, for a client that
//! reconnects for the answer, and then dropped.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use harn_model::SessionId;

use super::stream::MailboxStream;

/// How many streams of closed sessions are kept, the latest.
const CLOSED: usize = 16;

pub(super) struct SessionStreams {
    streams: HashMap<SessionId, Arc<MailboxStream>>,
    /// The closed sessions, the latest last.
    closed: VecDeque<SessionId>,
    most: usize,
}

impl SessionStreams {
    pub(super) fn new(most: usize) -> Self {
        Self {
            streams: HashMap::new(),
            closed: VecDeque::new(),
            most,
        }
    }

    pub(super) fn get(&self, session: &SessionId) -> Option<Arc<MailboxStream>> {
        self.streams.get(session).cloned()
    }

    /// Returns the stream of a session; none if there are too many.
    pub(super) fn get_or_open(&mut self, session: &SessionId) -> Option<Arc<MailboxStream>> {
        if let Some(stream) = self.get(session) {
            return Some(stream);
        }
        if self.streams.len() >= self.most {
            self.sweep(0);
        }
        if self.streams.len() >= self.most {
            return None;
        }
        let stream = Arc::new(MailboxStream::new(Some(session.clone())));
        self.streams.insert(session.clone(), stream.clone());
        Some(stream)
    }

    /// Marks a session as closed.
    pub(super) fn close(&mut self, session: SessionId) {
        if let Some(stream) = self.streams.get(&session) {
            stream.set_closed(true);
            self.closed.retain(|closed| *closed != session);
            self.closed.push_back(session);
            self.sweep(CLOSED);
        }
    }

    /// Drops closed streams that have no reader, except the latest `leave`.
    fn sweep(&mut self, leave: usize) {
        let Self {
            streams, closed, ..
        } = self;
        // Sessions that were opened again are no longer closed.
        closed.retain(|session| streams.get(session).is_some_and(|s| s.is_closed()));
        let mut spare = closed.len().saturating_sub(leave);
        closed.retain(|session| {
            let goes = spare > 0 && streams.get(session).is_some_and(|s| !s.is_read());
            if goes {
                spare -= 1;
                streams.remove(session);
            }
            !goes
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: usize) -> SessionId {
        format!("s{number}").as_str().into()
    }

    #[test]
    fn only_closed_sessions_without_a_reader_are_dropped() {
        let mut sessions = SessionStreams::new(3);
        let read = sessions.get_or_open(&id(0)).unwrap();
        let _reader = read.start_reader(None).unwrap();
        sessions.get_or_open(&id(1)).unwrap();
        let again = sessions.get_or_open(&id(2)).unwrap();
        assert!(sessions.get_or_open(&id(3)).is_none());
        for number in 0..3 {
            sessions.close(id(number));
        }
        again.set_closed(false);
        assert!(sessions.get_or_open(&id(3)).is_some(), "in the place of s1");
        assert!(sessions.get(&id(1)).is_none());
        assert!(sessions.get_or_open(&id(4)).is_none());
    }

    #[test]
    fn latest_closed_sessions_are_kept() {
        let mut sessions = SessionStreams::new(1000);
        for number in 0..100 {
            sessions.get_or_open(&id(number)).unwrap();
            sessions.close(id(number));
        }
        assert_eq!(sessions.streams.len(), CLOSED);
        assert!(sessions.get(&id(99)).is_some());
    }
}
