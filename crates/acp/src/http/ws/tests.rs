//! Sockets whose client does not read.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};

use tokio::io::{DuplexStream, ReadBuf, duplex};
use tokio_tungstenite::tungstenite::protocol::Role;

use harn_lines::{
    pace::ClientCount,
    ws::{AT_A_TIME, FRAME_BYTES},
};

use super::*;

/// A pipe that records the longest write, which is the number of bytes that waited then.
struct GaugedPipe {
    pipe: DuplexStream,
    most: Arc<AtomicUsize>,
}

impl AsyncRead for GaugedPipe {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.pipe).poll_read(cx, buf)
    }
}

impl AsyncWrite for GaugedPipe {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.most.fetch_max(bytes.len(), Ordering::Relaxed);
        Pin::new(&mut self.pipe).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.pipe).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.pipe).poll_shutdown(cx)
    }
}

const MESSAGE_BYTES: usize = 16 * 1024 * 1024;

async fn gauge() -> (WebSocketStream<GaugedPipe>, Arc<AtomicUsize>, DuplexStream) {
    let (pipe, far) = duplex(1024);
    let most = Arc::new(AtomicUsize::new(0));
    let gauge = GaugedPipe {
        pipe,
        most: most.clone(),
    };
    let socket =
        WebSocketStream::from_raw_socket(gauge, Role::Server, Some(socket_config(MESSAGE_BYTES)))
            .await;
    (socket, most, far)
}

#[tokio::test(start_paused = true)]
async fn a_long_line_waits_without_a_copy_and_arrives_as_one_message() {
    let text = "ä€😀-".repeat(400_000);
    let (socket, most, far) = gauge().await;
    let (sink, _stream) = socket.split();
    let (outgoing, queue) = transport::outgoing_with_limits(OutgoingLimits {
        bytes: WRITE_BYTES,
        chunks: CHUNKS,
        ahead_bytes: WRITE_BYTES,
        piece_bytes: WRITE_BYTES,
    });
    let member = ClientCount::default().join(1).unwrap();
    let writing = tokio::spawn(write(queue, sink, member));
    let line = Bytes::from(format!("{text}\n"));
    outgoing.send(line.clone()).await.unwrap();
    // The long line takes all the room.
    let sending = tokio::spawn(async move { outgoing.send("short\n").await });
    // The clock is paused: time passes only when no task can run.
    sleep(Duration::from_secs(1)).await;
    assert!(!writing.is_finished(), "nobody reads");
    let waits = most.load(Ordering::Relaxed);
    assert!(waits <= AT_A_TIME + FRAME_BYTES + 16, "{waits} bytes");
    assert!(!line.is_unique(), "the line itself is shared");

    let mut far = WebSocketStream::from_raw_socket(far, Role::Client, None).await;
    assert_eq!(far.next().await.unwrap().unwrap(), Message::text(text));
    assert_eq!(far.next().await.unwrap().unwrap(), Message::text("short"));
    sending.await.unwrap().unwrap();
    let _ = writing.await.unwrap();
    let waited = most.load(Ordering::Relaxed);
    assert!(waited <= WRITE_BYTES + FRAME_BYTES + 16, "{waited} bytes");
    assert!(line.is_unique(), "and nobody keeps it");
}
