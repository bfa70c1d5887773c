//! Reading lines and writing bytes within limits, with clients that are odd, slow or gone.
#![allow(clippy::unwrap_used, reason = "a test says what failed by failing")]

use std::{
    future::Future,
    io::{self, Read},
    pin::pin,
};

use bytes::Bytes;
use futures::{FutureExt, poll};
use harn_lines::{
    ClientDisconnected, IncomingLine, OutgoingReceiver, OutgoingSender, STDIO_LINE_LIMIT, outgoing,
    read_lines, write_chunks,
};
use tokio::{sync::mpsc, task::unconstrained};

fn lines(input: &[u8], limit: usize) -> Vec<IncomingLine> {
    read(input, limit)
}

fn read(input: impl Read, limit: usize) -> Vec<IncomingLine> {
    let (sender, mut receiver) = mpsc::channel(1024);
    read_lines(input, limit, sender).unwrap();
    let mut items = Vec::new();
    while let Ok(item) = receiver.try_recv() {
        items.push(item);
    }
    items
}

fn line(text: &str) -> IncomingLine {
    IncomingLine::Text(text.to_owned())
}

#[test]
fn lines_are_cut_at_newlines() {
    assert_eq!(lines(b"", 10), []);
    assert_eq!(lines(b"one\ntwo\n", 10), [line("one"), line("two")]);
    assert_eq!(lines(b"one\ntwo", 10), [line("one"), line("two")]);
}

#[test]
fn blank_lines_are_skipped() {
    let input = b"\n\r\n  \t\n{}\n\n   \n[]\n  ";
    assert_eq!(lines(input, 10), [line("{}"), line("[]")]);
}

/// JSON allows a carriage return as white space, so the line keeps it.
#[test]
fn a_carriage_return_before_the_newline_is_white_space() {
    let items = lines(b"{\"a\":1}\r\n{\"b\":2}\r\n", 20);
    let values = items.iter().map(|item| match item {
        IncomingLine::Text(line) => serde_json::from_str::<serde_json::Value>(line).unwrap(),
        other => panic!("{other:?}"),
    });
    let expected = [serde_json::json!({"a": 1}), serde_json::json!({"b": 2})];
    assert_eq!(values.collect::<Vec<_>>(), expected);
}

#[test]
fn line_over_the_limit_is_skipped() {
    let too_long = || IncomingLine::TooLong { limit: 5 };
    assert_eq!(
        lines(b"12345\n123456\nok\n", 5),
        [line("12345"), too_long(), line("ok")]
    );
    // At the end of the input, and for several long lines.
    assert_eq!(lines(b"123456", 5), [too_long()]);
    assert_eq!(
        lines(b"1234567890\n123456789\n\n", 5),
        [too_long(), too_long()]
    );
}

/// The limit applies to the sum of all pieces of a line.
#[test]
fn a_line_in_pieces_is_still_one_line() {
    let long = "x".repeat(200_000);
    let input = format!("{long}\nshort\n{long}y\nend\n");
    let items = read(Pieces(input.as_bytes(), 7), 200_000);
    let expected = [
        line(&long),
        line("short"),
        IncomingLine::TooLong { limit: 200_000 },
        line("end"),
    ];
    assert!(items == expected);
}

#[test]
fn line_that_is_not_utf_8_is_reported() {
    let items = lines(b"\xff\xfe\n\xc3\xa9\n\xc3\n", 10);
    assert_eq!(
        items,
        [IncomingLine::NotUtf8, line("é"), IncomingLine::NotUtf8]
    );
    // The length is checked first: a dropped line is not decoded.
    assert_eq!(
        lines(b"\xff\xff\xff\n", 2),
        [IncomingLine::TooLong { limit: 2 }]
    );
}

#[test]
fn line_of_the_stdio_limit_is_read() {
    let large = vec![b'x'; STDIO_LINE_LIMIT];
    assert!(
        matches!(&read(&large[..], STDIO_LINE_LIMIT)[..], [IncomingLine::Text(line)] if line.len() == STDIO_LINE_LIMIT)
    );
}

