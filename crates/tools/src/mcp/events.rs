//! Server-sent events out of a stream of bytes, none larger than allowed.

use std::collections::VecDeque;

use futures::{Stream, StreamExt as _, TryStream, stream};
use rmcp::transport::{
    common::client_side_sse::BoxedSseResponse, streamable_http_client::SseError,
};

/// An event, as rmcp has it.
type Event = <BoxedSseResponse as TryStream>::Ok;

/// An event is too large.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it sent an event larger than {} MiB", .0 / (1024 * 1024))]
struct TooLarge(usize);

/// The events of these bytes.
pub(super) fn events<B, E>(
    bytes: impl Stream<Item = Result<B, E>> + Send + Unpin + 'static,
    most: usize,
) -> BoxedSseResponse
where
    B: AsRef<[u8]> + Send,
    E: std::error::Error + Send + Sync + 'static,
{
    let reading = Some((bytes, Parser::new(most)));
    let state = (reading, VecDeque::new());
    Box::pin(stream::unfold(state, async |(mut reading, mut ready)| {
        loop {
            if let Some(event) = ready.pop_front() {
                return Some((Ok(event), (reading, ready)));
            }
            let (mut bytes, mut parser) = reading.take()?;
            let fed = match bytes.next().await? {
                Ok(piece) => parser.feed(piece.as_ref(), &mut ready).map_err(Into::into),
                Err(error) => Err(error.into()),
            };
            match fed {
                Ok(()) => reading = Some((bytes, parser)),
                Err(error) => return Some((Err(SseError::Body(error)), (None, ready))),
            }
        }
    }))
}

struct Parser {
    line: Vec<u8>,
    /// What is known of the next event.
    event: Option<Event>,
    /// How much that is.
    size: usize,
    most: usize,
}

impl Parser {
    fn new(most: usize) -> Self {
        Self {
            line: Vec::new(),
            event: None,
            size: 0,
            most,
        }
    }

    fn feed(&mut self, mut bytes: &[u8], ready: &mut VecDeque<Event>) -> Result<(), TooLarge> {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            self.take(&bytes[..end])?;
            bytes = &bytes[end + 1..];
            let line = std::mem::take(&mut self.line);
            let line = line.strip_suffix(b"\r").unwrap_or(&line);
            if line.is_empty() {
                self.size = 0;
                ready.extend(self.event.take());
            } else {
                self.field(&String::from_utf8_lossy(line));
            }
        }
        self.take(bytes)
    }

    fn take(&mut self, part: &[u8]) -> Result<(), TooLarge> {
        self.size += part.len();
        if self.size > self.most {
            return Err(TooLarge(self.most));
        }
        self.line.extend_from_slice(part);
        Ok(())
    }

    fn field(&mut self, line: &str) {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        // A comment, which keeps a connection awake.
        if name.is_empty() {
            self.size = self.size.saturating_sub(line.len());
            return;
        }
        let event = self.event.get_or_insert_default();
        match name {
            "data" => match &mut event.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => event.data = Some(value.to_owned()),
            },
            "event" => event.event = Some(value.to_owned()),
            "id" => event.id = Some(value.to_owned()),
            "retry" => event.retry = value.parse().ok(),
            // Others have no meaning, as the standard says.
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::StreamExt as _;

    use super::*;

    async fn read(pieces: Vec<&'static [u8]>, most: usize) -> Vec<Result<Event, String>> {
        let pieces = pieces.into_iter().map(Ok::<_, std::io::Error>);
        let events = events(stream::iter(pieces), most);
        let told = events.map(|event| event.map_err(|error| error.to_string()));
        told.collect().await
    }

    const TEXT: &[u8] =
        b": awake\n\nid: 7\nevent: message\nretry: 10\ndata: one\ndata:two\r\n\r\ndata\n\ncut";

    #[tokio::test]
    async fn events_come_whole_wherever_they_are_cut() {
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
    async fn one_that_is_too_large_is_the_last() {
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
