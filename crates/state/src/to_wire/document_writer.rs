//! Writes a document piece by piece on demand, so that a long one is never in memory as one text.

use bytes::Bytes;
use serde::Serialize;

use crate::wire::DocumentState;

/// The length at which a piece is returned.
const PIECE_BYTES: usize = 16 * 1024;

/// The start of the messages in a document.
const MESSAGES: &[u8] = br#""messages":["#;

/// Returns the pieces of a document, between `before` and `behind`.
pub(crate) fn pieces(
    mut state: DocumentState,
    before: &'static str,
    behind: &'static str,
) -> impl Iterator<Item = Bytes> {
    let messages = std::mem::take(&mut state.messages);
    let mut head = before.as_bytes().to_owned();
    write(&state, &mut head);
    // Only the status comes before the messages, and is one word.
    let begin = head.windows(MESSAGES.len()).position(|it| it == MESSAGES);
    let mut rest = head.split_off(begin.map_or(head.len(), |begin| begin + MESSAGES.len()));
    rest.extend_from_slice(behind.as_bytes());
    let mut next = Some(0);
    std::iter::from_fn(move || {
        let mut index = next?;
        let mut piece = std::mem::take(&mut head);
        while piece.len() < PIECE_BYTES
            && let Some(message) = messages.get(index)
        {
            if index > 0 {
                piece.push(b',');
            }
            write(message, &mut piece);
            index += 1;
        }
        next = (index < messages.len()).then_some(index);
        if next.is_none() {
            piece.append(&mut rest);
        }
        Some(piece.into())
    })
}

/// Writes a value. Every value in a document serialises.
fn write(value: &impl Serialize, piece: &mut Vec<u8>) {
    let _ = serde_json::to_writer(piece, value);
}

#[cfg(test)]
mod tests {
    use harn_testkit::every_event;

    use super::*;
    use crate::{changes::DocumentChanges, to_wire::Document, wire::SessionFacts};

    fn join_pieces(state: &DocumentState) -> (usize, String) {
        let mut text = Vec::new();
        let mut count = 0;
        for piece in pieces(state.clone(), "<", ">") {
            text.extend_from_slice(&piece);
            count += 1;
        }
        (count, String::from_utf8(text).unwrap())
    }

    #[track_caller]
    fn check(state: &DocumentState) -> usize {
        let (count, text) = join_pieces(state);
        assert_eq!(text, format!("<{}>", serde_json::to_string(state).unwrap()));
        count
    }

    #[test]
    fn pieces_add_up_to_the_document() {
        let mut document = Document::new(SessionFacts::default());
        assert_eq!(check(document.state()), 1);
        for envelope in every_event() {
            document.apply(&envelope, &mut DocumentChanges::default());
            check(document.state());
        }
        document.fail("the disk is full", &mut DocumentChanges::default());
        let pieces = check(document.state());
        let bytes = serde_json::to_string(document.state()).unwrap().len();
        assert!(
            pieces > bytes / (4 * PIECE_BYTES),
            "{pieces} of {bytes} bytes"
        );
    }

    /// A long message is a piece of its own, and only one piece is in memory at a time.
    #[test]
    fn a_piece_is_not_much_longer_than_a_message() {
        let mut document = Document::new(SessionFacts::default());
        for n in 0..20 {
            let event = harn_model::AgentEvent::AgentMessageChunk {
                content: "long ".repeat(4000),
                message_id: Some(format!("m{n}").into()),
            };
            let envelope = harn_model::Envelope {
                seq: harn_model::Seq(n + 1),
                at: 0,
                turn: None,
                event,
            };
            document.apply(&envelope, &mut DocumentChanges::default());
        }
        check(document.state());
        let state = document.state().clone();
        let longest = pieces(state, "", "").map(|piece| piece.len()).max();
        assert!(longest.unwrap() < 2 * 20_000, "{longest:?}");
    }
}
