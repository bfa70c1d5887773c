//! The journal for those who fell behind, read once for all who stand at the same place.
//!
//! A crowd of readers tends to fall behind together. Each decoding the same lines would keep the machine
//! busy for so long that none of them caught up again. Nothing is kept here for its own sake: a chunk lives
//! as long as a reader has use for it.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use harn_journal::{JournalError, LogReader, ReadCursor};
use harn_model::Seq;
use tokio::sync::OnceCell;

use super::{Batch, Delivery, SessionEnd};

pub(super) struct CatchUp {
    log: Arc<dyn LogReader>,
    /// The chunk somebody began to read last.
    newest: Mutex<Weak<Chunk>>,
}

/// A part of the journal, read by the first who asks.
pub(super) struct Chunk {
    after: Seq,
    read: OnceCell<Read>,
}

struct Read {
    batch: Arc<Batch>,
    end: ReadCursor,
}

/// How much of the journal is read at a time.
const CHUNK_BYTES: usize = 256 * 1024;

impl CatchUp {
    pub(super) fn new(log: Arc<dyn LogReader>) -> Self {
        Self {
            log,
            newest: Mutex::default(),
        }
    }

    /// The events after the cursor up to what was published, and the cursor moves past them. A reader keeps the chunk until its next look,
    /// for others who come to the same place. Cancel safe.
    pub(super) async fn next(
        &self,
        cursor: &mut ReadCursor,
        published: Seq,
    ) -> Result<(Delivery, Arc<Chunk>), SessionEnd> {
        let next = cursor.after.next();
        let mut chunk = self.chunk_at(cursor.after);
        let mut read = self.read(&chunk, *cursor, published).await?;
        if read.batch.last() < next {
            chunk = self.begin_chunk(cursor.after);
            read = self.read(&chunk, *cursor, published).await?;
        }
        *cursor = read.end;
        Ok((Delivery::rest(read.batch.clone(), next), chunk.clone()))
    }

    /// The newest chunk unless it surely does not hold what comes after `after`, else another.
    fn chunk_at(&self, after: Seq) -> Arc<Chunk> {
        let newest = self.newest().upgrade();
        let fits = |chunk: &Arc<Chunk>| {
            let read = chunk.read.get();
            chunk.after <= after && read.is_none_or(|read| read.batch.last() > after)
        };
        newest
            .filter(fits)
            .unwrap_or_else(|| self.begin_chunk(after))
    }

    fn begin_chunk(&self, after: Seq) -> Arc<Chunk> {
        let mut newest = self.newest();
        // Somebody else at this place may have been faster.
        if let Some(chunk) = newest.upgrade()
            && chunk.after == after
        {
            return chunk;
        }
        let chunk = Arc::new(Chunk {
            after,
            read: OnceCell::new(),
        });
        *newest = Arc::downgrade(&chunk);
        chunk
    }

    /// What is in a chunk. If the one who reads it gives up, the next one who waits does.
    async fn read<'a>(
        &self,
        chunk: &'a Chunk,
        own: ReadCursor,
        published: Seq,
    ) -> Result<&'a Read, SessionEnd> {
        // Who stands at its beginning may know where that is on disk.
        let begin = if own.after == chunk.after {
            own
        } else {
            ReadCursor {
                after: chunk.after,
                offset: None,
            }
        };
        let read = || async {
            let (log, mut cursor) = (self.log.clone(), begin);
            let read = tokio::task::spawn_blocking(move || {
                let mut events = log.read(&mut cursor, CHUNK_BYTES)?;
                // What is written may still be on its way to the disk: nobody hears of it before.
                let heard = events.partition_point(|envelope| envelope.seq <= published);
                if heard < events.len() {
                    events.truncate(heard);
                    cursor = ReadCursor {
                        after: events.last().map_or(begin.after, |envelope| envelope.seq),
                        offset: None,
                    };
                }
                Ok::<_, JournalError>((events, cursor))
            });
            let failed = |reason: String| SessionEnd::Failed(reason.into());
            match read.await {
                Ok(Ok((events, end))) if !events.is_empty() => Ok(Read {
                    batch: Arc::new(Batch::new(events)),
                    end,
                }),
                Ok(Ok(_)) => Err(failed(
                    "the journal lost events that were published".to_owned(),
                )),
                Ok(Err(error)) => Err(failed(error.to_string())),
                Err(_) => Err(failed("reading the journal was interrupted".to_owned())),
            }
        };
        chunk.read.get_or_try_init(read).await
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.newest().upgrade().is_none()
    }

    fn newest(&self) -> std::sync::MutexGuard<'_, Weak<Chunk>> {
        self.newest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
