//! Reads and writes lines over a socket, as over stdin and stdout but without threads.

use std::io;

use tokio::{
    io::{AsyncBufRead, AsyncBufReadExt, AsyncWrite, AsyncWriteExt},
    sync::mpsc,
};

use super::{IncomingLine, LineBuffer, OutgoingReceiver, Parcel};

/// The size of a batch of pieces that is written at once.
const BATCH_BYTES: usize = 64 * 1024;

/// Reads lines until the input ends or the receiver is dropped. Skips blank lines.
pub async fn read_lines_from<T: From<IncomingLine>>(
    mut reader: impl AsyncBufRead + Unpin,
    limit: usize,
    lines: mpsc::Sender<T>,
) -> io::Result<()> {
    let mut buffer = LineBuffer::new(limit);
    loop {
        let available = reader.fill_buf().await?;
        let ends = available.is_empty();
        let (used, line) = buffer.take(available);
        reader.consume(used);
        if let Some(line) = line
            && lines.send(line.into()).await.is_err()
        {
            return Ok(());
        }
        if ends {
            return Ok(());
        }
    }
}

/// Writes until every sender is dropped or a write fails.
pub async fn write_pieces<P: Parcel>(
    mut queue: OutgoingReceiver<P>,
    mut writer: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    let mut batch = Vec::new();
    while let Some(piece) = queue.recv().await {
        writer.write_all(piece.bytes()).await?;
        // Pieces that are in the queue already are written at once.
        batch.clear();
        while batch.len() < BATCH_BYTES
            && let Some(piece) = queue.try_recv()
        {
            batch.extend_from_slice(piece.bytes());
        }
        if !batch.is_empty() {
            writer.write_all(&batch).await?;
        }
        writer.flush().await?;
    }
    Ok(())
}