#[test]
fn interrupted_read_is_retried_and_failed_read_returns_its_error() {
    let (sender, mut receiver) = mpsc::channel::<IncomingLine>(8);
    let input = Interrupted(false).chain(&b"one\n"[..]).chain(Broken);
    let error = read_lines(input, 10, sender).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
    assert_eq!(receiver.try_recv().unwrap(), line("one"));
}

#[test]
fn dropped_receiver_ends_the_read() {
    let (sender, receiver) = mpsc::channel::<IncomingLine>(1);
    drop(receiver);
    // The input is endless: only the dropped receiver can end the read.
    read_lines(io::repeat(b'\n').take(1).chain(Endless), 10, sender).unwrap();
}

/// A reader that returns a few bytes at a time.
struct Pieces<'a>(&'a [u8], usize);

impl Read for Pieces<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let size = self.1.min(buf.len());
        self.0.by_ref().take(size as u64).read(buf)
    }
}

struct Interrupted(bool);

impl Read for Interrupted {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        if self.0 {
            return Ok(0);
        }
        self.0 = true;
        Err(io::ErrorKind::Interrupted.into())
    }
}

struct Broken;

impl Read for Broken {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::ErrorKind::ConnectionReset.into())
    }
}

struct Endless;

impl Read for Endless {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        for pair in buf.chunks_mut(2) {
            pair.copy_from_slice(&b"x\n"[..pair.len()]);
        }
        Ok(buf.len())
    }
}

const CHUNK: usize = 64 * 1024;

fn chunk(size: usize) -> Bytes {
    vec![b'x'; size].into()
}

/// Sends chunks until one has to wait; returns how many were accepted.
fn fill(to: &OutgoingSender, size: usize) -> usize {
    let mut taken = 0;
    // Unconstrained, or the runtime's budget for a task would stop it first.
    while let Some(sent) = unconstrained(to.send(chunk(size))).now_or_never() {
        sent.unwrap();
        taken += 1;
    }
    taken
}

#[tokio::test]
async fn chunks_are_received_in_order() {
    let (to, mut from) = outgoing::<Bytes>();
    for text in ["one\n", "two\n", "three\n"] {
        to.send(text).await.unwrap();
    }
    drop(to);
    assert_eq!(from.recv().await.unwrap(), "one\n");
    assert_eq!(from.recv().await.unwrap(), "two\n");
    assert_eq!(from.recv().await.unwrap(), "three\n");
    assert_eq!(from.recv().await, None);
}

#[tokio::test]
async fn priority_lines_overtake_whole_lines() {
    let (to, mut from) = outgoing::<Bytes>();
    let line = [vec![b'x'; 999], vec![b'\n']].concat();
    let lines = line.repeat(100);
    to.send(lines.clone()).await.unwrap();
    to.send("last\n").await.unwrap();
    let first = from.recv().await.unwrap();
    // A long chunk is written in pieces, each of whole lines.
    assert!(first.len() < 40_000, "{}", first.len());
    assert_eq!(first.len() % 1000, 0);
    to.send_ahead("one\n").await.unwrap();
    to.send_ahead("two\n").await.unwrap();
    assert_eq!(from.recv().await.unwrap(), "one\n");
    assert_eq!(from.recv().await.unwrap(), "two\n");
    drop(to);
    let mut rest = Vec::from(first);
    while let Some(piece) = from.recv().await {
        rest.extend_from_slice(&piece);
    }
    assert_eq!(rest, [&lines[..], b"last\n"].concat());
}

