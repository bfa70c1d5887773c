//! Lines in and bytes out, whatever carries them: those of [`harn_lines`], each piece with the session it is
//! about.

mod follow;

use bytes::Bytes;
use harn_lines::{Line, Parcel};
use harn_model::SessionId;

pub use follow::{Followed, NotFollowed, Refollow};
pub use harn_lines::{
    Disconnected, Limits, STDIO_LINE_LIMIT, read_lines, read_lines_from, write_chunks, write_pieces,
};

/// The way to a client.
pub type Outgoing = harn_lines::Outgoing<Piece>;
/// The writing end of it.
pub type OutgoingReceiver = harn_lines::OutgoingReceiver<Piece>;

/// A queue of bytes to write, bounded as for stdio.
#[must_use]
pub fn outgoing() -> (Outgoing, OutgoingReceiver) {
    harn_lines::outgoing()
}

/// A queue of bytes to write, bounded.
#[must_use]
pub fn outgoing_of(limits: Limits) -> (Outgoing, OutgoingReceiver) {
    harn_lines::outgoing_of(limits)
}

/// A line from the client, or what came in its place.
#[derive(Debug, PartialEq, Eq)]
pub enum Incoming {
    /// A line, without its end.
    Line(String),
    /// A line longer than allowed; it was skipped.
    TooLong {
        /// What is allowed.
        limit: usize,
    },
    /// A line that is not UTF-8; it was skipped.
    NotUtf8,
    /// No line: a session is to be followed anew, from behind an event.
    Refollow(Refollow),
}

impl From<Line> for Incoming {
    fn from(line: Line) -> Self {
        match line {
            Line::Text(line) => Self::Line(line),
            Line::TooLong { limit } => Self::TooLong { limit },
            Line::NotUtf8 => Self::NotUtf8,
        }
    }
}

/// Bytes to write: one or more whole lines, all of one session or of none. One without bytes is a mark: the
/// following it names has come to what was there when it was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The lines, each with its line break.
    pub bytes: Bytes,
    /// The session they are about: the one a message names, or for an answer the one its request named.
    pub session: Option<SessionId>,
    /// Which following of the session wrote them; none for what is no part of its stream, such as answers.
    pub stream: Option<Followed>,
}

impl Parcel for Piece {
    fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    fn bytes_mut(&mut self) -> &mut Bytes {
        &mut self.bytes
    }

    fn is_mark(&self) -> bool {
        self.stream.is_some()
    }
}

impl From<Bytes> for Piece {
    fn from(bytes: Bytes) -> Self {
        Self {
            bytes,
            session: None,
            stream: None,
        }
    }
}

impl From<Vec<u8>> for Piece {
    fn from(bytes: Vec<u8>) -> Self {
        Bytes::from(bytes).into()
    }
}

impl From<&'static str> for Piece {
    fn from(text: &'static str) -> Self {
        Bytes::from(text).into()
    }
}
