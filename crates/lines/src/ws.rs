//! The server side of WebSockets: the handshake, small buffers, and messages in small frames.
//!
//! Thousands of clients may watch one session. A socket copies each frame into its write buffer, whose memory
//! it keeps: so a long message is sent in several frames, and all receivers share the message itself.
//! Hand-written because libraries copy a message for each client that it is sent to.

mod upgrade;

use bytes::Bytes;
use tokio_tungstenite::tungstenite::{
    Error,
    protocol::{
        WebSocketConfig,
        frame::{
            Frame,
            coding::{CloseCode, Data, OpCode},
        },
    },
};

pub use upgrade::{NoHandshake, UpgradedWebSocket, WebSocketUpgrade};

/// The number of bytes that a socket writes at once.
pub const AT_A_TIME: usize = 8 * 1024;
/// The longest frame, in bytes.
pub const FRAME_BYTES: usize = 4 * 1024;
const READ_BYTES: usize = 4 * 1024;

/// Returns the buffer sizes of a socket whose client may send messages of at most `message_bytes`.
pub fn socket_config(message_bytes: usize) -> WebSocketConfig {
    WebSocketConfig::default()
        .read_buffer_size(READ_BYTES)
        .write_buffer_size(AT_A_TIME)
        .max_frame_size(Some(message_bytes))
        .max_message_size(Some(message_bytes))
}

/// Splits one text message into short frames.
pub fn frames(text: Bytes) -> impl Iterator<Item = Frame> {
    frames_of_pieces(std::iter::once(text))
}

/// Splits one text message into short frames; takes one piece of the text at a time, while it is sent.
pub fn frames_of_pieces(pieces: impl Iterator<Item = Bytes>) -> impl Iterator<Item = Frame> {
    let mut pieces = pieces.filter(|piece| !piece.is_empty()).peekable();
    let mut text = Bytes::new();
    let mut kind = Some(Data::Text);
    std::iter::from_fn(move || {
        let code = OpCode::Data(kind?);
        if text.is_empty() {
            text = pieces.next().unwrap_or_default();
        }
        let part = text.split_to(text.len().min(FRAME_BYTES));
        let is_last = text.is_empty() && pieces.peek().is_none();
        kind = (!is_last).then_some(Data::Continue);
        Some(Frame::message(part, code, is_last))
    })
}

/// Returns the close code and the reason that the client receives after a failed read.
#[must_use]
pub fn close_reason(error: &Error) -> (CloseCode, &'static str) {
    match error {
        Error::Capacity(_) => (CloseCode::Size, "the message is too large"),
        Error::Utf8(_) => (CloseCode::Invalid, "the message is not UTF-8"),
        _ => (
            CloseCode::Protocol,
            "the data violates the WebSocket protocol",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_one_frame_unless_it_is_long() {
        let shape = |bytes: usize| -> Vec<_> {
            let frames = frames(vec![b'x'; bytes].into());
            let show = |frame: Frame| (frame.header().is_final, frame.payload().len());
            frames.map(show).collect()
        };
        assert_eq!(shape(0), [(true, 0)]);
        assert_eq!(shape(FRAME_BYTES), [(true, FRAME_BYTES)]);
        assert_eq!(shape(FRAME_BYTES + 1), [(false, FRAME_BYTES), (true, 1)]);
    }

    #[test]
    fn a_text_in_pieces_is_one_message() {
        let pieces = ["", "ab", "", "c", ""].map(Bytes::from);
        let frames: Vec<_> = frames_of_pieces(pieces.into_iter()).collect();
        let code = |frame: &Frame| frame.header().opcode;
        let parts = frames.iter().map(|it| (code(it), it.header().is_final));
        let text = OpCode::Data(Data::Text);
        let more = OpCode::Data(Data::Continue);
        assert_eq!(parts.collect::<Vec<_>>(), [(text, false), (more, true)]);
        assert_eq!(frames[0].payload(), b"ab");
        assert_eq!(frames[1].payload(), b"c");
    }
}
