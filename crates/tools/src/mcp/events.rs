//! Parses server-sent events from a byte stream, with a limit on the size of each. `sse-stream` parses them and is fed
//! single lines: it fails on a line that the standard has readers ignore, and then drops the rest of its input.

use std::{error::Error, io};

use bytes::Bytes;
use futures::{Stream, StreamExt as _, future, stream};
use rmcp::transport::{
    common::client_side_sse::BoxedSseResponse, streamable_http_client::SseError,
};
use sse_stream::SseStream;

/// The server sent an event above the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it sent an event larger than {} MiB", .0 / (1024 * 1024))]
struct EventTooLarge(usize);

/// Returns the events in `bytes`. An error of the stream or an event above `most` bytes is the last item.
pub(super) fn parse_events<E>(
    bytes: impl Stream<Item = Result<Bytes, E>> + Send + 'static,
    most: usize,
) -> BoxedSseResponse
where
    E: Error + Send + Sync + 'static,
{
    let lines = bytes.flat_map(|piece| {
        stream::iter(match piece {
            Ok(piece) => split_lines(&piece),
            Err(error) => vec![Err(io::Error::other(error))],
        })
    });
    let state = (Box::pin(lines), EventSize::default());
    let bounded = stream::try_unfold(state, move |(mut lines, mut size)| async move {
        let Some(line) = lines.next().await.transpose()? else {
            return Ok(None);
        };
        if size.add(&line) > most {
            return Err(io::Error::other(EventTooLarge(most)));
        }
        Ok(Some((line, (lines, size))))
    });
    let read = SseStream::from_bytes_stream(bounded);
    Box::pin(read.filter(|event| {
        let is_shown = matches!(event, Ok(_) | Err(SseError::Body(_)));
        future::ready(is_shown)
    }))
}

/// Splits a piece into lines; the last one may be incomplete.
fn split_lines(piece: &Bytes) -> Vec<io::Result<Bytes>> {
    let lines = piece.split_inclusive(|byte| *byte == b'\n');
    lines.map(|line| Ok(piece.slice_ref(line))).collect()
}

/// The size of the current event. A complete comment line, which servers send to keep a connection open, does not
/// count.
#[derive(Default)]
struct EventSize {
    bytes: usize,
    /// How many of `bytes` belong to the current line.
    line: usize,
    is_comment: bool,
    is_blank: bool,
}

impl EventSize {
    /// Counts a line or a part of one and returns the size of the event.
    fn add(&mut self, part: &[u8]) -> usize {
        if self.line == 0 {
            self.is_comment = part.starts_with(b":");
            self.is_blank = true;
        }
        self.is_blank &= part.iter().all(|byte| matches!(byte, b'\r' | b'\n'));
        self.line += part.len();
        self.bytes += part.len();
        if part.ends_with(b"\n") {
            match (self.is_blank, self.is_comment) {
                (true, _) => self.bytes = 0,
                (false, true) => self.bytes -= self.line,
                (false, false) => {}
            }
            self.line = 0;
        }
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use sse_stream::Sse as Event;

    use super::*;

    async fn read(pieces: Vec<&'static [u8]>, most: usize) -> Vec<Result<Event, String>> {
        let pieces = pieces.into_iter().map(Bytes::from_static);
        let pieces = pieces.map(Ok::<_, std::io::Error>);
        let events = parse_events(stream::iter(pieces), most);
        let told = events.map(|event| event.map_err(|error| error.to_string()));
        told.collect().await
    }

    const TEXT: &[u8] =
        b": awake\n\nid: 7\nevent: message\nretry: 10\ndata: one\ndata:two\r\n\r\nother: x\ndata:\n\ncut";

    #[tokio::test]
    async fn events_are_parsed_whole_wherever_the_stream_is_split() {
        let expected = [
            Ok(Event::default()
                .id("7")
                .event("message")
                .retry(10)
                .data("one\ntwo")),
            Ok(Event::default().data("")),
        ];
        for at in 0..TEXT.len() {
            let (left, right) = TEXT.split_at(at);
            assert_eq!(read(vec![left, right], 100).await, expected, "cut at {at}");
        }
    }

    #[tokio::test]
    async fn oversized_event_ends_the_stream() {
        let pieces: Vec<&[u8]> = vec![
            b"data: 1\n\n: ",
            b"comments do not count\n",
            b"data: 123456",
            b"7\n\n",
        ];
        let read = read(pieces, 24).await;
        assert_eq!(read[0], Ok(Event::default().data("1")));
        assert_eq!(read[1], Ok(Event::default().data("1234567")));
        let pieces: Vec<&[u8]> = vec![b"data: 1\n", b"data: 2\n", b"data: 3\n", b"\n"];
        let read = self::read(pieces, 20).await;
        assert_eq!(read.len(), 1);
        assert!(
            read[0]
                .as_ref()
                .is_err_and(|told| told.contains("larger than"))
        );
    }
}
