//! The input and output of a connection over any transport: lines and pieces as in [`harn_lines`], each piece
//! with the session it is about.

mod follow;

use bytes::Bytes;
use harn_lines::{IncomingLine, Parcel};
use harn_model::SessionId;

pub use follow::{FollowId, RefollowError, RefollowRequest};
pub use harn_lines::{
    ClientDisconnected, OutgoingLimits, STDIO_LINE_LIMIT, read_lines, read_lines_from,
    write_chunks, write_pieces,
};

/// The sending end of the queue to a client.
pub type PieceSender = harn_lines::OutgoingSender<OutgoingPiece>;
/// The receiving end of the queue to a client.
pub type PieceReceiver = harn_lines::OutgoingReceiver<OutgoingPiece>;

/// Creates a queue of bytes to write, with the limits for stdio.
#[must_use]
pub fn outgoing() -> (PieceSender, PieceReceiver) {
    harn_lines::outgoing()
}

/// Creates a queue of bytes to write, with these limits.
#[must_use]
pub fn outgoing_with_limits(limits: OutgoingLimits) -> (PieceSender, PieceReceiver) {
    harn_lines::outgoing_with_limits(limits)
}

/// A line from the client, the reason why it was skipped, or a request of the transport.
#[derive(Debug, PartialEq, Eq)]
pub enum ConnectionInput {
    /// A line, without its line break.
    Line(String),
    /// A line longer than allowed; it was skipped.
    TooLong {
        /// The longest allowed line, in bytes.
        limit: usize,
    },
    /// A line that is not UTF-8; it was skipped.
    NotUtf8,
    /// Not a line: the transport asks to follow a session again, from behind an event.
    Refollow(RefollowRequest),
}

impl From<IncomingLine> for ConnectionInput {
    fn from(line: IncomingLine) -> Self {
        match line {
            IncomingLine::Text(line) => Self::Line(line),
            IncomingLine::TooLong { limit } => Self::TooLong { limit },
            IncomingLine::NotUtf8 => Self::NotUtf8,
        }
    }
}

/// Bytes to write: one or more whole lines, all of one session or of none. A piece without bytes is a mark: its
/// follow has sent everything that existed when it was requested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutgoingPiece {
    /// The lines, each with its line break.
    pub bytes: Bytes,
    /// The session they are about: the one that a message names, or for an answer the one that its request
    /// named.
    pub session: Option<SessionId>,
    /// The follow of the session that wrote them; none for lines outside its stream, such as answers.
    pub stream: Option<FollowId>,
}

impl Parcel for OutgoingPiece {
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

impl From<Bytes> for OutgoingPiece {
    fn from(bytes: Bytes) -> Self {
        Self {
            bytes,
            session: None,
            stream: None,
        }
    }
}

impl From<Vec<u8>> for OutgoingPiece {
    fn from(bytes: Vec<u8>) -> Self {
        Bytes::from(bytes).into()
    }
}

impl From<&'static str> for OutgoingPiece {
    fn from(text: &'static str) -> Self {
        Bytes::from(text).into()
    }
}