#[tokio::test]
async fn priority_lines_wake_the_writer_and_are_bounded() {
    let (to, mut from) = outgoing::<Bytes>();
    {
        let mut next = pin!(from.recv());
        assert!(poll!(&mut next).is_pending());
        to.send_ahead("one\n").await.unwrap();
        assert_eq!(next.await.unwrap(), "one\n");
    }
    let mut taken = 0;
    while let Some(sent) = unconstrained(to.send_ahead(chunk(1024))).now_or_never() {
        sent.unwrap();
        taken += 1;
    }
    // The line that is being written counts too.
    assert_eq!(taken, 63);
    let mut waiting = pin!(to.send_ahead(chunk(1024)));
    assert!(poll!(&mut waiting).is_pending());
    drop(from);
    assert_eq!(with_timeout(waiting).await, Err(ClientDisconnected));
    assert_eq!(to.send_ahead(chunk(1)).await, Err(ClientDisconnected));
}

#[tokio::test]
async fn queue_of_a_client_that_does_not_read_is_bounded() {
    let (to, mut from) = outgoing::<Bytes>();
    assert_eq!(fill(&to, CHUNK) * CHUNK, 1024 * 1024);
    let mut waiting = pin!(to.send(chunk(CHUNK)));
    assert!(poll!(&mut waiting).is_pending());
    // A chunk that is being written still counts.
    from.recv().await.unwrap();
    assert!(poll!(&mut waiting).is_pending());
    from.recv().await.unwrap();
    waiting.await.unwrap();
}

#[tokio::test]
async fn a_chunk_larger_than_the_queue_passes_alone() {
    let (to, mut from) = outgoing::<Bytes>();
    let large = 3 * 1024 * 1024;
    to.send(chunk(large)).await.unwrap();
    let mut waiting = pin!(to.send(chunk(1)));
    assert!(poll!(&mut waiting).is_pending());
    assert_eq!(from.recv().await.unwrap().len(), large);
    assert!(poll!(&mut waiting).is_pending());
    assert!(poll!(pin!(from.recv())).is_pending());
    waiting.await.unwrap();
    assert_eq!(from.recv().await.unwrap().len(), 1);
}

#[tokio::test]
async fn many_small_chunks_are_bounded_too() {
    let (to, _from) = outgoing::<Bytes>();
    assert_eq!(fill(&to, 1), 256);
}

#[tokio::test]
async fn dropped_receiver_fails_waiting_senders() {
    // One sender waits for bytes, one for a chunk.
    for size in [CHUNK, 1] {
        let (to, from) = outgoing::<Bytes>();
        fill(&to, size);
        let mut first = pin!(to.send(chunk(size)));
        let mut second = pin!(to.send(chunk(size)));
        assert!(poll!(&mut first).is_pending());
        assert!(poll!(&mut second).is_pending());
        let mut closed = pin!(to.closed());
        assert!(poll!(&mut closed).is_pending());
        drop(from);
        assert_eq!(with_timeout(first).await, Err(ClientDisconnected));
        assert_eq!(with_timeout(second).await, Err(ClientDisconnected));
        with_timeout(closed).await;
        assert_eq!(to.send(chunk(1)).await, Err(ClientDisconnected));
    }
}

/// Fails instead of hanging if the future never resolves.
async fn with_timeout<T>(wait: impl Future<Output = T>) -> T {
    let patience = std::time::Duration::from_secs(10);
    tokio::time::timeout(patience, wait).await.unwrap()
}

#[test]
fn writer_writes_everything_and_ends_with_its_senders() {
    let (to, from) = outgoing::<Bytes>();
    for text in ["one\n", "two\n"] {
        to.send(text).now_or_never().unwrap().unwrap();
    }
    drop(to);
    let mut written = Vec::new();
    write_chunks(from, &mut written).unwrap();
    assert_eq!(written, b"one\ntwo\n");
}

#[test]
fn failed_writer_fails_senders() {
    let (to, from): (OutgoingSender, OutgoingReceiver) = outgoing::<Bytes>();
    to.send("one\n").now_or_never().unwrap().unwrap();
    let full = write_chunks(from, &mut [][..]).unwrap_err();
    assert_eq!(full.kind(), io::ErrorKind::WriteZero);
    let sent = to.send("two\n").now_or_never().unwrap();
    assert_eq!(sent, Err(ClientDisconnected));
}
